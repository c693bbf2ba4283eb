// Ctrl-C and a closed terminal end the answer, not the bookkeeping.
#pragma once

namespace slip {

// From now on SIGINT and SIGTERM only raise the flag; a second one ends the program at once.
// SIGPIPE and SIGXFSZ are ignored, so that a closed stdout or a full quota shows as a failed write.
// SIGBUS, which a model file gives when it is shortened while it is mapped, ends the program with a
// sentence.
void catch_interrupts();

bool is_interrupted();

}  // namespace slip
