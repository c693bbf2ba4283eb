#include "model/config_reader.h"

#include <gtest/gtest.h>

#include "base/testing/expect_error.h"

namespace slip {
namespace {

// The message of the Error that `action` throws; empty where it throws none.
using test::message_of;

class ConfigReaderTest : public testing::Test {
 protected:
  const nlohmann::json object_ = nlohmann::json::parse(R"({
    "size": 8, "huge": 18446744073709551615, "real": 0.5, "name": "x", "flag": true, "nothing": null,
    "names": ["a", "b"], "mixed": ["a", 1], "child": {"size": 3}})");
  const ConfigReader reader_{object_, "config.json"};
};

TEST_F(ConfigReaderTest, NamesKeyFoundAndWantedWhenAnIntegerIsOutOfRange) {
  EXPECT_EQ(message_of([&] { reader_.integer("size", 1, 7); }),
            "config.json.size: found 8, wanted an integer in [1, 7]");
}

TEST_F(ConfigReaderTest, RefusesAnUnsignedNumberThatWouldWrap) {
  EXPECT_NE(message_of([&] { reader_.integer("huge", -5, INT32_MAX); }), "");
}

TEST_F(ConfigReaderTest, RefusesARealWhereAnIntegerIsWanted) {
  EXPECT_NE(message_of([&] { reader_.integer("real", 0, 1); }), "");
}

TEST_F(ConfigReaderTest, TakesTheFallbackForAbsentAndNullKeysOnly) {
  EXPECT_EQ(reader_.integer_or("absent", 5, 0, 9), 5);
  EXPECT_EQ(reader_.integer_or("nothing", 5, 0, 9), 5);
  EXPECT_NE(message_of([&] { reader_.integer_or("name", 5, 0, 9); }), "");
}

TEST_F(ConfigReaderTest, NamesThePathOfAChild) {
  EXPECT_EQ(message_of([&] { reader_.child("child").integer("size", 4, 9); }),
            "config.json.child.size: found 3, wanted an integer in [4, 9]");
}

TEST_F(ConfigReaderTest, RefusesAChildThatIsNoObject) {
  EXPECT_NE(message_of([&] { reader_.child("size"); }), "");
}

TEST_F(ConfigReaderTest, RefusesAListWithAnythingButStrings) {
  EXPECT_EQ(reader_.texts("names"), (std::vector<std::string>{"a", "b"}));
  EXPECT_NE(message_of([&] { reader_.texts("mixed"); }), "");
}

TEST_F(ConfigReaderTest, ListsTheTextsThatWouldHaveDone) {
  EXPECT_EQ(message_of([&] {
              reader_.require_text("name", "y", {"y", "z"});
            }),
            "config.json.name: found \"x\", wanted \"y\" or \"z\"");
}

TEST_F(ConfigReaderTest, ShowsNoMoreThanTheBeginningOfALongValue) {
  const nlohmann::json object = {{"key", std::string(10000, 'a')}};
  EXPECT_LT(message_of([&] { ConfigReader(object, "f").integer("key", 0, 1); }).size(), 150u);
}

}  // namespace
}  // namespace slip
