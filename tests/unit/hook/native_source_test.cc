// `source` of every-key.yaml, key by key; what is wrong with others is in tests/golden/hooks/invalid/source-values.*.
#include "hook/native_source.h"

#include <gmock/gmock.h>

#include "base/fd.h"
#include "hook/native_loader.h"

namespace hookd::hook {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using Check = SourceBinding::Check;

std::shared_ptr<const Hook> load(const std::string& text, const std::string& file) {
  LoadResult result;
  load_hook_text(text, file, {}, result);
  for (const auto& error : result.errors) ADD_FAILURE() << error.text();
  return result.hooks.empty() ? std::make_shared<const Hook>() : result.hooks[0];
}

TEST(NativeSource, FillsEveryField) {
  const std::string folder = HOOKD_SOURCE_DIR "/tests/golden/hooks/valid";
  const auto hook = load(*read_file(folder + "/every-key.yaml"), folder + "/every-key.yaml");
  ASSERT_EQ(hook->sources.size(), 5u);
  const auto& bus = hook->sources[0];
  EXPECT_EQ(bus.name, "bus");
  EXPECT_THAT(bus.command, ElementsAre(folder + "/ok.sh", "--raw"));
  EXPECT_EQ(bus.max_line_bytes, 64u << 10);
  EXPECT_EQ(bus.when->expression(), "type == \"object\"");
  EXPECT_EQ(bus.key->expression(), ".name");
  EXPECT_EQ(bus.buffer, 10);
  EXPECT_THAT(bus.include, ElementsAre("nodes"));
  const auto& repo = hook->sources[1];
  EXPECT_EQ(repo.file, "/etc/app/config.yaml");
  EXPECT_EQ(repo.settle, 1s);
  EXPECT_EQ(repo.max_file_bytes, 2u << 20);
  EXPECT_FALSE(repo.existing);
  const auto& push = hook->sources[2];
  EXPECT_EQ(push.http, "/github");
  EXPECT_EQ(push.check, Check::kHmac);
  EXPECT_EQ(push.secret_from.file, "/run/s");
  EXPECT_EQ(push.header, "x-sig");
  EXPECT_EQ(push.timestamp_header, "x-time");
  EXPECT_EQ(push.replay_window, 1min);
  EXPECT_EQ(push.max_body_bytes, 2u << 20);
  const auto& hand = hook->sources[3];
  EXPECT_EQ(hand.check, Check::kBearer);
  EXPECT_EQ(hand.secret_from.ns + "/" + hand.secret_from.name + " " + hand.secret_from.key, "ns/name k");
  EXPECT_EQ(hook->sources[4].name, "http");
  EXPECT_EQ(hook->sources[4].check, Check::kNone);
}

TEST(NativeSource, RelativePathsAreMeantFromTheHooksFolder) {
  const auto hook = load(
      "apiVersion: hookd/v1\nkind: Hook\nmetadata: {name: h}\nspec:\n  run: {command: [sh]}\n  source:\n"
      "    - {file: conf/}\n    - {http: /x, secretFrom: {file: ../s}}\n",
      "/hooks/h/hook.yaml");
  ASSERT_EQ(hook->sources.size(), 2u);
  EXPECT_EQ(hook->sources[0].file, "/hooks/h/conf");
  EXPECT_EQ(hook->sources[0].name, "file");
  EXPECT_TRUE(hook->sources[0].existing);
  EXPECT_EQ(hook->sources[1].secret_from.file, "/hooks/s");
}

}  // namespace
}  // namespace hookd::hook
