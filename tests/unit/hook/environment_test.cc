#include "hook/environment.h"

#include <gmock/gmock.h>

namespace hookd::hook {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::Not;
using testing::StartsWith;

const std::vector<std::string> kDaemon{"PATH=/bin",
                                       "HOME=/root",
                                       "LANG=C",
                                       "SECRET=s",
                                       "EMPTY=",
                                       "HOOKD_CONFIG=/etc",
                                       "KUBECONFIG=/k",
                                       "NOTIFY_SOCKET=/n",
                                       "LISTEN_FDS=1",
                                       "CREDENTIALS_DIRECTORY=/c",
                                       "JOURNAL_STREAM=1:2",
                                       "KUBERNETES_SERVICE_HOST=10.0.0.1",
                                       "=odd",
                                       "noequals",
                                       "WITH=a=b"};

Hook a_hook() {
  Hook hook;
  hook.name = "h";
  return hook;
}

TEST(HookEnvironment, SaysWhatTheCallIs) {
  const auto env = hook_environment(a_hook(), {"id1", "stuck", 3, "/run/answer", "/run/kubeconfig"}, {});
  EXPECT_THAT(env,
              ElementsAre("HOOKD_ANSWER=/run/answer", "HOOKD_ATTEMPT=3", "HOOKD_BINDING=stuck", "HOOKD_CALL_ID=id1",
                          "HOOKD_HOOK=h", "KUBECONFIG=/run/kubeconfig", StartsWith("PATH=/")));
}

TEST(HookEnvironment, InheritsTheDaemonsButNotWhatIsTheDaemonsAlone) {
  const auto env = hook_environment(a_hook(), {}, kDaemon);
  for (const char* entry : {"PATH=/bin", "SECRET=s", "EMPTY=", "WITH=a=b", "KUBERNETES_SERVICE_HOST=10.0.0.1"})
    EXPECT_THAT(env, Contains(entry));
  for (const char* name : {"HOOKD_CONFIG=", "KUBECONFIG=", "NOTIFY_SOCKET=", "LISTEN_FDS=", "CREDENTIALS_DIRECTORY=",
                           "JOURNAL_STREAM=", "=", "noequals"})
    EXPECT_THAT(env, Each(Not(StartsWith(name)))) << name;
}

TEST(HookEnvironment, InheritEnvFalseKeepsOnlyWhatEveryProgramNeeds) {
  Hook hook = a_hook();
  hook.run.inherit_all = false;
  const auto env = hook_environment(hook, {}, kDaemon);
  EXPECT_THAT(env, Contains("PATH=/bin"));
  EXPECT_THAT(env, Contains("HOME=/root"));
  EXPECT_THAT(env, Each(Not(StartsWith("SECRET="))));
}

TEST(HookEnvironment, AnotherUserDoesNotGetTheDaemonsHome) {
  const auto home_of = [](const std::string& user, std::map<std::string, std::string> env) {
    Hook hook = a_hook();
    hook.run.user = user;
    hook.run.env = std::move(env);
    for (const std::string& entry : hook_environment(hook, {}, kDaemon))
      if (entry.starts_with("HOME=")) return entry;
    return std::string("none");
  };
  EXPECT_EQ(home_of("", {}), "HOME=/root");
  EXPECT_EQ(home_of("nobody", {}), "none");  // process/exec_shim sets it
  EXPECT_EQ(home_of("1000:1000", {{"HOME", "/srv"}}), "HOME=/srv");
  EXPECT_EQ(home_of(":1000", {}), "HOME=/root");  // only another group
}

TEST(HookEnvironment, AListNamesWhatIsInheritedBesides) {
  Hook hook = a_hook();
  hook.run.inherit_all = false;
  hook.run.inherit_only = {"SECRET", "HOOKD_CONFIG"};
  const auto env = hook_environment(hook, {}, kDaemon);
  EXPECT_THAT(env, Contains("SECRET=s"));
  EXPECT_THAT(env, Each(Not(StartsWith("WITH="))));
  EXPECT_THAT(env, Each(Not(StartsWith("HOOKD_CONFIG="))));
}

TEST(HookEnvironment, TheHooksOwnWinsOverTheDaemonsAndTheCallsOverBoth) {
  Hook hook = a_hook();
  hook.run.env = {{"SECRET", "mine"}, {"NEW", "x"}, {"HOOKD_HOOK", "forged"}, {"PATH", "/opt"}};
  const auto env = hook_environment(hook, {}, kDaemon);
  for (const char* entry : {"SECRET=mine", "NEW=x", "HOOKD_HOOK=h", "PATH=/opt"}) EXPECT_THAT(env, Contains(entry));
}

TEST(HookEnvironment, AKubeconfigOfTheHooksOwnHoldsWhereTheDaemonGivesNone) {
  Hook hook = a_hook();
  hook.run.env = {{"KUBECONFIG", "/mine"}};
  EXPECT_THAT(hook_environment(hook, {}, kDaemon), Contains("KUBECONFIG=/mine"));
}

TEST(OwnEnvironment, IsThatOfThisProcess) {
  ::setenv("HOOKD_TEST_MARK", "1", 1);
  EXPECT_THAT(own_environment(), Contains("HOOKD_TEST_MARK=1"));
  ::unsetenv("HOOKD_TEST_MARK");
}

}  // namespace
}  // namespace hookd::hook
