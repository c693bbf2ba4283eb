// slipstream chat: a conversation in the terminal, or line by line through a pipe. Answers go to
// stdout, everything else to stderr.

#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include <unistd.h>

#include "app/answer.h"
#include "app/answer_text.h"
#include "app/chat_history.h"
#include "app/chat_input.h"
#include "app/chat_session.h"
#include "app/commands.h"
#include "app/draft_probe.h"
#include "app/interrupt.h"
#include "app/line_reader.h"
#include "app/progress_line.h"
#include "app/standard_output.h"
#include "base/json.h"
#include "io/output_file.h"

namespace slip {

namespace {

constexpr const char* kHelp =
    "/help       this\n"
    "/reset      begin a new conversation\n"
    "/save FILE  write the conversation to a file, for --load\n"
    "/exit       leave, as the end of the input (Ctrl-D) does\n"
    "A line that ends in \\ goes on in the next; lines between two lines of \"\"\" are one "
    "message,\nwhatever they begin with.\n"
    "Ctrl-C stops an answer, and at the prompt the program.\n";

class ChatLoop {
 public:
  // `chat` outlives the loop.
  ChatLoop(ChatSession& chat, const ChatOptions& options) : chat_(chat), options_(options) {}

  // Until the end of the input. The exit status: kExitInterrupted after a signal at the prompt; 1
  // where something failed and no person was there to see it.
  int run() {
    LineReader lines(STDIN_FILENO);
    ChatInputReader inputs;
    while (!has_left_) {
      show_prompt(inputs.is_unfinished());
      const std::optional<std::string> line = lines.next();
      if (is_interrupted()) return leave(kExitInterrupted);
      handle(line ? inputs.push(*line) : inputs.finish());
      clear_interrupt();  // it stopped the answer
      if (is_interrupted()) return leave(kExitInterrupted);
      if (!line) break;
    }
    return leave(has_failed_ && !is_typed_ ? 1 : 0);
  }

 private:
  struct Command {
    std::string_view name;
    void (ChatLoop::*run)(const std::string& argument);
  };
  static const std::array<Command, 4> kCommands;

  void show_prompt(bool is_unfinished) {
    if (is_typed_ && is_shown_) write_out(is_unfinished ? ". " : "> ");
  }

  // The shell's own prompt begins a line.
  int leave(int status) {
    if (is_typed_ && is_shown_ && !has_left_) write_out("\n");
    return status;
  }

  // A turn that fails is the end of the turn: the conversation stays as it was. Where the answer
  // itself cannot be written there is nobody to go on for.
  void handle(const std::optional<ChatInput>& input) {
    if (!input) return;
    try {
      input->kind == ChatInput::Kind::kCommand ? obey(input->text) : say(input->text);
    } catch (const Error& error) {
      flush_stdout();
      has_failed_ = true;
      std::fprintf(stderr, "slipstream: %s\n", one_line(error.what()).c_str());
    }
  }

  void say(const std::string& text) {
    const size_t n_before = chat_.messages().size();
    ProgressLine title(kWindowTitle);
    const auto show_pace = [&](const AnswerPace& pace) {
      if (const auto line = pace.describe()) title.show(*line);
    };
    const Finish finish = chat_.say(text, {.write = write_out, .show_pace = show_pace});
    title.erase();
    write_out("\n");
    std::string line = describe_turn(finish);
    if (chat_.messages().size() == n_before) line += "; the message is forgotten";
    std::fprintf(stderr, "%s\n", dim(line, shows_sequences(STDERR_FILENO)).c_str());
    if (!options_.save.empty()) save(options_.save);
  }

  void obey(const std::string& text) {
    const ChatCommand command = parse_command(text);
    for (const Command& known : kCommands) {
      if (known.name == command.name) return (this->*known.run)(command.argument);
    }
    throw Error(ErrorCode::kInvalidArgument,
                "command: found " + quote("/" + command.name) +
                    ", wanted what /help lists, or \"\"\" around a message that begins with /");
  }

  void help(const std::string&) { std::fputs(kHelp, stderr); }
  void exit(const std::string&) { has_left_ = true; }
  void reset(const std::string&) {
    chat_.reset();
    if (!options_.save.empty()) save(options_.save);
  }
  void save(const std::string& path) {
    if (path.empty())
      throw Error(ErrorCode::kInvalidArgument, "/save: found no file, wanted its path");
    save_history(path, chat_.messages());
  }

  ChatSession& chat_;
  const ChatOptions& options_;
  bool is_typed_ = isatty(STDIN_FILENO) != 0;
  bool is_shown_ = isatty(STDOUT_FILENO) != 0;
  bool has_left_ = false;
  bool has_failed_ = false;
};

constexpr std::array<ChatLoop::Command, 4> ChatLoop::kCommands = {{{"help", &ChatLoop::help},
                                                                   {"reset", &ChatLoop::reset},
                                                                   {"save", &ChatLoop::save},
                                                                   {"exit", &ChatLoop::exit}}};

}  // namespace

int run_chat(const ChatOptions& options) {
  // A damaged file should not show after the model is loaded.
  std::vector<ChatMessage> messages;
  if (!options.load.empty()) messages = load_history(options.load);
  if (!options.save.empty()) check_replaceable(options.save, options.save);
  ModelSession session = load_session(options.model);
  const ChatMessage probe{.role = "user", .content = "x"};
  encode_conversation(session, {&probe, 1});  // whether there is a template
  const Drafting drafting = prepare_drafting(options.draft, session);
  if (drafting.runs_draft_head) warn_of_draft_head(session);
  ChatSession chat(session, drafting, options, shows_sequences(STDOUT_FILENO));
  if (!options.load.empty()) chat.replace_messages(std::move(messages));
  return ChatLoop(chat, options).run();
}

}  // namespace slip
