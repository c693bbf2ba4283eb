// Whether a model's draft head is worth asking. A pack whose head was damaged on the way still
// loads and still answers exactly; it only drafts nonsense, and nobody is told.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "app/model_session.h"
#include "backend/runner.h"

namespace slip {

// A sound head is right for 70 to 85 % of the tokens of ordinary text (specification 11.3). The
// limit finds heads that are worthless, not those that are merely worse: of the embedded model's
// (77 %) one with swapped halves has 0 %, one with its norms mixed up 15 to 23 %, one with a single
// norm off 42 to 75 %.
inline constexpr double kPlausibleAcceptance = 0.25;

struct DraftProbe {
  int32_t n_drafts = 0;
  int32_t n_accepted = 0;
  bool is_plausible = true;

  double acceptance() const {
    return n_drafts == 0 ? 0 : static_cast<double>(n_accepted) / n_drafts;
  }
};

struct ProbeOptions {
  // Stop as soon as no further draft can change is_plausible: a sound head takes a third of the
  // time, and the verdict is that of the whole probe.
  bool stops_once_decided = false;
  // Nothing where the first drafts tell that the whole would take longer.
  double milliseconds_max = std::numeric_limits<double>::infinity();
};

// Reads the beginning of `text` token by token, lets the head guess one token ahead at each, and
// counts the guesses that the model itself, greedy, agrees with.
// Needs info().has_draft_head. Nothing for a text or context of fewer than about 60 tokens.
std::optional<DraftProbe> probe_draft_head(Runner& runner, std::span<const TokenId> text,
                                           const ProbeOptions& options);

// The same with the built-in text.
std::optional<DraftProbe> probe_draft_head(const ModelSession& session,
                                           const ProbeOptions& options);

inline constexpr double kWarningMilliseconds = 2000;

// Logs a warning with the likely causes where the probe finds the head implausible. A model for
// which that would take longer than `milliseconds_max` is not probed.
void warn_of_draft_head(const ModelSession& session,
                        double milliseconds_max = kWarningMilliseconds);

}  // namespace slip
