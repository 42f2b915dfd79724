#include "embedded/print/table_path.h"

#include <gtest/gtest.h>

namespace hookd::embedded {
namespace {

TEST(TablePath, FindsWhatTheSimpleJsonPathSays) {
  const json::value document =
      json::parse(R"({"a":{"b":[{"n":"x","v":1},{"n":"y","v":2,"on":true}],"c.d":"dot"},"z":null})");
  struct Case {
    const char* path;
    const char* found;  // "" = nothing
  };
  const Case cases[] = {
      {".a.b[0].v", "1"},
      {".a.b[-1].v", "2"},
      {".a.b[*].n", "\"x\""},
      {"{.a.b[1].n}", "\"y\""},
      {".a['c.d']", "\"dot\""},
      {".a.c\\.d", "\"dot\""},
      {".z", "null"},
      {"$.a.b[1].on", "true"},
      {".a.b[?(@.n==\"y\")].v", "2"},
      {".a.b[?(@.v>1)].n", "\"y\""},
      {".a.b[?(@.on)].n", "\"y\""},
      {".a.b[?(@.n=='q')].v", ""},
      {".a.x.y", ""},
      {".a.b[7]", ""},
      {"a", ""},
      {".a.b[", ""},
      {"..a", ""},
      {".a.b[x]", ""},
      {"", "{"},
  };
  for (const Case& entry : cases) {
    const json::value* found = first_at_path(document, entry.path);
    if (!*entry.found) {
      EXPECT_EQ(found, nullptr) << entry.path;
    } else {
      ASSERT_NE(found, nullptr) << entry.path;
      EXPECT_TRUE(json::serialize(*found).starts_with(entry.found)) << entry.path;
    }
  }
}

}  // namespace
}  // namespace hookd::embedded
