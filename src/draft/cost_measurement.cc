#include "draft/cost_measurement.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include "backend/stepped_state.h"
#include "base/median.h"

namespace slip {
namespace {

constexpr int32_t kNearTokens = 32;
constexpr int32_t kFarTokensMax = 1024;
constexpr int32_t kFarTokensMin = 256;  // a shorter way shows nothing but noise
constexpr int kRoundsNear = 3;
constexpr int kRoundsFar = 5;
constexpr int32_t kDraftedTokens = 5;
// Shares of the whole time after which the near rounds end, and that reading the far context may
// take.
constexpr double kNearShare = 0.6;
constexpr double kReadShare = 0.3;
// Of a one-row step, for a row whose price is unknown.
constexpr double kRowShareUnknown = 0.05;

// Each width at most twice the one before, so that the time of the next is never a surprise; then
// those between them. Indices into CostSurface::kRows: 1, 2, 4, 8, 16, 32, 3, 6, 12, 24.
constexpr size_t kOrder[] = {0, 1, 3, 5, 7, 9, 2, 4, 6, 8};
constexpr size_t kOneRow = 0;
constexpr size_t kAllRows = CostSurface::kKnots - 1;

using Times = std::vector<double>;  // of one kind of step, ms

// One state and the steps that are timed on it.
class TimedState {
 public:
  TimedState(Runner& runner, StateId state, const std::function<bool()>& is_cancelled)
      : runner_(runner), state_(runner, state), is_cancelled_(is_cancelled) {}

  int32_t position() const { return state_.position(); }
  // Whether something that takes `ms` still ends within `milliseconds_max` of the beginning.
  bool has_time(double ms, double milliseconds_max) const {
    return !is_cancelled() && ms_since(begin_) + ms <= milliseconds_max;
  }

  // Room for tokens below `n_tokens`, or below the context's end if that comes first.
  bool reserve(int32_t n_tokens) {
    n_tokens = std::min(n_tokens, runner_.info().context_tokens_max);
    if (!runner_.reserve(state_.id(), n_tokens)) return false;
    n_reserved_ = n_tokens;
    return true;
  }

  // Commits what is needed to stand at `end`.
  void read_to(int32_t end) { state_.read_to(std::min(end, n_reserved_), is_cancelled_); }

  // A verify segment, of which one row is kept. Nothing where there is no room.
  std::optional<double> time_rows(int32_t n_rows) {
    const RunnerInfo& info = runner_.info();
    if (n_rows > std::min(info.batch_rows_max, info.logit_rows_max)) return std::nullopt;
    const int32_t n_in_split = state_.rows_in_split();
    if (n_in_split < n_rows) read_to(position() + n_in_split);
    if (position() + n_rows > n_reserved_) return std::nullopt;
    const Clock::time_point begin = Clock::now();
    state_.verify(n_rows);
    return ms_since(begin);
  }

  // A run of the draft head for up to kDraftedTokens tokens.
  std::optional<double> time_draft(int32_t n_tokens) {
    if (position() + n_tokens > n_reserved_) return std::nullopt;
    TokenId drafted[kDraftedTokens];
    const DraftRequest request{.state = state_.id(),
                               .pending = state_.token_at(position()),
                               .out = std::span(drafted).first(static_cast<size_t>(n_tokens))};
    const Clock::time_point begin = Clock::now();
    runner_.draft({&request, 1});
    return ms_since(begin);
  }

 private:
  bool is_cancelled() const { return is_cancelled_ && is_cancelled_(); }

  using Clock = std::chrono::steady_clock;
  static double ms_since(Clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  }

  Runner& runner_;
  SteppedState state_;
  const std::function<bool()>& is_cancelled_;
  int32_t n_reserved_ = 0;
  Clock::time_point begin_ = Clock::now();
};

// All that was timed at one context.
struct Series {
  std::array<Times, CostSurface::kKnots> rows;
  Times short_draft, long_draft;  // of 1 and of kDraftedTokens tokens
  double context_tokens = 0;      // of its last step

  bool has(size_t knot) const { return !rows[knot].empty(); }
  double ms(size_t knot) const { return median(rows[knot]); }

