// What a person types in a chat: messages of one line or several, and commands.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace slip {

struct ChatInput {
  enum class Kind { kMessage, kCommand };

  Kind kind = Kind::kMessage;
  std::string text;  // UTF-8: the message, or the command without its slash
};

// Puts lines together. A line that ends in a backslash goes on in the next one; between two lines
// of """ every line stands as it is. A single line that begins with a slash is a command: what is
// meant as a message can be put between """.
class ChatInputReader {
 public:
  // What `line`, without its end, completes. Nothing while more is to come, and for blank input.
  std::optional<ChatInput> push(std::string_view line);

  // What stands there unfinished when the input ends.
  std::optional<ChatInput> finish();

  bool is_unfinished() const { return place_ != Place::kBegin; }

 private:
  enum class Place { kBegin, kContinued, kBlock };

  void append_line(std::string_view line);
  std::optional<ChatInput> take();

  Place place_ = Place::kBegin;
  std::string text_;
};

// A command and what follows it: "save file" is "save" with "file".
struct ChatCommand {
  std::string name;
  std::string argument;  // without the space around it
};
ChatCommand parse_command(std::string_view text);

}  // namespace slip
