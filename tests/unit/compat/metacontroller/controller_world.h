// A controller at work on virtual time: its reconciler, a cluster in memory, webhooks that the test answers. Keys that
// are called wait in `called` until the test runs them.
#pragma once

#include <map>
#include <set>

#include "compat/metacontroller/controller_reconciler.h"
#include "compat/metacontroller/names.h"
#include "hook/pass_run.h"
#include "unit/compat/metacontroller/values.h"
#include "unit/support/hook_world.h"
#include "unit/support/scripted_transport.h"

namespace hookd::test {

inline kube::ResourceType catsets() { return make_type("ctl.example.com", "CatSet", "catsets"); }
inline kube::ResourceType config_maps() { return make_type("", "ConfigMap", "configmaps"); }
inline kube::ResourceType secrets() { return make_type("", "Secret", "secrets"); }
inline kube::ResourceType revisions() {
  auto type = make_type("metacontroller.k8s.io", "ControllerRevision", "controllerrevisions");
  type.version = "v1alpha1";
  return type;
}

struct ControllerTest : testing::Test, HookWorld {
  using Value = metacontroller::Value;

  ControllerTest() {
    for (const auto& type : {catsets(), config_maps(), secrets(), revisions(), make_type("", "Event", "events")})
      cluster.serve(type);
    cluster.keeps_writes = true;
    spec->name = "catset";
    spec->uid = "cc";
    spec->text = std::make_shared<const std::string>(R"({"metadata":{"name":"catset"}})");
    spec->parents.push_back({"ctl.example.com/v1", "catsets", std::nullopt, std::nullopt, false});
    spec->children.push_back({"v1", "configmaps", metacontroller::UpdateMethod::kInPlace, {}});
    spec->sync = webhook("sync");
    hook->name = "compositecontroller-catset";
  }

  static metacontroller::HookSpec webhook(const std::string& name) {
    metacontroller::HookSpec hook;
    hook.webhook.emplace();
    hook.webhook->url = "http://hooks/" + name;
    return hook;
  }

  void start(bool dry_run = false) {
    hook::ReconcilerServices services{
        scheduler, random,  pool,
        discovery, cluster, applier.events(),
        metrics,   nullptr, hook::CallerServices{scheduler, random, launcher, &transport, metrics}};
    services.dry_run = dry_run;
    services.emit = [this](const std::string& key, hook::Event event) {
      event.type = hook::Event::Type::kReconcile;
      event.binding = "reconcile";
      for (auto& cause : event.causes) causes.push_back(cause);
      auto& waiting = called[key];
      waiting.push_back(std::move(event));
    };
    reconciler = std::make_unique<metacontroller::ControllerReconciler>(spec, apply_options, hook, std::move(services));
    reconciler->start();
    settle();
  }
  void settle() { scheduler.advance(Duration::zero()); }

  // One pass of the key. `answers`: by the name of the webhook; kept for later passes.
  hook::Pass::Over run(const std::string& key) {
    begin(key);
    advance_run();
    EXPECT_TRUE(over) << "the pass waits for something";
    return over.value_or(hook::Pass::Over());
  }
  void begin(const std::string& key) {
    hook::Queue::Item item;
    item.key = key;
    hook::Event event;
    event.type = hook::Event::Type::kReconcile;
    if (const auto found = called.find(key); found != called.end()) {
      event = found->second.back();
      called.erase(found);
    }
    item.events = {event};
    over.reset();
    pass = std::make_unique<hook::PassRun>(*hook, runner, *reconciler, guard.get(), *reconciler->callers().front(),
                                           std::move(item),
                                           [this](auto*, auto, const hook::Pass::Over& how) { over = how; });
    pass->start();
  }
  // Goes on with what is begun until it ends, or waits for more than a webhook.
  void advance_run() {
    for (size_t rounds = 0; rounds < 100 && !over; ++rounds) {
      settle();
      bool answered = false;
      for (const auto& asked : std::vector(transport.asked))
        if (!asked->over) {
          answered = true;
          const std::string name = asked->request.url.substr(asked->request.url.rfind('/') + 1);
          const std::string body = asked->read_body();
          requests.emplace_back(name, body);
          const auto script = hooks.find(name);
          if (script == hooks.end())
            asked->answer(500, "no such hook");
          else if (const auto text = script->second(json(body)); text.starts_with('#'))
            asked->answer(std::stoi(text.substr(1)), "");
          else
            asked->answer(200, text);
        }
      if (!answered && !over) {
        settle();
        if (!over) return;
      }
    }
  }

  void make_parent(const std::string& name, std::string_view meta = "", std::string_view more = R"("spec":{})") {
    cluster.put(catsets(),
                object_json(catsets(), "a", name, "uid-" + name,
                            meta.empty() ? R"("generation":1)" : fmt::format(R"("generation":1,{})", meta), more));
    settle();
  }
  Value parent(const std::string& name = "p") { return json(cluster.object(catsets(), "a", name)); }
  // Requests to change something but Events, "PATCH catsets/p/status".
  std::vector<std::string> writes() {
    std::vector<std::string> all;
    for (const auto& request : cluster.written)
      if (request.path.find("/events") == std::string::npos)
        all.push_back(request.method + " " + request.path.substr(request.path.find("/a/") + 3));
    cluster.written.clear();
    return all;
  }
  // Messages of Events that were sent.
  std::vector<std::string> events() {
    settle();
    std::vector<std::string> all;
    for (const auto& request : cluster.written)
      if (request.path.find("/events") != std::string::npos && request.method == "POST")
        all.push_back(json(request.body).text_at({"reason"}) + ": " + json(request.body).text_at({"message"}));
    return all;
  }
  size_t asked(std::string_view name) const {
    return static_cast<size_t>(std::ranges::count_if(requests, [&](const auto& one) { return one.first == name; }));
  }
  void answer(const std::string& name, std::string text) {
    hooks[name] = [text = std::move(text)](const Value&) { return text; };
  }

  std::shared_ptr<metacontroller::ControllerSpec> spec = std::make_shared<metacontroller::ControllerSpec>();
  metacontroller::ApplyOptions apply_options;
  std::shared_ptr<hook::Hook> hook = std::make_shared<hook::Hook>();
  ScriptedTransport transport;
  hook::RunnerServices runner{scheduler, random, launcher, applier, metrics, options};
  std::map<std::string, std::function<std::string(const Value&)>> hooks;  // "#429" = that status
  std::vector<std::pair<std::string, std::string>> requests;              // webhook, document
  std::map<std::string, std::vector<hook::Event>> called;                 // by key
  std::vector<hook::ReconcileCause> causes;
  std::unique_ptr<hook::GuardFuse> guard;  // null: none
  std::unique_ptr<metacontroller::ControllerReconciler> reconciler;
  std::unique_ptr<hook::PassRun> pass;
  std::optional<hook::Pass::Over> over;
};

}  // namespace hookd::test
