// Ctrl-C and a closed terminal end the answer, not the bookkeeping.
#pragma once

namespace slip {

// From now on SIGINT, SIGTERM and SIGHUP only raise the flag; a second one ends the program at
// once. A SIGHUP that is ignored already stays ignored. SIGPIPE and SIGXFSZ are ignored, so that a
// closed stdout or a full quota shows as a failed write. SIGBUS, which a model file gives when it
// is shortened while it is mapped, ends the program with a sentence.
void catch_interrupts();

bool is_interrupted();

// Forgets a Ctrl-C that ended what it was meant to end; the next one raises the flag again. SIGTERM
// and SIGHUP want the whole program to end and are not forgotten.
void clear_interrupt();

// Waits until `descriptor` can be read or is at its end. False when a signal came first, or has
// come already.
bool wait_for_input(int descriptor);

}  // namespace slip
