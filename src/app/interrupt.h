// Ctrl-C and a closed terminal end the answer, not the bookkeeping.
#pragma once

namespace slip {

// From now on SIGINT, SIGTERM and SIGHUP only raise the flag; a second one ends the program at
// once. A SIGHUP that is ignored already stays ignored. SIGPIPE and SIGXFSZ are ignored, so that a
// closed stdout or a full quota shows as a failed write. SIGBUS, which a model file gives when it
// is shortened while it is mapped, ends the program with a sentence.
void catch_interrupts();

bool is_interrupted();

}  // namespace slip
