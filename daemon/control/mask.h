// What must not be shown to those who ask a daemon: the values of Secrets, of secrets in a hook's `run.env`, bearer
// tokens and signatures in texts. There is no way around it over the socket. Pure. Thread: any.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apply/operation.h"
#include "kube/resource_type.h"

namespace hookd::control {

inline constexpr char kMasked[] = "(masked)";

bool is_secret(const kube::ResourceType* type);  // of the core group; null = no
// A Secret's JSON with every value of data and stringData masked, and the annotations last-applied-configuration of
// kubectl and Metacontroller, which hold them too.
std::string mask_secret(std::string_view json);
// The same for every Secret in a document, at any depth; nullopt: there is none. Numbers may lose digits.
std::optional<std::string> mask_secrets_within(std::string_view json);
// The same for what an operation on a Secret carries: manifest, patch, jq.
void mask_operation(apply::Operation& operation);

class Mask {
 public:
  Mask() = default;
  // Those of `env` whose name says that they are secret (TOKEN, PASSWORD, …) and that are not too short to be one.
  explicit Mask(const std::map<std::string, std::string>& env) { add(env); }
  void add(const std::map<std::string, std::string>& env);
  // Known values, also in their JSON form; `Bearer …` and `Basic …`; `sha256=` with its digest.
  std::string apply(std::string text) const;
  std::string apply_to_json(std::string_view text) const;  // a document, which stays one

  static constexpr size_t kShortest = 4;

 private:
  std::vector<std::string> values_;  // the longest first
};

}  // namespace hookd::control
