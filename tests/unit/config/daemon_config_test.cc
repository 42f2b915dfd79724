#include "config/daemon_config.h"

#include <gmock/gmock.h>

#include <map>

#include "base/fd.h"
#include "unit/support/scratch_folder.h"

namespace hookd::config {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

EnvLookup env(std::map<std::string, std::string> values) {
  return [values](const std::string& name) -> std::optional<std::string> {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
}

class DaemonConfigTest : public testing::Test {
 protected:
  std::string write(std::string_view text) const { return folder_.file("hookd.yaml", text); }
  const test::ScratchFolder folder_;
};

TEST_F(DaemonConfigTest, HasDefaults) {
  const auto config = load_daemon_config("", env({}));
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_THAT(config->hooks, ElementsAre());
  EXPECT_EQ(config->listen, ":9115");
  EXPECT_EQ(config->concurrency, 16);
  EXPECT_EQ(config->answer_limit_bytes, 32u << 20);
  EXPECT_EQ(config->grace, 30s);
  EXPECT_TRUE(config->reload);
  EXPECT_EQ(config->kube.page_size, 500);
  EXPECT_FALSE(config->log_format);
}

TEST(DaemonConfig, MistypedVariableIsAnError) {
  const auto told = [](std::vector<std::string> variables) {
    const auto checked = check_variable_names(variables);
    return checked ? std::string() : checked.error().what;
  };
  EXPECT_EQ(told({"HOOKD_DRYRUN=1"}), "HOOKD_DRYRUN: there is no such setting; did you mean HOOKD_DRY_RUN?");
  EXPECT_THAT(told({"HOOKD_STIRCT=1", "HOOKD_LOGLEVEL="}),
              testing::AllOf(HasSubstr("HOOKD_STRICT?"), HasSubstr("HOOKD_LOG_LEVEL?")));
  EXPECT_EQ(told({"HOOKD_DRY_RUN=1", "HOOKD_CONFIG=/f", "HOOKD=1", "DRYRUN=1"}), "");
  // What Kubernetes sets for a Service named hookd, what a hook is told, and what is like no setting.
  EXPECT_EQ(told({"HOOKD_PORT=tcp://10.0.0.1:9115", "HOOKD_PORT_9115_TCP=x", "HOOKD_PORT_9115_TCP_ADDR=x",
                  "HOOKD_PORT_9115_TCP_PORT=x", "HOOKD_PORT_9115_TCP_PROTO=x", "HOOKD_SERVICE_HOST=x",
                  "HOOKD_SERVICE_PORT=x", "HOOKD_SERVICE_PORT_HTTP=x"}),
            "");
  EXPECT_EQ(told({"HOOKD_STATE_PORT=tcp://10.0.0.1:80", "HOOKD_KUBE_PORT=x", "HOOKD_KUBE_SERVICE_PORT=x"}), "");
  EXPECT_EQ(told({"HOOKD_HOOK=a", "HOOKD_BINDING=a", "HOOKD_CALL_ID=a", "HOOKD_ATTEMPT=1", "HOOKD_ANSWER=/a",
                  "HOOKD_MODE=worker", "HOOKD_CHILD_ID=a"}),
            "");
  EXPECT_EQ(told({"HOOKD_IMAGE=x", "HOOKD_BIN=x", "HOOKD_SERVER=embedded", "HOOKD_TEST_KEEP=1"}), "");
}

TEST_F(DaemonConfigTest, MetacontrollerIsASwitchOrAMap) {
  const auto read = [&](const std::string& text, std::map<std::string, std::string> variables = {}) {
    return load_daemon_config(text.empty() ? "" : write(text), env(std::move(variables)));
  };
  EXPECT_FALSE(read("")->metacontroller.enabled);
  EXPECT_TRUE(read("metacontroller: true")->metacontroller.enabled);
  EXPECT_TRUE(read("", {{"HOOKD_METACONTROLLER", "1"}})->metacontroller.enabled);
  EXPECT_TRUE(read("metacontroller: {}")->metacontroller.enabled);
  const auto whole = read(
      "metacontroller: {applyStrategy: server-side-apply, ssaFieldManager: me, targetLabelSelector: a=b, workers: 7,"
      " execFolder: programs, builtInParents: true, guard: {deletes: 20/1m}}",
      {{"HOOKD_METACONTROLLER", "true"}});
  ASSERT_TRUE(whole) << whole.error().what;
  const auto& map = whole->metacontroller;
  EXPECT_TRUE(map.enabled && map.server_side_apply && map.built_in_parents);
  EXPECT_EQ(map.ssa_field_manager, "me");
  EXPECT_EQ(map.target_label_selector, "a=b");
  EXPECT_EQ(map.workers, 7);
  EXPECT_EQ(map.guard, (Guard{Guard::Rate{20, std::chrono::minutes(1)}, std::nullopt}));
  EXPECT_THAT(read("metacontroller: {guard: {deletes: 20}}").error().what,
              HasSubstr("metacontroller.guard.deletes: \"20\" does not say within which time"));
  EXPECT_EQ(map.exec_folder, folder_.path("programs"));
  EXPECT_FALSE(read("metacontroller: {workers: 7}", {{"HOOKD_METACONTROLLER", "false"}})->metacontroller.enabled);
  EXPECT_THAT(read("metacontroller: maybe").error().what, HasSubstr("metacontroller"));
  EXPECT_THAT(read("metacontroller: {worker: 1}").error().what, HasSubstr("did you mean \"workers\""));
}

// The sample shows every default, so reading it must change nothing but the folder it names.
TEST_F(DaemonConfigTest, TheSampleIsTheDefaults) {
  const auto sample = load_daemon_config(HOOKD_SOURCE_DIR "/config/hookd.yaml", env({}));
  ASSERT_TRUE(sample) << sample.error().what;
  const DaemonConfig defaults;
  EXPECT_THAT(sample->hooks, ElementsAre("/etc/hookd/hooks"));
  EXPECT_EQ(sample->kubeconfig, defaults.kubeconfig);
  EXPECT_EQ(sample->context, defaults.context);
  EXPECT_EQ(sample->strict, defaults.strict);
  EXPECT_EQ(sample->listen, defaults.listen);
  EXPECT_EQ(sample->log_level, defaults.log_level);
  EXPECT_EQ(sample->log_format, defaults.log_format);
  EXPECT_EQ(sample->dry_run, defaults.dry_run);
  EXPECT_EQ(sample->once, defaults.once);
  EXPECT_EQ(sample->concurrency, defaults.concurrency);
  EXPECT_EQ(sample->answer_limit_bytes, defaults.answer_limit_bytes);
  EXPECT_EQ(sample->grace, defaults.grace);
  EXPECT_EQ(sample->reload, defaults.reload);
  EXPECT_EQ(sample->kube.qps, defaults.kube.qps);
  EXPECT_EQ(sample->kube.burst, defaults.kube.burst);
  EXPECT_EQ(sample->kube.compression, defaults.kube.compression);
  EXPECT_EQ(sample->kube.page_size, defaults.kube.page_size);
}

TEST_F(DaemonConfigTest, TheEnvironmentOverridesTheFile) {
  const std::string path = write(
      "hooks: [a, /b]\nlisten: none\nconcurrency: 3\nlog: {level: warn, format: json}\nkube: {qps: 0, burst: 7}\n");
  auto config = load_daemon_config(path, env({}));
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_THAT(config->hooks, ElementsAre(folder_.path("a"), "/b")) << "from the file's folder";
  EXPECT_EQ(config->listen, "");
  EXPECT_EQ(config->log_level, log::Level::kWarn);
  EXPECT_EQ(config->log_format, log::Format::kJson);
  config = load_daemon_config(path, env({{"HOOKD_HOOKS", "c:/d"},
                                         {"HOOKD_LISTEN", "127.0.0.1:80"},
                                         {"HOOKD_STRICT", "1"},
                                         {"HOOKD_LOG_LEVEL", "debug"},
                                         {"HOOKD_LOG_FORMAT", "auto"},
                                         {"HOOKD_GRACE", "5m"},
                                         {"HOOKD_KUBE_QPS", "2.5"},
                                         {"HOOKD_ANSWER_LIMIT", "1Gi"},
                                         {"HOOKD_CONTEXT", ""},
                                         {"HOOKD_RELOAD", "false"}}));
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_THAT(config->hooks, ElementsAre("c", "/d"));
  EXPECT_EQ(config->listen, "127.0.0.1:80");
  EXPECT_TRUE(config->strict);
  EXPECT_EQ(config->log_level, log::Level::kDebug);
  EXPECT_FALSE(config->log_format);
  EXPECT_EQ(config->grace, 5min);
  EXPECT_EQ(config->kube.qps, 2.5);
  EXPECT_EQ(config->kube.burst, 7) << "not in the environment: as in the file";
  EXPECT_EQ(config->answer_limit_bytes, 1u << 30);
  EXPECT_FALSE(config->reload);
}

TEST_F(DaemonConfigTest, ShowsEveryProblemOfFileAndEnvironment) {
  const std::string path = write("hook: [a]\nstrict: on\nlisten: here\nkube: {pagesize: 5}\n");
  const auto config = load_daemon_config(
      path, env({{"HOOKD_CONCURRENCY", "many"}, {"HOOKD_LOG_LEVEL", "loud"}, {"HOOKD_KUBE_BURST", "0"}}));
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, Errc::kConfig);
  EXPECT_EQ(config.error().what,
            path + ":1:1: unknown key \"hook\"; did you mean \"hooks\"?\n" + path +
                ":2:9: strict: \"on\" is text in YAML 1.2; write true or false\n" + path +
                ":3:9: listen: \"here\" is no address to listen on; write :9115, 127.0.0.1:9115, [::1]:9115 or none\n" +
                path +
                ":4:8: kube: unknown key \"pagesize\"; did you mean \"pageSize\"?\n"
                "HOOKD_LOG_LEVEL: expected one of debug, error, info, warn, found \"loud\"\n"
                "HOOKD_CONCURRENCY: expected a whole number from 1 to 1000, found text \"many\"\n"
                "HOOKD_KUBE_BURST: expected a whole number from 1 to 100000, found the number 0");
}

TEST_F(DaemonConfigTest, TakesTheControlSocketAndHowManyRunsAreKept) {
  auto config = load_daemon_config("", env({}));
  EXPECT_FALSE(config->control);
  const std::string path = write("control: c.sock\nruns: {keep: 5, bytes: 1Mi}\n");
  config = load_daemon_config(path, env({}));
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_EQ(config->control, folder_.path("c.sock"));
  EXPECT_EQ(config->runs_keep, 5);
  EXPECT_EQ(config->runs_bytes, 1u << 20);
  config =
      load_daemon_config(path, env({{"HOOKD_CONTROL", "off"}, {"HOOKD_RUNS_KEEP", "0"}, {"HOOKD_RUNS_BYTES", "2Mi"}}));
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_EQ(config->control, "");
  EXPECT_EQ(config->runs_keep, 0);
  EXPECT_EQ(config->runs_bytes, 2u << 20);
  EXPECT_FALSE(load_daemon_config(write("runs: {keep: -1}\n"), env({})));
}

TEST_F(DaemonConfigTest, AMissingFileIsAnErrorAndAnEmptyOneIsNot) {
  EXPECT_EQ(load_daemon_config(folder_.path("gone.yaml"), env({})).error().code, Errc::kNotFound);
  EXPECT_TRUE(load_daemon_config(write("# nothing\n"), env({})));
  EXPECT_FALSE(load_daemon_config(write("a: 1\n---\nb: 1\n"), env({})));
}

TEST_F(DaemonConfigTest, StateIsKeptInOnePlace) {
  const auto folder = load_daemon_config(write("stateDir: state\n"), env({}));
  ASSERT_TRUE(folder) << folder.error().what;
  EXPECT_EQ(folder->state_dir, folder_.path("state")) << "against the file's folder";
  const auto place = load_daemon_config(write("state: {configMap: hookd/kept.v1}\n"), env({}));
  ASSERT_TRUE(place) << place.error().what;
  EXPECT_EQ(place->state_config_map, "hookd/kept.v1");
  const auto both = load_daemon_config(write("stateDir: s\nstate: {configMap: a/b}\n"), env({}));
  ASSERT_FALSE(both);
  EXPECT_THAT(both.error().what, HasSubstr("state.configMap: stands beside stateDir"));
  for (const char* bad : {"kept", "a/", "/b", "A/b", "a/b/c", "a_b/c"}) {
    const auto wrong = load_daemon_config(write(fmt::format("state: {{configMap: {}}}\n", bad)), env({}));
    ASSERT_FALSE(wrong) << bad;
    EXPECT_THAT(wrong.error().what, HasSubstr("expected NAMESPACE/NAME"));
  }
  // The environment takes the place of the file, also of the other key.
  const auto over = load_daemon_config(write("stateDir: s\n"), env({{"HOOKD_STATE_CONFIG_MAP", "a/b"}}));
  ASSERT_TRUE(over) << over.error().what;
  EXPECT_EQ(over->state_dir, "");
  EXPECT_EQ(over->state_config_map, "a/b");
  const auto none = load_daemon_config(write("stateDir: s\n"), env({{"HOOKD_STATE_DIR", "none"}}));
  ASSERT_TRUE(none) << none.error().what;
  EXPECT_EQ(none->state_dir, "");
}

TEST(ParseListen, TakesTheUsualForms) {
  EXPECT_EQ(parse_listen("9115"), ":9115");
  EXPECT_EQ(parse_listen(":0"), ":0");
  EXPECT_EQ(parse_listen("[::1]:80"), "[::1]:80");
  EXPECT_EQ(parse_listen("host:80"), "host:80");
  EXPECT_EQ(parse_listen("none"), "");
  for (const char* text : {"", ":", "host", "::1:80", ":70000", "a b:1", "http://x:1"})
    EXPECT_FALSE(parse_listen(text)) << text;
}

}  // namespace
}  // namespace hookd::config
