// Writes the tensors of a converted model, quantising as it goes.
#pragma once

#include "app/convert_plan.h"
#include "base/thread_pool.h"
#include "io/model_writer.h"

namespace slip {

// Memory is a few megabytes and the scales of one tensor, whatever the size of the model. False
// when the user interrupts. Throws Error{kCorruptFile} naming the module with a value that is not
// finite, and as ModelWriter does.
bool write_tensors(const ConvertPlan& plan, ModelWriter& writer, ThreadPool& pool);

}  // namespace slip
