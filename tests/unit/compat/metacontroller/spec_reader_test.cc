#include "compat/metacontroller/spec_reader.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "unit/support/scratch_folder.h"

namespace hookd::metacontroller {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

std::string composite(std::string_view spec) {
  return fmt::format(
      R"({{"apiVersion":"metacontroller.k8s.io/v1alpha1","kind":"CompositeController",
          "metadata":{{"name":"catset","uid":"u1","generation":3,"resourceVersion":"7"}},"spec":{{{}}}}})",
      spec);
}
const std::string kParent = R"("parentResource":{"apiVersion":"ctl.example.com/v1","resource":"catsets"})";
const std::string kSync = R"("hooks":{"sync":{"webhook":{"url":"http://hooks.shop/sync"}}})";

std::shared_ptr<const ControllerSpec> good(const std::string& text, ControllerKind kind = ControllerKind::kComposite,
                                           const SpecReaderOptions& options = {}) {
  auto spec = read_controller(text, kind, options);
  EXPECT_TRUE(spec) << (spec ? "" : spec.error().what);
  return spec ? *spec : std::make_shared<ControllerSpec>();
}
std::string error_of(std::string_view spec, const SpecReaderOptions& options = {}) {
  auto read = read_controller(composite(spec), ControllerKind::kComposite, options);
  return read ? "" : read.error().what;
}
// Of a sync webhook with `fields` beside its URL.
std::string webhook_error(std::string_view fields) {
  return error_of(fmt::format(R"({},"hooks":{{"sync":{{"webhook":{{"url":"https://h/s",{}}}}}}})", kParent, fields));
}

TEST(ReadController, AGuardStandsInAnAnnotation) {
  const auto read = [](const std::string& guard) {
    std::string text = composite(kParent + "," + kSync);
    text.insert(text.find("\"name\""), fmt::format(R"("annotations":{{"a":"b","hookd.dev/guard":"{}"}},)", guard));
    return read_controller(text, ControllerKind::kComposite, {});
  };
  const auto both = read("deletes=20/1m, writes=600/1h");
  ASSERT_TRUE(both) << both.error().what;
  EXPECT_EQ((*both)->guard, (hook::Guard{hook::Guard::Rate{20, 1min}, hook::Guard::Rate{600, 1h}}));
  EXPECT_EQ((*read("none"))->guard, hook::Guard());
  EXPECT_EQ(good(composite(kParent + "," + kSync))->guard, std::nullopt);
  EXPECT_THAT(read("").error().what, HasSubstr("metadata.annotations[\"hookd.dev/guard\"]: \"\": expected deletes="));
  EXPECT_THAT(read("deletes=1/1m,").error().what, HasSubstr("expected deletes="));
  EXPECT_THAT(read("deletes=1/1m,deletes=2/1m").error().what, HasSubstr("twice"));
  EXPECT_THAT(read("delete=1/1m").error().what, HasSubstr("expected deletes="));
  EXPECT_THAT(read("writes=many/1m").error().what, HasSubstr("\"many\" is no number"));
}

TEST(ReadController, TheLeastHasUpstreamsDefaults) {
  const auto spec = good(composite(kParent + "," + kSync));
  EXPECT_EQ(spec->name, "catset");
  EXPECT_EQ(spec->uid, "u1");
  EXPECT_EQ(spec->generation, 3);
  EXPECT_EQ(spec->finalizer(), "metacontroller.io/compositecontroller-catset");
  ASSERT_EQ(spec->parents.size(), 1u);
  EXPECT_EQ(spec->parents[0].api_version, "ctl.example.com/v1");
  EXPECT_FALSE(spec->parents[0].label_selector);
  EXPECT_THAT(spec->revision_field_paths, ElementsAre("spec"));
  EXPECT_EQ(spec->resync, Duration::zero());
  ASSERT_TRUE(spec->sync);
  EXPECT_EQ(spec->sync->version, HookVersion::kV1);
  EXPECT_EQ(spec->sync->unmarshal, Unmarshal::kLoose);
  EXPECT_EQ(spec->sync->webhook->timeout, 10s);
  EXPECT_FALSE(spec->finalize);
  EXPECT_TRUE(spec->warnings.empty());
}

TEST(ReadController, EveryFieldOfACompositeController) {
  const auto spec = good(composite(R"(
    "parentResource":{"apiVersion":"ctl.example.com/v1","resource":"catsets","ignoreStatusChanges":true,
      "labelSelector":{"matchLabels":{"a":"b"}},"revisionHistory":{"fieldPaths":["spec.template"]}},
    "childResources":[
      {"apiVersion":"v1","resource":"pods","updateStrategy":{"method":"RollingRecreate","statusChecks":{"conditions":[
        {"type":"Ready","status":"True"},{"type":"Sound","reason":"Fine"}]}}},
      {"apiVersion":"v1","resource":"persistentvolumeclaims"}],
    "resyncPeriodSeconds":0,"generateSelector":true,
    "hooks":{
      "sync":{"version":"v2","webhook":{"service":{"name":"hooks","namespace":"shop","port":8443,"protocol":"https"},
        "path":"/sync","timeout":"2m","etag":{"enabled":true,"cacheTimeoutSeconds":60}}},
      "finalize":{"webhook":{"url":"http://h/f","responseUnMarshallMode":"strict","timeout":"-1s"}},
      "customize":{"version":"v2","webhook":{"url":"http://h/c","responseUnMarshallMode":"loose","timeout":"0s"}},
      "preUpdateChild":{"webhook":{"url":"http://h/x"}}})"));
  EXPECT_TRUE(spec->parents[0].ignore_status_changes);
  EXPECT_EQ(spec->parents[0].label_selector->to_string(), "a=b");
  EXPECT_THAT(spec->revision_field_paths, ElementsAre("spec.template"));
  ASSERT_EQ(spec->children.size(), 2u);
  EXPECT_EQ(spec->children[0].method, UpdateMethod::kRollingRecreate);
  ASSERT_EQ(spec->children[0].checks.size(), 2u);
  EXPECT_EQ(spec->children[0].checks[0].status, "True");
  EXPECT_FALSE(spec->children[0].checks[0].reason);
  EXPECT_EQ(spec->children[0].checks[1].reason, "Fine");
  EXPECT_EQ(spec->children[1].method, UpdateMethod::kOnDelete);
  EXPECT_TRUE(spec->rolls());
  EXPECT_EQ(spec->resync, 1s);
  EXPECT_TRUE(spec->generate_selector);
  EXPECT_EQ(spec->sync->version, HookVersion::kV2);
  EXPECT_EQ(spec->sync->unmarshal, Unmarshal::kStrict) << "the default of v2";
  EXPECT_EQ(spec->sync->webhook->url, "https://hooks.shop:8443/sync");
  EXPECT_EQ(spec->sync->webhook->timeout, 2min);
  EXPECT_TRUE(spec->sync->webhook->etag);
  EXPECT_EQ(spec->sync->webhook->etag_timeout, 60s);
  EXPECT_EQ(spec->finalize->unmarshal, Unmarshal::kStrict);
  EXPECT_EQ(spec->finalize->webhook->timeout, 10s);
  EXPECT_EQ(spec->customize->unmarshal, Unmarshal::kLoose);
  EXPECT_EQ(spec->customize->webhook->timeout, 10s);
  EXPECT_THAT(spec->warnings, ElementsAre(HasSubstr("preUpdateChild: is never called")));
}

TEST(ReadController, OfTwoRulesForOneKindTheLastWins) {
  const auto spec = good(
      R"({"metadata":{"name":"d"},"spec":{"resources":[
        {"apiVersion":"apps/v1","resource":"statefulsets","annotationSelector":{"matchAnnotations":{"a":"1"}}},
        {"apiVersion":"v1","resource":"pods"},
        {"apiVersion":"apps/v1beta1","resource":"statefulsets","annotationSelector":{"matchExpressions":[
          {"key":"b","operator":"Exists"}]}}],
        "attachments":[{"apiVersion":"v1","resource":"services"}],)" +
          kSync + "}}",
      ControllerKind::kDecorator);
  ASSERT_EQ(spec->parents.size(), 2u);
  EXPECT_EQ(spec->parents[0].api_version, "apps/v1beta1");
  EXPECT_EQ(spec->parents[0].annotation_selector->to_string(), "b");
  EXPECT_EQ(spec->finalizer(), "metacontroller.io/decoratorcontroller-d");
  EXPECT_THAT(spec->warnings, ElementsAre(HasSubstr("spec.resources[2]: a second rule for statefulsets")));
}

TEST(ReadController, ErrorsNameTheField) {
  EXPECT_EQ(error_of(kSync), "spec.parentResource: is missing");
  EXPECT_THAT(error_of(kParent + R"(,"hooks":null)"), HasSubstr("spec.hooks: is missing"));
  EXPECT_THAT(error_of(R"("parentResource":{"apiVersion":"a/v1","resource":"CatSet"},)" + kSync),
              HasSubstr("spec.parentResource.resource: \"CatSet\": expected the plural in lower case"));
  EXPECT_THAT(error_of(kParent + R"(,"childResources":[{"apiVersion":"v1","resource":"pods"},
                       {"apiVersion":"v1","resource":"x","updateStrategy":{"method":"Sometimes"}}],)" +
                       kSync),
              HasSubstr("spec.childResources[1].updateStrategy.method: \"Sometimes\""));
  EXPECT_THAT(error_of(kParent + R"(,"hooks":{"sync":{"webhook":{}}})"),
              HasSubstr("spec.hooks.sync.webhook: expected url or service"));
  EXPECT_THAT(error_of(kParent + R"(,"hooks":{"sync":{"version":"v3","webhook":{"url":"http://h"}}})"),
              HasSubstr("spec.hooks.sync.version: expected v1 or v2"));
  EXPECT_THAT(webhook_error(R"("timeout":"soon")"), HasSubstr("spec.hooks.sync.webhook.timeout"));
  EXPECT_THAT(error_of(kParent + R"(,"hooks":{"sync":{"webhook":{"service":{"name":"../x","namespace":"a"}}}})"),
              HasSubstr("service.name: \"../x\" is no name"));
  EXPECT_FALSE(read_controller("[]", ControllerKind::kComposite));
  EXPECT_FALSE(read_controller("{", ControllerKind::kComposite));
  EXPECT_FALSE(read_controller(R"({"metadata":{"name":"x"}})", ControllerKind::kDecorator));
}

