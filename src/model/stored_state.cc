#include "model/stored_state.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/check.h"
#include "base/error.h"
#include "base/hash.h"

namespace slip {
namespace {

constexpr uint64_t kMagic = 0x3354534C4C49503A;  // ":PILLST3" in memory order: version 3
constexpr size_t kSampledBytes =
    4096;  // of each tensor: enough to tell fine-tunes apart, cheap at any size

uint64_t tag(std::string_view device) {
  uint64_t characters = 0;
  SLIP_CHECK(device.size() <= sizeof(characters));
  std::memcpy(&characters, device.data(), device.size());
  return characters;
}

std::string text(uint64_t tag) {
  std::string characters(sizeof(tag), '\0');
  std::memcpy(characters.data(), &tag, sizeof(tag));
  characters.resize(characters.find_last_not_of('\0') + 1);
  const bool is_name = std::ranges::all_of(characters, [](char c) { return c >= ' ' && c <= '~'; });
  return is_name ? "\"" + characters + "\"" : "unknown";
}

std::string type_name(int32_t cache_type) {
  const auto type = static_cast<DType>(cache_type);
  const bool is_known = cache_type >= 0 && cache_type < UINT8_MAX && is_plain_float(type);
  return is_known ? std::string(name(type)) : "type " + std::to_string(cache_type);
}

[[noreturn]] void refuse(const std::string& what) { refuse_file("stored state", what); }

void require_equal(const char* what, uint64_t found, uint64_t wanted) {
  if (found == wanted) return;
  refuse(std::string(what) + " is " + std::to_string(found) + ", expected " +
         std::to_string(wanted));
}

// Where the parts lie behind the header.
struct Parts {
  size_t ids_bytes, hidden_bytes, body_bytes;

  Parts(const StateHeader& header, size_t hidden_size, const StateTable& states)
      : ids_bytes(static_cast<size_t>(header.n_committed) * sizeof(TokenId)),
        hidden_bytes(has_hidden(header) ? hidden_size * sizeof(float) : 0),
        body_bytes(states.body_bytes(header.n_committed, header.keeps_draft_history != 0)) {}

  size_t total() const { return sizeof(StateHeader) + ids_bytes + hidden_bytes + body_bytes; }
  size_t body() const { return sizeof(StateHeader) + ids_bytes + hidden_bytes; }

  static bool has_hidden(const StateHeader& header) {
    return header.keeps_draft_history != 0 && header.n_committed > 0;
  }
};

void copy_bytes(const void* from, size_t n_bytes, void* to) {
  if (n_bytes > 0) std::memcpy(to, from, n_bytes);  // an empty vector has no address
}

std::vector<TokenId> ids_of(std::span<const std::byte> bytes, const StateHeader& header) {
  std::vector<TokenId> ids(static_cast<size_t>(header.n_committed));
  copy_bytes(bytes.data() + sizeof(header), ids.size() * sizeof(TokenId), ids.data());
  return ids;
}

}  // namespace

uint64_t model_fingerprint(const ModelFile& file, const ModelConfig& config) {
  uint64_t hash = hash_bytes(std::as_bytes(std::span(config.family)));
  const auto mix = [&](std::span<const std::byte> bytes) { hash = hash_bytes(bytes, hash); };
  for (const auto& [name, tensor] : file.tensors()) {
    mix(std::as_bytes(std::span(name)));
    mix(std::as_bytes(std::span(tensor.shape)));
    mix(std::as_bytes(std::span(&tensor.dtype, 1)));
    mix({tensor.data, std::min(tensor.n_bytes, kSampledBytes)});
  }
  return hash;
}

std::vector<std::byte> write_state(StateTable& states, StateId state,
                                   std::span<const float> last_hidden, const StateKind& kind) {
  const SequenceProgress& progress = states[state];
  const auto ids =
      std::span<const TokenId>(progress.ids).first(static_cast<size_t>(progress.n_committed));
  StateHeader header{.magic = kMagic,
                     .fingerprint = kind.fingerprint,
                     .device = tag(kind.device),
                     .token_hash = hash_tokens(ids),
                     .n_committed = progress.n_committed,
                     .keeps_draft_history = progress.options.keeps_draft_history ? 1 : 0,
                     .cache_type = static_cast<int32_t>(kind.cache_type)};
  const Parts parts(header, last_hidden.size(), states);
  SLIP_CHECK(parts.hidden_bytes == last_hidden.size_bytes());
  std::vector<std::byte> bytes(parts.total());
  std::byte* at = bytes.data() + sizeof(header);
  copy_bytes(ids.data(), parts.ids_bytes, at);
  copy_bytes(last_hidden.data(), parts.hidden_bytes, at + parts.ids_bytes);
  states.write_body(state, std::span(bytes).subspan(parts.body()));
  header.body_hash = hash_bytes(std::span<const std::byte>(bytes).subspan(sizeof(header)));
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

StateHeader read_state_header(std::span<const std::byte> bytes, const StateTable& states,
                              const ModelConfig& config, int32_t context_tokens_max,
                              const StateKind& kind) {
  StateHeader header;
  if (bytes.size() < sizeof(header)) {
    refuse(std::to_string(bytes.size()) + " bytes, expected at least " +
           std::to_string(sizeof(header)));
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  require_equal("magic", header.magic, kMagic);
  require_equal("model fingerprint", header.fingerprint, kind.fingerprint);
  if (header.device != tag(kind.device))
    refuse("made by device " + text(header.device) + ", expected " + text(tag(kind.device)));
  const bool is_plausible = header.n_committed >= 0 && header.n_committed <= context_tokens_max &&
                            (header.keeps_draft_history == 0 || header.keeps_draft_history == 1) &&
                            header.n_form_borders == 0;
  if (!is_plausible) {
    refuse(std::to_string(header.n_committed) + " tokens with " +
           std::to_string(header.n_form_borders) + " form borders, expected at most " +
           std::to_string(context_tokens_max) + " tokens and no border");
  }
  if (header.cache_type != static_cast<int32_t>(kind.cache_type)) {
    refuse("keys and values in " + type_name(header.cache_type) + ", expected " +
           std::string(name(kind.cache_type)));
  }
  const Parts parts(header, static_cast<size_t>(config.hidden_size), states);
  require_equal("length in bytes", bytes.size(), parts.total());
  require_equal("content hash", hash_bytes(bytes.subspan(sizeof(header))), header.body_hash);
  const std::vector<TokenId> ids = ids_of(bytes, header);
  require_equal("token hash", hash_tokens(ids), header.token_hash);
  for (const TokenId id : ids) {
    if (index(id) >= static_cast<size_t>(config.vocab_size)) {
      refuse("token " + std::to_string(static_cast<int32_t>(id)) + ", expected one below " +
             std::to_string(config.vocab_size));
    }
  }
  return header;
}

void read_state(std::span<const std::byte> bytes, const StateHeader& header, StateTable& states,
                StateId state, std::span<float> last_hidden) {
  const Parts parts(header, last_hidden.size(), states);
  SequenceProgress& progress = states[state];
  progress.resume(header.n_committed);
  std::ranges::copy(ids_of(bytes, header), progress.ids.begin());
  copy_bytes(bytes.data() + sizeof(header) + parts.ids_bytes, parts.hidden_bytes,
             last_hidden.data());
  states.read_body(state, bytes.subspan(parts.body()));
}

}  // namespace slip
