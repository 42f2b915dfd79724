#include "rehearsal/post.h"

#include <gmock/gmock.h>

#include "base/time.h"
#include "net/hmac.h"
#include "unit/support/scratch_folder.h"

namespace hookd::rehearsal {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::UnorderedElementsAre;
using Check = hook::SourceBinding::Check;

class PostTest : public testing::Test {
 protected:
  Post read(std::string_view yaml) {
    config::Problems found("t");
    const auto documents = config::parse_yaml(yaml, found);
    Post post;
    config::Reader reader(documents.at(0), "post", found);
    read_post(reader, post, scratch.path());
    problems = found.text();
    return post;
  }
  std::vector<std::pair<std::string, std::string>> headers(std::string_view yaml, std::string_view secret = "s") {
    return request_of(read(yaml), source, "http://h:1", secret, *parse_rfc3339("2026-01-01T00:00:00Z")).headers;
  }

  const test::ScratchFolder scratch;
  hook::SourceBinding source;
  std::string problems;
};

TEST_F(PostTest, AMapIsSentAsJsonAndTextAsItIs) {
  const auto json = read("{path: '/github?a=b', body: {ref: main, n: 1}}");
  EXPECT_EQ(json.path, "/github");
  EXPECT_EQ(json.query, "a=b");
  EXPECT_EQ(json.body, R"({"ref":"main","n":1})");
  EXPECT_EQ(json.status, std::nullopt);
  EXPECT_EQ(json.display(), R"(POST /github?a=b {"ref":"main","n":1})");
  EXPECT_EQ(request_of(json, source, "http://h:1", "s", {}).url, "http://h:1/github?a=b");
  EXPECT_THAT(headers("{path: /x, body: {a: 1}}"), Contains(Pair("Content-Type", "application/json")));
  EXPECT_THAT(headers("{path: /x, body: hello}"), Contains(Pair("Content-Type", "text/plain; charset=utf-8")));
  EXPECT_THAT(headers("{path: /x, body: hello, headers: {content-type: a/b}}"),
              testing::AllOf(Contains(Pair("content-type", "a/b")), Not(Contains(Pair("Content-Type", testing::_)))));
}

TEST_F(PostTest, ABodyMayStandInAFile) {
  scratch.file("push.json", "{\"ref\": 1}\n");
  const auto post = read("{path: /x, file: push.json}");
  EXPECT_EQ(post.body, "{\"ref\": 1}\n");
  EXPECT_TRUE(post.json);
  read("{path: /x, file: gone.json}");
  EXPECT_THAT(problems, HasSubstr("gone.json"));
}

TEST_F(PostTest, IsSignedAsTheSourceChecksIt) {
  EXPECT_THAT(headers("{path: /x, body: hi}"),
              Contains(Pair("X-Hub-Signature-256", "sha256=" + net::hmac_sha256_hex("s", "hi"))));
  source.header = "x-signature";
  source.timestamp_header = "x-time";
  EXPECT_THAT(headers("{path: /x, body: hi}"),
              UnorderedElementsAre(Pair("Content-Type", testing::_), Pair("x-time", "1767225600"),
                                   Pair("x-signature", "sha256=" + net::hmac_sha256_hex("s", "1767225600.hi"))));
  EXPECT_THAT(headers("{path: /x, body: hi, headers: {X-Time: 5}}"),
              UnorderedElementsAre(Pair("Content-Type", testing::_), Pair("X-Time", "5"),
                                   Pair("x-signature", "sha256=" + net::hmac_sha256_hex("s", "5.hi"))));
}

TEST_F(PostTest, ABearerIsSentAsTheSourceWantsIt) {
  source.check = Check::kBearer;
  EXPECT_THAT(headers("{path: /x}"), Contains(Pair("Authorization", "Bearer s")));
  source.header = "x-gitlab-token";
  EXPECT_THAT(headers("{path: /x}"), Contains(Pair("x-gitlab-token", "s")));
}

TEST_F(PostTest, CarriesNoSecretWhereItShallNotOrNeedNot) {
  const auto only_type = ElementsAre(Pair("Content-Type", testing::_));
  EXPECT_THAT(headers("{path: /x, signed: false}"), only_type);
  source.check = Check::kNone;
  EXPECT_THAT(headers("{path: /x}"), only_type);
}

TEST_F(PostTest, WhatIsWrongIsTold) {
  for (const auto& [yaml, problem] : std::map<std::string, std::string>{
           {"{}", "\"path\" is missing"},
           {"{path: github}", "expected the path of a source"},
           {"{path: /x, body: a, file: b}", "at most one of body and file"},
           {"{path: /x, headers: [a]}", "expected a map"},
           {"{path: /x, headers: {A: {b: c}}}", "post.headers.A: expected one line of text"},
           {"{path: /x, status: 42}", "status"},
           {"{path: /x, sign: true}", "unknown key \"sign\""}}) {
    read(yaml);
    EXPECT_THAT(problems, HasSubstr(problem)) << yaml;
  }
}

// The secret of production is not on the machine of who writes the hook.
TEST_F(PostTest, ASecretWhoseFileIsNotThereIsMadeUp) {
  hook::Hook hook;
  for (const std::string& file : {scratch.file("here", "x"), scratch.path() + "/gone"}) {
    auto& one = hook.sources.emplace_back();
    one.http = "/x";
    one.secret_from.file = file;
  }
  hook.sources.emplace_back().file = "/etc/x";
  hook::LoadResult loaded;
  loaded.hooks.push_back(std::make_shared<const hook::Hook>(hook));
  const auto now = with_secrets_for_rehearsal(std::move(loaded), "/made/up");
  std::vector<std::string> files;
  for (const auto& one : now.hooks[0]->sources) files.push_back(one.secret_from.file);
  EXPECT_THAT(files, ElementsAre(scratch.path() + "/here", "/made/up", IsEmpty()));
}

}  // namespace
}  // namespace hookd::rehearsal
