// Ctrl-C and a closed terminal end the answer, not the bookkeeping.
#pragma once

namespace slip {

// From now on SIGINT and SIGTERM only raise the flag; a second one ends the program at once.
// SIGPIPE is ignored, so that a closed stdout shows as a failed write.
void catch_interrupts();

bool is_interrupted();

}  // namespace slip