  // What the step of a knot will take at most, judged by the widest narrower one.
  double expected_ms(size_t knot) const {
    for (size_t i = knot + 1; i-- > 0;) {
      if (has(i)) return ms(i) * CostSurface::kRows[knot] / CostSurface::kRows[i];
    }
    return 0;
  }
};

void time_near(TimedState& state, bool has_head, double milliseconds_max, Series& near) {
  state.read_to(kNearTokens);
  state.time_rows(1);  // the first touches memory that nobody has touched
  for (int round = 0; round < kRoundsNear; ++round) {
    for (const size_t knot : kOrder) {
      if (!state.has_time(near.expected_ms(knot), milliseconds_max)) continue;
      const std::optional<double> ms = state.time_rows(CostSurface::kRows[knot]);
      if (ms) near.rows[knot].push_back(*ms);
    }
    if (!has_head || !state.has_time(0, milliseconds_max)) continue;
    // After a verify step, as in life: the head first catches up with what was accepted.
    const std::optional<double> long_ms = state.time_draft(kDraftedTokens);
    state.time_rows(1);
    const std::optional<double> short_ms = state.time_draft(1);
    if (!long_ms || !short_ms) continue;
    near.long_draft.push_back(*long_ms);
    near.short_draft.push_back(*short_ms);
  }
  near.context_tokens = state.position();
}

void time_far(TimedState& state, const RunnerInfo& info, double milliseconds_max,
              const Series& near, Series& far) {
  if (!near.has(kAllRows)) return;
  const double read_ms = near.ms(kAllRows) / CostSurface::kRows[kAllRows];
  const auto n_affordable = static_cast<int32_t>(
      std::min<double>(kFarTokensMax, kReadShare * milliseconds_max / read_ms));
  const int32_t n_measured = kRoundsFar * 2 + 2 * CostSurface::kRows[kAllRows];
  const int32_t end =
      std::min(state.position() + n_affordable, info.context_tokens_max - n_measured);
  if (end - state.position() < kFarTokensMin || !state.reserve(end + n_measured)) return;
  state.read_to(end);
  for (int round = 0; round < kRoundsFar; ++round) {
    for (const size_t knot : {kOneRow, kAllRows}) {
      if (!state.has_time(near.expected_ms(knot), milliseconds_max)) return;
      const std::optional<double> ms = state.time_rows(CostSurface::kRows[knot]);
      if (ms) far.rows[knot].push_back(*ms);
    }
    if (info.has_draft_head) {
      if (const std::optional<double> ms = state.time_draft(kDraftedTokens))
        far.long_draft.push_back(*ms);
    }
    far.context_tokens = state.position();
  }
}

// A step reads the weights and the cache: bytes for bytes, a token of context costs this.
double context_ms_by_bytes(const RunnerInfo& info, int64_t bytes_per_token, double one_row_ms) {
  if (info.step_weight_bytes <= 0) return 0;
  return one_row_ms * static_cast<double>(bytes_per_token) /
         static_cast<double>(info.step_weight_bytes);
}

double context_ms(const RunnerInfo& info, const Series& near, const Series& far, size_t knot) {
  if (!far.has(knot))
    return context_ms_by_bytes(info, info.step_cache_bytes_per_token, near.ms(kOneRow));
  return std::max(0.0, (far.ms(knot) - near.ms(knot)) / (far.context_tokens - near.context_tokens));
}

double draft_context_ms(const RunnerInfo& info, const Series& near, const Series& far) {
  if (far.long_draft.empty()) {
    const int64_t bytes_of_head = info.cache_bytes_per_token - info.step_cache_bytes_per_token;
    return context_ms_by_bytes(info, bytes_of_head, near.ms(kOneRow));
  }
  const double rise_ms = median(far.long_draft) - median(near.long_draft);
  return std::max(0.0, rise_ms / kDraftedTokens / (far.context_tokens - near.context_tokens));
}

// Prices without context, from what was timed with some.
void price_draft_head(const RunnerInfo& info, const Series& near, const Series& far,
                      CostSurface::Figures& figures) {
  if (near.short_draft.empty()) return;
  const double short_ms = median(near.short_draft);
  const double token_ms = (median(near.long_draft) - short_ms) / (kDraftedTokens - 1);
  figures.draft_run_ms = short_ms - token_ms;
  figures.draft_context_ms = draft_context_ms(info, near, far);
  figures.draft_token_ms = token_ms - near.context_tokens * figures.draft_context_ms;
}

// Fills the knots that were not timed from those beside them.
void interpolate(const Series& near, std::span<double> step_ms) {
  size_t left = kOneRow;
  for (size_t knot = 1; knot < step_ms.size(); ++knot) {
    if (near.has(knot)) {
      left = knot;
      continue;
    }
    size_t right = knot;
    while (right < step_ms.size() && !near.has(right)) ++right;
    const double rows = CostSurface::kRows[knot] - CostSurface::kRows[left];
    const double row_ms =
        right < step_ms.size() ? (step_ms[right] - step_ms[left]) /
                                     (CostSurface::kRows[right] - CostSurface::kRows[left])
        : left > kOneRow ? (step_ms[left] - step_ms[kOneRow]) / (CostSurface::kRows[left] - 1)
                         : kRowShareUnknown * step_ms[kOneRow];
    step_ms[knot] = step_ms[left] + rows * row_ms;
  }
}

}  // namespace

CostSurface measure_cost(Runner& runner, double milliseconds_max,
                         const std::function<bool()>& is_cancelled) {
  const RunnerInfo& info = runner.info();
  const std::optional<StateId> opened = runner.open({.keeps_draft_history = info.has_draft_head});
  if (!opened) return CostSurface();
  TimedState state(runner, *opened, is_cancelled);
  const int32_t n_near = kNearTokens + kRoundsNear * static_cast<int32_t>(std::size(kOrder)) +
                         2 * CostSurface::kRows[kAllRows];
  Series near, far;
  if (!state.reserve(n_near)) return CostSurface();
  time_near(state, info.has_draft_head, kNearShare * milliseconds_max, near);
  if (!near.has(kOneRow)) return CostSurface();
  time_far(state, info, milliseconds_max, near, far);

  CostSurface::Figures figures{.context_ms_one_row = context_ms(info, near, far, kOneRow),
                               .context_ms_all_rows = context_ms(info, near, far, kAllRows)};
  price_draft_head(info, near, far, figures);
  const double context_rise = figures.context_ms_all_rows - figures.context_ms_one_row;
  for (size_t knot = 0; knot < CostSurface::kKnots; ++knot) {
    if (!near.has(knot)) continue;
    const double rows_share = (CostSurface::kRows[knot] - 1.0) / (CostSurface::kRows[kAllRows] - 1);
    const double token_ms = figures.context_ms_one_row + rows_share * context_rise;
    figures.step_ms[knot] = near.ms(knot) - token_ms * near.context_tokens;
  }
  interpolate(near, figures.step_ms);
  return CostSurface(figures);
}

}  // namespace slip
