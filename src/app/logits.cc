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
#include "app/token_reader.h"
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
          : parse_tokens(read_text_file(options.tokens_file, ErrorCode::kInvalidArgument),
                         options.tokens_file, info.vocab_size);
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
