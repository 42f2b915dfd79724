// The keys that the loader knows and those that config/hook.schema.json tells editors about are the same.
#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/json_read.h"
#include "hook/native_loader.h"

namespace hookd::hook {
namespace {

using Keys = std::map<std::string, std::set<std::string, std::less<>>>;

// Follows the schema through objects, arrays, alternatives and references into #/$defs. What stands in open maps (env,
// matchLabels) has no keys of its own.
void collect(const boost::json::object& root, const boost::json::object& schema, const std::string& path, Keys& out) {
  if (const auto* reference = schema.if_contains("$ref")) {
    const std::string name(reference->as_string().c_str() + std::string_view("#/$defs/").size());
    collect(root, root.at("$defs").as_object().at(name).as_object(), path, out);
  }
  if (const auto* alternatives = schema.if_contains("oneOf"))
    for (const auto& alternative : alternatives->as_array())
      if (alternative.as_object().contains("type")) collect(root, alternative.as_object(), path, out);
  if (const auto* items = schema.if_contains("items")) collect(root, items->as_object(), path + "[]", out);
  const auto* properties = schema.if_contains("properties");
  if (properties == nullptr) return;
  for (const auto& [key, value] : properties->as_object()) {
    out[path].insert(std::string(key));
    collect(root, value.as_object(), path.empty() ? std::string(key) : path + "." + std::string(key), out);
  }
}

TEST(HookSchema, KnowsTheKeysThatTheLoaderKnows) {
  const auto text = read_file(HOOKD_SOURCE_DIR "/config/hook.schema.json");
  ASSERT_TRUE(text);
  const auto schema = parse_json(*text);
  ASSERT_TRUE(schema) << schema.error().what;
  Keys in_schema;
  collect(schema->as_object(), schema->as_object(), "", in_schema);

  // every-key.yaml has every map, so the loader's readers tell all that they know.
  const std::string file = HOOKD_SOURCE_DIR "/tests/golden/hooks/valid/every-key.yaml";
  const auto sample = read_file(file);
  ASSERT_TRUE(sample);
  config::Problems record(file);
  record.record_keys();
  LoadOptions options;
  options.record = &record;
  LoadResult result;
  load_hook_text(*sample, file, options, result);
  ASSERT_EQ(record.text(), "");
  EXPECT_EQ(record.recorded(), in_schema);
  EXPECT_TRUE(in_schema.contains("spec.watch[].labelSelector.matchExpressions[]"));
}

}  // namespace
}  // namespace hookd::hook
