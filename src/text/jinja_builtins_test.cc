// Every row of the tables has a rendering of Python's jinja2 to live up to, so that a row that goes
// missing, or does another thing, is seen.
#include "text/jinja_builtins.h"

#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/error.h"
#include "text/chat_template.h"
#include "text/testing/template_golden.h"

namespace slip::jinja {
namespace {

const nlohmann::ordered_json& golden() {
  static const auto file = slip::test::golden_json("jinja_builtins.json");
  return file;
}

// The names of the tables, by the kinds of the golden file.
std::map<std::string, std::set<std::string>> names_by_kind() {
  const std::vector<std::pair<std::string, BuiltinTable>> tables = {
      {"filter", string_filters()},
      {"filter", list_filters()},
      {"test", tests()},
      {"function", functions()},
      {"string method", string_methods()},
      {"list method", list_methods()},
      {"mapping method", mapping_methods()},
      {"loop method", loop_methods()}};
  std::map<std::string, std::set<std::string>> names;
  for (const auto& [kind, table] : tables) {
    for (const Builtin& builtin : table) {
      const bool is_new = names[kind].emplace(builtin.name).second;
      EXPECT_TRUE(is_new) << kind << " " << builtin.name << " twice";
    }
  }
  return names;
}

TEST(JinjaBuiltins, HaveAGoldenRenderingForEachName) {
  std::map<std::string, std::set<std::string>> golden_names;
  for (const auto& [kind, names] : golden()["kinds"].items()) {
    for (const auto& [name, renderings] : names.items()) {
      if (!renderings.empty()) golden_names[kind].insert(name);
    }
  }
  EXPECT_EQ(names_by_kind(), golden_names);
}

TEST(JinjaBuiltins, DoWhatJinja2Does) {
  const Conversation conversation = slip::test::conversation_of(
      slip::test::golden_json("chat_template.json")["snippet_conversation"]);
  for (const auto& [kind, names] : golden()["kinds"].items()) {
    for (const auto& [name, renderings] : names.items()) {
      for (const auto& rendering : renderings) {
        const std::string source = rendering["template"];
        EXPECT_NE(source.find(name), std::string::npos) << source;
        try {
          const std::string text = ChatTemplate::parse(source, name).render(conversation).text;
          EXPECT_EQ(text, rendering["text"]) << kind << " " << source;
        } catch (const Error& error) {
          ADD_FAILURE() << kind << " " << source << ": " << error.what();
        }
      }
    }
  }
}

}  // namespace
}  // namespace slip::jinja
