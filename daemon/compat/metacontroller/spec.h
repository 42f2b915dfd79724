// What a CompositeController or DecoratorController says, as plain values. Thread: any once read.
// Source: controllers.md 1.1 (fields, defaults) and 1.3 (hooks). spec_reader.h makes it from the resource's JSON.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/scheduler.h"
#include "cache/label_selector.h"
#include "hook/model.h"
#include "hook/reconcile_model.h"

namespace hookd::metacontroller {

enum class ControllerKind { kComposite, kDecorator };
std::string_view to_string(ControllerKind kind);  // "CompositeController", "DecoratorController"

enum class UpdateMethod { kOnDelete, kRecreate, kInPlace, kRollingRecreate, kRollingInPlace };
std::string_view to_string(UpdateMethod method);  // as in the resource: "RollingInPlace"
bool is_rolling(UpdateMethod method);

enum class HookVersion { kV1, kV2 };  // v1: plain keys in the parent's namespace; v2: namespace/name, nothing left out
enum class Unmarshal { kLoose, kStrict };

struct ParentResource {
  std::string api_version;                                  // "ctl.example.com/v1"
  std::string resource;                                     // plural, lower case: "catsets"
  std::optional<cache::LabelSelector> label_selector;       // unset = all
  std::optional<cache::LabelSelector> annotation_selector;  // DecoratorController only; unset = all
  bool ignore_status_changes = false;
};

struct ChildResource {  // childResources[] of the one, attachments[] of the other
  std::string api_version;
  std::string resource;
  UpdateMethod method = UpdateMethod::kOnDelete;
  std::vector<hook::ConditionCheck> checks;  // updateStrategy.statusChecks.conditions
};

struct ObjectKey {  // a key in the data of a Secret or ConfigMap
  std::string ns, name, key;
  bool set() const { return !name.empty(); }
  auto operator<=>(const ObjectKey&) const = default;
};

// How a webhook's server is checked and how we show who we are. Values are never in a text for people.
struct ConnectionAuth {
  std::string ca_inline;               // PEM; at most one of the three; none = the system's roots
  ObjectKey ca_secret, ca_config_map;  // default key "ca.crt"
  struct ClientTls {
    std::string ns, name;  // of a Secret; "" = none
    std::string certificate_key = "tls.crt", private_key_key = "tls.key";
  } client_tls;
  std::string authorization_type = "Bearer";
  ObjectKey authorization;  // of a Secret; at most one of it and basic auth
  struct Basic {
    std::string ns, name;
    std::string username_key = "username", password_key = "password";
  } basic;
  bool empty() const {
    return ca_inline.empty() && !ca_secret.set() && !ca_config_map.set() && client_tls.name.empty() &&
           !authorization.set() && basic.name.empty();
  }
};

struct EndpointConfig {
  std::string host;  // "hooks.shop", "hooks.shop:8443"
  ConnectionAuth auth;
};

struct Webhook {
  std::string url;  // whole: made of service and path where there is no `url`
  Duration timeout = std::chrono::seconds(10);
  ConnectionAuth auth;  // its own, or of the endpointConfigs entry that fits: what is to be used
  bool etag = false;
  Duration etag_timeout{0};  // how long an answer may be used again; 0 = as long as it is kept
};

// One of webhook and command. A command is an addition of ours (exec, worker).
struct HookSpec {
  HookVersion version = HookVersion::kV1;
  Unmarshal unmarshal = Unmarshal::kLoose;  // default: loose with v1, strict with v2
  std::optional<Webhook> webhook;
  std::optional<hook::Run> command;
};

struct ControllerSpec {
  ControllerKind kind = ControllerKind::kComposite;
  std::string name;
  std::string uid;
  int64_t generation = 0;
  std::string resource_version;
  // The whole resource as JSON, without managedFields: `controller` of every request. Shared, it may be large.
  std::shared_ptr<const std::string> text;

  std::vector<ParentResource> parents;  // CompositeController: exactly one; at most one of a group and resource
  std::vector<ChildResource> children;  // at most one of a group and resource
  std::vector<std::string> revision_field_paths{"spec"};  // dotted; CompositeController only
  bool generate_selector = false;                         // CompositeController only
  Duration resync{0};                                     // 0 = none, else at least 1 s
  std::optional<HookSpec> sync, finalize, customize;
  std::vector<EndpointConfig> endpoints;
  std::optional<hook::Guard> guard;   // of the annotation; unset = the daemon's
  std::vector<std::string> warnings;  // what was accepted and does nothing, for log and events

  bool composite() const { return kind == ControllerKind::kComposite; }
  bool rolls() const;             // is any child moved one after another, so that revisions are kept?
  std::string finalizer() const;  // "metacontroller.io/compositecontroller-NAME"
};

// How children are written: of the whole daemon (`metacontroller` in its config), as upstream's flags.
struct ApplyOptions {
  bool server_side = false;                          // --apply-strategy=server-side-apply
  std::string ssa_field_manager = "metacontroller";  // --apply-strategy-ssa-field-manager
};

}  // namespace hookd::metacontroller
