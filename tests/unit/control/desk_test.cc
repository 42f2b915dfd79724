#include "control/desk.h"

#include <gmock/gmock.h>

#include "base/json_read.h"
#include "control/paths.h"
#include "unit/support/engine_world.h"

namespace hookd::control {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;

class DeskTest : public testing::Test, protected test::EngineWorld {
 protected:
  DeskTest() {
    options.observer = &history;
    cluster.serve(test::pods());
    const auto hook = make_hook("alpha", "/hooks/alpha/hook.yaml");
    hook->run.env = {{"API_TOKEN", "tok-4711"}};
    hook->retry.attempts = 1;
    watch_pods(*hook);
    loaded.hooks.push_back(hook);
    loaded.errors.push_back({"/hooks/beta/hook.yaml", 3, 7, "spec: tok-4711 is no key"});
    engine = start_engine();
    look.server = "http://cluster";
    desk.emplace(Subject{*engine, history, [this] { return look; }, [this](std::string_view why) { reloaded = why; }});
  }

  void pod(std::string_view name) { EngineWorld::pod(name, fmt::format("u-{}", name)); }
  net::ServerResponse asked(std::string method, std::string path, std::string query = "") {
    net::ServerRequest request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.query = std::move(query);
    auto response = desk->answer(request);
    EXPECT_TRUE(validate_json(response.body)) << response.body;
    EXPECT_THAT(response.body, Not(HasSubstr("tok-4711")));
    return response;
  }
  boost::json::object get(std::string path, std::string query = "") {
    const auto response = asked("GET", std::move(path), std::move(query));
    EXPECT_EQ(response.status, 200) << response.body;
    return parse_json(response.body)->as_object();
  }

  RunHistory history{scheduler, {}};
  app::DaemonLook look;
  std::string reloaded;
  std::unique_ptr<app::Engine> engine;
  std::optional<Desk> desk;
};

TEST_F(DeskTest, TellsTheStatus) {
  pod("x");
  look.degraded = {"tok-4711"};
  const auto status = get(kStatusPath);
  EXPECT_EQ(status.at("server").as_string(), "http://cluster");
  const auto& hook = status.at("hooks").as_array().at(0).as_object();
  EXPECT_EQ(hook.at("name").as_string(), "alpha");
  EXPECT_EQ(hook.at("calls").as_object().at("ok").as_int64(), 1);
  EXPECT_EQ(status.at("watches").as_array().size(), 1u);
  const auto& broken = status.at("broken").as_array().at(0).as_object();
  EXPECT_EQ(broken.at("line").as_int64(), 3);
  EXPECT_EQ(broken.at("message").as_string(), "spec: (masked) is no key");
}

TEST_F(DeskTest, ShowsRetriesAndDropsWhatIsParked) {
  exit_code = 1;
  pod("x");
  auto rows = get(kQueuePath, "hook=alpha").at("rows").as_array();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].as_object().at("state").as_string(), "parked");
  const std::string id(rows[0].as_object().at("id").as_string());

  EXPECT_EQ(asked("POST", kRetryPath, "hook=alpha").status, 400);  // which?
  const auto none = asked("POST", kRetryPath, "hook=alpha&what=nothing");
  EXPECT_EQ(none.status, 404);
  EXPECT_THAT(none.body, HasSubstr("nothing of alpha"));
  EXPECT_THAT(asked("POST", kRetryPath, "hook=alpha&what=" + id).body, HasSubstr("{\"retried\":1}"));
  scheduler.advance(0s);
  EXPECT_EQ(launcher.started.size(), 2u);
  EXPECT_THAT(asked("POST", kDropPath, "hook=alpha&all=1").body, HasSubstr("{\"dropped\":1}"));
  EXPECT_TRUE(get(kQueuePath).at("rows").as_array().empty());
  EXPECT_EQ(log.count("told over the control socket"), 4u);
}

TEST_F(DeskTest, PausesAndResumes) {
  EXPECT_THAT(asked("POST", kPausePath, "hook=alpha&reason=a%20look").body, HasSubstr("\"paused\":\"a look\""));
  pod("x");
  EXPECT_EQ(launcher.started.size(), 0u);
  EXPECT_EQ(get(kHookPath, "hook=alpha").at("state").as_string(), "paused");
  EXPECT_EQ(asked("POST", kResumePath, "hook=alpha").status, 200);
  scheduler.advance(0s);
  EXPECT_EQ(launcher.started.size(), 1u);
  EXPECT_EQ(asked("POST", kResumePath, "hook=alpha").status, 409);
  EXPECT_EQ(asked("POST", kPausePath, "hook=alpha&reason=" + std::string(1001, 'x')).status, 400);
}

TEST_F(DeskTest, ShowsCallsAndTheirInput) {
  pod("x");
  const auto runs = get(kRunsPath, "hook=alpha&limit=5").at("runs").as_array();
  ASSERT_EQ(runs.size(), 1u);
  const std::string id(runs[0].as_object().at("id").as_string());
  EXPECT_EQ(get(kRunPath, "id=" + id).at("about").as_string(), "Added pods a/x");
  // What the hook really got.
  EXPECT_EQ(get(kInputPath, "id=" + id).at("id").as_string(), id);
  EXPECT_TRUE(get(kRunsPath, "failed=1").at("runs").as_array().empty());
  EXPECT_EQ(asked("GET", kRunPath, "id=none").status, 404);
  EXPECT_EQ(asked("GET", kRunPath).status, 404);
}

TEST_F(DeskTest, DoesNotGiveAnInputThatIsNotWhole) {
  cluster.put(test::pods(),
              test::object_json(test::pods(), "a", "x", "u", "", "\"d\":\"" + std::string(100'000, 'x') + "\""));
  scheduler.advance(0s);
  const auto runs = get(kRunsPath).at("runs").as_array();
  const auto answer = asked("GET", kInputPath, "id=" + std::string(runs.at(0).as_object().at("id").as_string()));
  EXPECT_EQ(answer.status, 409);
  EXPECT_THAT(answer.body, HasSubstr("too large"));
}

TEST_F(DeskTest, Reloads) {
  look.config_problem = "bad";
  const auto answer = asked("POST", kReloadPath);
  EXPECT_EQ(reloaded, "hookd reload");
  EXPECT_THAT(answer.body, HasSubstr(R"("broken":1,"configProblem":"bad","needsRestart":[])"));
}

TEST_F(DeskTest, SaysWhatIsWrongWithAQuestion) {
  EXPECT_THAT(asked("GET", kHookPath, "hook=alpa").body, HasSubstr("did you mean \\\"alpha\\\""));
  EXPECT_THAT(asked("GET", kHookPath, "hook=beta").body, HasSubstr("/hooks/beta/hook.yaml:3:7"));
  EXPECT_EQ(asked("GET", kHookPath).status, 400);
  EXPECT_EQ(asked("GET", kQueuePath, "hook=x").status, 404);
  EXPECT_EQ(asked("GET", kRunsPath, "hook=x").status, 404);
  EXPECT_EQ(asked("GET", "/v1/nothing").status, 404);
  EXPECT_EQ(asked("GET", kPausePath, "hook=alpha").status, 405);
  EXPECT_EQ(asked("POST", kStatusPath).status, 405);
  EXPECT_EQ(asked("GET", kRunsPath, "limit=0").status, 400);
  EXPECT_EQ(asked("GET", kRunsPath, "limit=x").status, 400);
  EXPECT_EQ(asked("GET", kRunsPath, "hook=%4").status, 400);
  EXPECT_EQ(asked("GET", kRunsPath, "hook=%zz").status, 400);
}

}  // namespace
}  // namespace hookd::control