TEST(ReadController, AHookWithoutAWayToCallItIsAsIfItWereNotThere) {
  const auto spec = good(composite(kParent + R"(,"hooks":{"sync":{"webhook":{"url":"http://h"}},"finalize":{}})"));
  EXPECT_FALSE(spec->finalize);
  EXPECT_THAT(spec->warnings, ElementsAre(HasSubstr("spec.hooks.finalize: has no webhook")));
}

TEST(ReadController, AuthorizationIsOneKindAndNeverBasic) {
  EXPECT_THAT(webhook_error(R"("authorization":{"type":"Basic","secretRef":{"name":"a","namespace":"b","key":"c"}})"),
              HasSubstr("use basicAuth"));
  EXPECT_THAT(webhook_error(R"("authorization":{"secretRef":{"name":"a","namespace":"b","key":"c"}},
                               "basicAuth":{"secretRef":{"name":"a","namespace":"b"}})"),
              HasSubstr("cannot stand together"));
  EXPECT_THAT(webhook_error(R"("caBundle":{"inline":"x","secretRef":{"name":"a","namespace":"b"}})"),
              HasSubstr("exactly one of inline"));
  EXPECT_THAT(webhook_error(R"("caBundle":{"secretRef":{"name":"a"}})"),
              HasSubstr("caBundle.secretRef.namespace: is missing"));
}

TEST(ReadController, EndpointConfigsCountByHostUnlessTheWebhookHasItsOwn) {
  const auto spec = good(composite(kParent + R"(,
    "endpointConfigs":[{"host":"Hooks.Shop","basicAuth":{"secretRef":{"name":"first","namespace":"n"}}},
                       {"host":"hooks.shop","basicAuth":{"secretRef":{"name":"second","namespace":"n"}}}],
    "hooks":{"sync":{"webhook":{"service":{"name":"hooks","namespace":"shop"}}},
             "finalize":{"webhook":{"url":"https://hooks.shop/f","caBundle":{"inline":"pem"}}},
             "customize":{"webhook":{"url":"https://hooks.shop:8443/c"}}})"));
  EXPECT_EQ(spec->sync->webhook->auth.basic.name, "first");
  EXPECT_EQ(spec->finalize->webhook->auth.basic.name, "") << "no merge of fields";
  EXPECT_TRUE(spec->customize->webhook->auth.empty()) << "another port";
}

TEST(EndpointFits, CaseAndDefaultPortsDoNotCount) {
  EXPECT_TRUE(endpoint_fits("hooks.shop", "http://HOOKS.shop:80/sync?x=1"));
  EXPECT_TRUE(endpoint_fits("hooks.shop:443", "https://hooks.shop/"));
  EXPECT_TRUE(endpoint_fits("hooks.shop:8443", "https://user@hooks.shop:8443"));
  EXPECT_FALSE(endpoint_fits("hooks.shop", "https://hooks.shop:8443"));
  EXPECT_FALSE(endpoint_fits("hooks", "https://hooks.shop"));
}

class Commands : public testing::Test {
 protected:
  Commands() {
    std::filesystem::create_directory(folder + "/in");
    std::ofstream(folder + "/in/sync.sh") << "#!/bin/sh\n";
    std::ofstream(folder + "/out.sh") << "#!/bin/sh\n";
    std::filesystem::create_symlink(folder + "/out.sh", folder + "/in/link.sh");
  }
  std::string error(std::string_view command, bool allowed = true) {
    return error_of(fmt::format(R"({},"hooks":{{"sync":{{"exec":{{"command":["{}"]}}}}}})", kParent, command),
                    {allowed ? folder + "/in" : ""});
  }
  const test::ScratchFolder scratch;
  const std::string& folder = scratch.path();
};

TEST_F(Commands, AreRefusedUnlessTheDaemonAllowsAFolder) {
  EXPECT_THAT(error("sync.sh", false), HasSubstr("metacontroller.execFolder"));
}

TEST_F(Commands, RunOnlyFromBelowThatFolder) {
  EXPECT_EQ(error("sync.sh"), "");
  EXPECT_EQ(error(folder + "/in/sync.sh"), "");
  EXPECT_THAT(error("../out.sh"), HasSubstr("lies outside"));
  EXPECT_THAT(error("link.sh"), HasSubstr("lies outside")) << "a link does not lead out of it";
  EXPECT_THAT(error("/bin/sh"), HasSubstr("lies outside"));
  EXPECT_THAT(error("."), HasSubstr("lies outside"));
  EXPECT_THAT(error("missing.sh"), HasSubstr("No such file"));
}

TEST_F(Commands, AWorkerHasItsSettings) {
  const auto spec = good(composite(kParent + R"(,"hooks":{"sync":{"version":"v2","worker":
    {"command":["sync.sh","-x"],"workers":2,"callsAtOnce":3,"ready":"line","timeout":"1m"}}})"),
                         ControllerKind::kComposite, {folder + "/in"});
  const auto& run = spec->sync->command.value();
  EXPECT_EQ(run.mode, hook::Run::Mode::kWorker);
  EXPECT_THAT(run.command, ElementsAre(std::filesystem::canonical(folder + "/in/sync.sh").string(), "-x"));
  EXPECT_EQ(run.worker.processes, 2);
  EXPECT_EQ(run.worker.calls_at_once, 3);
  EXPECT_TRUE(run.worker.says_ready);
  EXPECT_EQ(run.timeout, 1min);
}

}  // namespace
}  // namespace hookd::metacontroller
