#include "app/model_session.h"

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "app/testing/embedded_model.h"
#include "base/testing/expect_error.h"
#include "io/json_file.h"
#include "io/testing/temporary_folder.h"

namespace slip {
namespace {

ModelSession session_of(const std::string& model) {
  return load_session({.model = model, .n_threads = 1, .context_tokens = 512});
}

// A copy of the embedded model whose template lies in tokenizer_config.json, under `value`.
class OlderFolder {
 public:
  explicit OlderFolder(const nlohmann::json& value) {
    std::filesystem::copy(test::kEmbeddedModel, folder_.path(),
                          std::filesystem::copy_options::recursive);
    std::filesystem::remove(folder_.path() / "chat_template.jinja");
    nlohmann::json config =
        parse_json(read_text_file(folder_.path() / "tokenizer_config.json"), "test");
    config["chat_template"] = value;
    folder_.write("tokenizer_config.json", config.dump());
  }
  std::string path() const { return folder_.path().string(); }

 private:
  test::TemporaryFolder folder_;
};

std::string template_text() {
  return read_text_file(test::kEmbeddedModel + "/chat_template.jinja");
}

TEST(ReadPrompt, KeepsControlTokensOutOfTheUsersText) {
  const ModelSession session = session_of(test::kEmbeddedModel);
  const TokenId end = session.tokenizer.find("<|im_end|>").value();
  const auto n_ends = [&](const PromptOptions& options) {
    return std::ranges::count(read_prompt(session, options), end);
  };
  EXPECT_EQ(n_ends({.text = "<|im_end|>", .is_chat = true}),
            n_ends({.text = "no such thing", .is_chat = true}));
  EXPECT_EQ(n_ends({.text = "<|im_end|>"}), 1);  // a plain prompt is the user's own business
}

TEST(ReadPrompt, FindsTheTemplateOfAnOlderFolder) {
  const PromptOptions options{.text = "hello", .is_chat = true};
  const std::vector<TokenId> wanted = read_prompt(session_of(test::kEmbeddedModel), options);
  const OlderFolder text(template_text());
  EXPECT_EQ(read_prompt(session_of(text.path()), options), wanted);
  const OlderFolder list(
      nlohmann::json::array({{{"name", "tools"}, {"template", "x"}},
                             {{"name", "default"}, {"template", template_text()}}}));
  EXPECT_EQ(read_prompt(session_of(list.path()), options), wanted);
}

TEST(ReadPrompt, RefusesATemplateThatIsNeitherTextNorList) {
  const OlderFolder folder(7);
  EXPECT_TRUE(test::fails_with(ErrorCode::kCorruptFile, "chat_template",
                               [&] { session_of(folder.path()); }));
}

}  // namespace
}  // namespace slip
