#include "app/drafting.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/stopwatch.h"
#include "app/tuned_cost.h"
#include "backend/batch.h"
#include "base/error.h"
#include "draft/copy_source.h"
#include "draft/mtp_source.h"

namespace slip {

namespace {

struct DraftRow {
  std::string_view name;
  bool copies;
  bool runs_head;   // where the model has one
  bool needs_head;  // refused where it has none
  bool is_adaptive;
  int32_t depth;  // default of --depth
};

constexpr std::array kRows = {
    DraftRow{"none", false, false, false, false, 0},
    DraftRow{"mtp", false, true, true, false, 3},
    DraftRow{"copy", true, false, false, false, kDraftTokensMax},
    DraftRow{"auto", true, true, false, true, kDraftTokensMax},
};

const DraftRow& find_row(std::string_view name) {
  std::string known;
  for (const DraftRow& row : kRows) {
    if (row.name == name) return row;
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  throw Error(ErrorCode::kInvalidArgument,
              "--draft: found \"" + std::string(name) + "\", wanted one of: " + known);
}

}  // namespace

Drafting make_drafting(const DraftOptions& options, Runner& runner, const CostSurface& cost) {
  const DraftRow& row = find_row(options.source);
  if (row.needs_head && !runner.info().has_draft_head) {
    throw Error(ErrorCode::kInvalidArgument,
                "--draft mtp: this model has no draft head; wanted none, copy or auto");
  }
  Drafting drafting;
  std::vector<std::unique_ptr<DraftSource>> sources;
  if (row.copies) {
    const CopyOptions copy{.sequences_max = 1,
                           .context_tokens_max = runner.info().context_tokens_max};
    sources.push_back(std::make_unique<CopySource>(copy));
  }
  if (row.runs_head && runner.info().has_draft_head) {
    sources.push_back(std::make_unique<MtpSource>(runner));
    drafting.runs_draft_head = true;
  }
  const int32_t depth = options.depth > 0 ? options.depth : row.depth;
  drafting.chooser = std::make_unique<Chooser>(
      std::move(sources), ChooserOptions{.adaptive = row.is_adaptive, .n_tokens_max = depth}, cost);
  return drafting;
}

Drafting prepare_drafting(const DraftOptions& options, ModelSession& session) {
  if (!find_row(options.source).is_adaptive) return make_drafting(options, *session.runner);
  const Stopwatch watch;
  const CostSurface cost = find_cost(session.file, *session.runner);
  session.load_ms += watch.ms();
  return make_drafting(options, *session.runner, cost);
}

Drafting make_replay(int32_t depth, int32_t n_prompt, std::vector<TokenId> continuation,
                     const ReplayOptions& options) {
  std::vector<std::unique_ptr<DraftSource>> sources;
  sources.push_back(std::make_unique<ReplaySource>(n_prompt, std::move(continuation), options));
  Drafting drafting;
  drafting.chooser = std::make_unique<Chooser>(
      std::move(sources),
      ChooserOptions{.adaptive = false, .n_tokens_max = depth > 0 ? depth : kDraftTokensMax});
  return drafting;
}

}  // namespace slip
