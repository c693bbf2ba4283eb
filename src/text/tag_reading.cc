#include "text/tag_reading.h"

#include "text/tool_call.h"

namespace slip {
namespace {

bool is_name_byte(char byte) {
  const auto value = static_cast<unsigned char>(byte);
  return value >= 0x20 && value != 0x7F && byte != '<' && byte != '>';
}

bool is_space(char byte) { return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'; }

}  // namespace

TagReading& TagReading::gap() {
  if (match_ != TagMatch::kYes) return *this;
  const size_t begin = at_;
  while (at_ < text_.size() && is_space(text_[at_]) && at_ - begin <= kTagGapBytesMax) ++at_;
  if (at_ - begin > kTagGapBytesMax) {
    match_ = TagMatch::kNo;
  } else if (at_ == text_.size()) {
    match_ = TagMatch::kMaybe;
  }
  return *this;
}

TagReading& TagReading::literal(std::string_view wanted) {
  if (match_ != TagMatch::kYes) return *this;
  const std::string_view found = text_.substr(at_, wanted.size());
  if (!wanted.starts_with(found)) {
    match_ = TagMatch::kNo;
  } else if (found.size() < wanted.size()) {
    match_ = TagMatch::kMaybe;
  } else {
    at_ += wanted.size();
  }
  return *this;
}

TagReading& TagReading::name(std::string& name) {
  if (match_ != TagMatch::kYes) return *this;
  size_t end = at_;
  while (end < text_.size() && is_name_byte(text_[end]) && end - at_ <= kToolNameBytesMax) ++end;
  const size_t n_bytes = end - at_;
  const bool is_whole = end < text_.size();
  if (n_bytes > kToolNameBytesMax || (is_whole && (text_[end] != '>' || n_bytes == 0))) {
    match_ = TagMatch::kNo;
  } else if (!is_whole) {
    match_ = TagMatch::kMaybe;
  } else {
    name = text_.substr(at_, n_bytes);
    at_ = end + 1;
  }
  return *this;
}

}  // namespace slip
