// An answer on its way to the reader: reasoning and content told apart, and shown apart.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/output_parser.h"

namespace slip {

class AnswerText {
 public:
  //   begins_in_reasoning  the prompt has opened it
  //   dims_reasoning       with the control sequences of a terminal
  AnswerText(bool begins_in_reasoning, bool dims_reasoning);

  // What to show for `bytes`, which may be cut anywhere. An empty line parts reasoning from
  // content.
  std::string push(std::string_view bytes);
  // What was held back. To be called once, at the end of the answer.
  std::string finish();

  const std::string& content() const { return content_; }

 private:
  std::string show(const std::vector<OutputEvent>& events);
  std::string end_reasoning();

  OutputParser parser_;
  bool dims_reasoning_;
  bool is_reasoning_ = false;
  std::string content_;
};

// `text`, dim where `is_terminal`.
std::string dim(const std::string& text, bool is_terminal);

}  // namespace slip
