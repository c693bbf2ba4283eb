#include "text/jinja_text.h"

#include <gtest/gtest.h>

namespace slip::jinja {
namespace {

using Ranges = std::vector<ByteRange>;

Text mixed() {  // "ab" "cd" "ef", the middle untrusted
  Text text("ab");
  text.append("cd", Origin::kConversation);
  text.append("ef", Origin::kTemplate);
  return text;
}

TEST(JinjaText, JoinsStretchesOfOneOrigin) {
  Text text("ab", Origin::kConversation);
  text.append("", Origin::kConversation);
  text.append("cd", Origin::kConversation);
  EXPECT_EQ(text.untrusted(), (Ranges{{0, 4}}));
}

TEST(JinjaText, KeepsOriginsOfPartsByTheByte) {
  EXPECT_EQ(mixed().part(0, 2).untrusted(), Ranges());
  EXPECT_EQ(mixed().part(1, 2).untrusted(), (Ranges{{1, 2}}));
  EXPECT_EQ(mixed().part(3, 3).untrusted(), (Ranges{{0, 1}}));
  EXPECT_EQ(mixed().part(4, 2).untrusted(), Ranges());
  EXPECT_EQ(mixed().part(2, 2).untrusted(), (Ranges{{0, 2}}));
}

TEST(JinjaText, KeepsOriginsOfWhatIsAppended) {
  Text text("x");
  text.append(mixed());
  text.append(mixed(), 3, 2);
  EXPECT_EQ(text.bytes(), "xabcdefde");
  EXPECT_EQ(text.untrusted(), (Ranges{{3, 5}, {7, 8}}));
}

TEST(JinjaText, TellsTheOriginOfEveryByte) {
  std::string origins;
  for (size_t i = 0; i < 6; ++i) {
    origins += mixed().origin_at(i) == Origin::kConversation ? 'c' : 't';
  }
  EXPECT_EQ(origins, "ttcctt");
}

TEST(JinjaText, VisitsStretchesInOrder) {
  std::string visited;
  mixed().visit_runs([&](std::string_view bytes, Origin origin) {
    visited += std::string(bytes) + (origin == Origin::kConversation ? "! " : " ");
  });
  EXPECT_EQ(visited, "ab cd! ef ");
}

}  // namespace
}  // namespace slip::jinja
