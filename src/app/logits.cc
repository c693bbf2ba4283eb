// slipstream logits: what the model says of given tokens, for comparing engines and for proving
// that rows do not influence each other.

#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <vector>

#include "app/commands.h"
#include "app/interrupt.h"
#include "app/model_session.h"
#include "backend/split_rule.h"
#include "base/error.h"
#include "io/json_file.h"
#include "io/safetensors.h"

namespace slip {

namespace {

// Ids separated by commas or white space; brackets around them are ignored, so that a JSON array
// will do.
std::vector<TokenId> parse_tokens(const std::string& text, const std::string& origin,
                                  int32_t vocab_size) {
  constexpr std::string_view kBetween = ", \t\r\n[]";
  std::vector<TokenId> tokens;
  size_t begin = text.find_first_not_of(kBetween);
  while (begin != std::string::npos) {
    const size_t end = std::min(text.find_first_of(kBetween, begin), text.size());
    int32_t id = -1;
    const auto [stop, error] = std::from_chars(text.data() + begin, text.data() + end, id);
    if (error != std::errc() || stop != text.data() + end || id < 0 || id >= vocab_size) {
      throw Error(ErrorCode::kInvalidArgument,
                  origin + ": found \"" + text.substr(begin, std::min<size_t>(end - begin, 40)) +
                      "\", wanted a token id from 0 to " + std::to_string(vocab_size - 1));
    }
    tokens.push_back(TokenId{id});
    begin = text.find_first_not_of(kBetween, end);
  }
  if (tokens.empty())
    throw Error(ErrorCode::kInvalidArgument, origin + ": found no token, wanted at least one");
  return tokens;
}

// Runs given tokens through one state. Unlike an engine it knows what comes, so nothing depends on
// what the model would have said.
class TokenReader {
 public:
  TokenReader(Runner& runner, std::vector<TokenId> tokens, bool with_draft_head)
      : runner_(runner),
        tokens_(std::move(tokens)),
        state_(*runner.open({.keeps_draft_history = with_draft_head})) {
    // The draft head looks one token past the last one.
    const auto n = static_cast<int32_t>(tokens_.size());
    const int32_t n_reserved = n + (with_draft_head ? 1 : 0);
    if (!runner.reserve(state_, n_reserved)) {
      throw Error(ErrorCode::kInvalidArgument,
                  "--context: found " + std::to_string(runner.info().context_tokens_max) +
                      ", wanted at least " + std::to_string(n_reserved) + " for these tokens");
    }
  }

  int32_t position() const { return position_; }

  // Commits tokens up to `end` without asking for logits.
  void skip_to(int32_t end) {
    while (position_ < end && !is_interrupted()) {
      const int32_t n_rows = rows_to(end, runner_.info().batch_rows_max);
      run({.state = state_,
           .position = position_,
           .n_rows = n_rows,
           .n_certain = n_rows,
           .wants_next = false});
    }
  }

  // One verify segment of at most n_rows rows: appends the logits of each to `logits`, commits all
  // of them.
  void verify(int32_t n_rows, std::vector<float>& logits) {
    n_rows = rows_to(static_cast<int32_t>(tokens_.size()), n_rows);
    const int32_t end = position_ + n_rows;
    const Batch batch =
        make_batch({.state = state_, .position = position_, .n_rows = n_rows, .n_certain = 1});
    runner_.forward(batch);
    for (int32_t row = 0; row < n_rows; ++row) runner_.read_logits(row, grow(logits));
    commit();
    skip_to(end);  // rows that the model would not have said itself run once more, as certain ones
  }

  // The draft head's logits for the entry of the last token, given the one that follows.
  void draft(std::vector<float>& logits) {
    TokenId drafted{};
    const DraftRequest request{
        .state = state_, .pending = tokens_[static_cast<size_t>(position_)], .out = {&drafted, 1}};
    runner_.draft({&request, 1});
    runner_.read_draft_logits(0, grow(logits));
  }

