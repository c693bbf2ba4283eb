#include "app/draft_probe.h"

#include <algorithm>
#include <vector>

#include "app/builtin_text.h"
#include "app/eval_text.h"
#include "app/interrupt.h"
#include "app/stopwatch.h"
#include "app/token_reader.h"
#include "base/check.h"
#include "base/log.h"

namespace slip {

namespace {

constexpr int32_t kTokensBefore = 12;  // context that the first guess has
constexpr int32_t kDrafts = 48;        // 70 % and 10 % are 9 standard errors apart
constexpr int32_t kDraftsTimed = 4;

// Accepted drafts from which on the head counts as sound.
constexpr int32_t kAcceptedWanted = static_cast<int32_t>(kDrafts * kPlausibleAcceptance);

bool is_decided(const DraftProbe& probe) {
  return probe.n_accepted >= kAcceptedWanted ||
         probe.n_accepted + (kDrafts - probe.n_drafts) < kAcceptedWanted;
}

}  // namespace

std::optional<DraftProbe> probe_draft_head(Runner& runner, std::span<const TokenId> text,
                                           const ProbeOptions& options) {
  SLIP_CHECK(runner.info().has_draft_head);
  constexpr int32_t kTokens = kTokensBefore + kDrafts;
  if (text.size() < kTokens || runner.info().context_tokens_max <= kTokens) return std::nullopt;
  TokenReader reader(runner, {text.begin(), text.begin() + kTokens}, /*with_draft_head=*/true);
  reader.skip_to(kTokensBefore);
  DraftProbe probe;
  const Stopwatch watch;
  while (probe.n_drafts < kDrafts) {
    if (is_interrupted()) return std::nullopt;
    const TokenId guess = reader.draft();  // for the token after the next one of the text
    if (reader.step() == guess) ++probe.n_accepted;
    ++probe.n_drafts;
    if (options.stops_once_decided && is_decided(probe)) break;
    const double whole = watch.ms() * kDrafts / probe.n_drafts;
    if (probe.n_drafts == kDraftsTimed && whole > options.milliseconds_max) return std::nullopt;
  }
  probe.is_plausible = probe.n_accepted >= kAcceptedWanted;
  return probe;
}

std::optional<DraftProbe> probe_draft_head(const ModelSession& session,
                                           const ProbeOptions& options) {
  return probe_draft_head(*session.runner, encode_judged(session.tokenizer, builtin_text()),
                          options);
}

void warn_of_draft_head(const ModelSession& session, double milliseconds_max) {
  const std::optional<DraftProbe> probe =
      probe_draft_head(session, {.stops_once_decided = true, .milliseconds_max = milliseconds_max});
  if (!probe) {
    log::debug("the draft head was not probed: that would take longer than {} ms, or has no room",
               milliseconds_max);
    return;
  }
  if (probe->is_plausible) return;
  log::warning(
      "the draft head guessed {} of {} tokens of ordinary text, where a sound one guesses 70 to 85 "
      "%: "
      "its norm weights may be stored with and without the added one, the halves of mtp.fc "
      "swapped, "
      "or the head another model's; answers stay exact, \"--draft copy\" leaves the head out",
      probe->n_accepted, probe->n_drafts);
}

}  // namespace slip
