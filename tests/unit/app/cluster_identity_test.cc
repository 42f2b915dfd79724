// app/cluster_identity.h and what KeptState makes of it.
#include "app/cluster_identity.h"

#include <gmock/gmock.h>

#include "app/kept_state.h"
#include "unit/support/fake_cluster.h"
#include "unit/support/log_tap.h"
#include "unit/support/scratch_folder.h"

namespace hookd::app {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class ClusterIdentityTest : public testing::Test {
 protected:
  ClusterIdentityTest() {
    config.state_dir = scratch.path("state");
    cluster.intercept = [this](const kube::ApiRequest& request) -> std::optional<Result<kube::ApiResponse>> {
      EXPECT_EQ(request.path, "/api/v1/namespaces/kube-system");
      if (refuse) return fail(*refuse);
      kube::ApiResponse response;
      response.status = 200;
      response.body = body;
      return response;
    };
  }
  static std::string namespace_of(std::string_view uid) {
    return fmt::format(R"({{"kind":"Namespace","metadata":{{"name":"kube-system","uid":"{}"}}}})", uid);
  }
  // A daemon that starts: is the state known after that long?
  bool start(Duration time = 0s) {
    if (state) state->close();
    state.reset();
    state = std::make_unique<KeptState>(config, scheduler, random);
    EXPECT_TRUE(state->open());
    bool known = false;
    state->start(cluster, [&] { known = true; });
    EXPECT_FALSE(known) << "never from inside";
    scheduler.advance(time);
    return known;
  }

  const test::ScratchFolder scratch;
  ManualScheduler scheduler;
  SeededRandom random;
  test::FakeCluster cluster{scheduler};
  std::string body = namespace_of("aaaa-1");
  std::optional<Error> refuse;
  config::DaemonConfig config;
  std::unique_ptr<KeptState> state;
  test::LogTap log;
};

TEST_F(ClusterIdentityTest, WhatWasKeptOfAnotherClusterIsNotUsed) {
  ASSERT_TRUE(start());
  state->store().put("parked", "h\np1", "1");
  body = namespace_of("bbbb-2");
  ASSERT_TRUE(start());
  EXPECT_FALSE(state->store().get("parked", "h\np1"));
  EXPECT_EQ(log.count("another cluster than before"), 1u);
  body = namespace_of("aaaa-1");
  ASSERT_TRUE(start());
  EXPECT_TRUE(state->store().get("parked", "h\np1"));
}

TEST_F(ClusterIdentityTest, NothingStartsBeforeItIsKnown) {
  for (const std::string wrong : {"<html>", R"({"metadata":{"uid":"../x"}})"}) {
    body = wrong;
    EXPECT_FALSE(start(10min)) << wrong;
  }
  refuse = Error{Errc::kTransport, "connection refused", 0, {}, {}};
  EXPECT_FALSE(start(1s));
  EXPECT_THAT(state->trouble().value_or(""), HasSubstr("which cluster this is cannot be told yet: connection refused"));
  refuse.reset();
  body = namespace_of("aaaa-1");
  bool known = false;
  state->close();
  state->start(cluster, [&] { known = true; });
  scheduler.advance(1min);
  EXPECT_TRUE(known);
  EXPECT_FALSE(state->trouble());
}

TEST_F(ClusterIdentityTest, WithoutTheRightItGoesOnAndSaysSo) {
  refuse = Error{Errc::kForbidden, "namespaces is forbidden", 403, "Forbidden", {}};
  EXPECT_TRUE(start());
  EXPECT_EQ(log.count("allow hookd to `get` the namespace kube-system"), 1u);
}

}  // namespace
}  // namespace hookd::app