 private:
  int32_t rows_to(int32_t end, int32_t n_rows_max) const {
    return std::min(
        {end - position_, n_rows_max, rows_until_split_change(position_, runner_.info().n_splits)});
  }

  Batch make_batch(const Segment& segment) const {
    const auto begin = tokens_.begin() + segment.position;
    return {.tokens = {begin, begin + segment.n_rows}, .segments = {segment}};
  }

  void run(const Segment& segment) {
    runner_.forward(make_batch(segment));
    commit();
  }

  void commit() {
    Verdict verdict;
    runner_.accept({&verdict, 1});
    position_ = runner_.state_info(state_).n_committed;
  }

  std::span<float> grow(std::vector<float>& logits) const {
    const auto vocab_size = static_cast<size_t>(runner_.info().vocab_size);
    logits.resize(logits.size() + vocab_size);
    return std::span(logits).last(vocab_size);
  }

  Runner& runner_;
  std::vector<TokenId> tokens_;
  StateId state_;
  int32_t position_ = 0;
};

TensorView matrix_view(const std::vector<float>& values, int32_t n_columns) {
  const auto n_rows = static_cast<int64_t>(values.size()) / n_columns;
  return {.dtype = DType::kF32,
          .shape = {n_rows, n_columns},
          .data = reinterpret_cast<const std::byte*>(values.data()),
          .n_bytes = values.size() * sizeof(float)};
}

void require(bool holds, const std::string& sentence) {
  if (!holds) throw Error(ErrorCode::kInvalidArgument, sentence);
}

// Before the work, and so that no input is overwritten.
void check_output(const LogitsOptions& options, const ModelFile& file) {
  const std::filesystem::path out = resolve_output(options.out);
  require(!std::filesystem::equivalent(out.parent_path(), file.folder()),
          "--out: found " + options.out + ", wanted a file outside the model's folder");
  const bool is_input = !options.tokens_file.empty() && std::filesystem::exists(out) &&
                        std::filesystem::exists(options.tokens_file) &&
                        std::filesystem::equivalent(out, options.tokens_file);
  require(!is_input, "--out: found " + options.out + ", wanted a file other than --tokens-file");
}

}  // namespace

int run_logits(const LogitsOptions& options) {
  const ModelFile file = ModelFile::open(options.model.model);
  check_output(options, file);
  const std::unique_ptr<Runner> runner = load_runner(file, options.model);
  const RunnerInfo& info = runner->info();
  std::vector<TokenId> tokens =
      options.tokens_file.empty()
          ? parse_tokens(options.tokens, "--tokens", info.vocab_size)
          : parse_tokens(read_text_file(options.tokens_file), options.tokens_file, info.vocab_size);
  const auto n = static_cast<int32_t>(tokens.size());
  require(options.from < n, "--from: found " + std::to_string(options.from) +
                                ", wanted less than the " + std::to_string(n) + " tokens");
  require(!options.with_draft_head || info.has_draft_head, "--mtp: this model has no draft head");
  require(!options.with_draft_head || options.n_rows == 1,
          "--mtp: found --rows " + std::to_string(options.n_rows) + ", wanted --rows 1");

  TokenReader reader(*runner, std::move(tokens), options.with_draft_head);
  std::vector<float> logits;
  std::vector<float> draft_logits;
  reader.skip_to(options.from);
  while (reader.position() < n) {
    if (is_interrupted()) return kExitInterrupted;
    reader.verify(options.n_rows, logits);
    if (options.with_draft_head && reader.position() < n) reader.draft(draft_logits);
  }
  std::vector<NamedTensor> tensors = {{"logits", matrix_view(logits, info.vocab_size)}};
  if (options.with_draft_head)
    tensors.push_back({"mtp_logits", matrix_view(draft_logits, info.vocab_size)});
  write_safetensors(options.out, tensors);
  return 0;
}

}  // namespace slip
