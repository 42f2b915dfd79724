#include "embedded/impersonation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "embedded/resources/names.h"
#include "embedded/wire/json_text.h"

namespace hookd::embedded {
namespace {

constexpr std::string_view kExtra = "impersonate-extra-";
constexpr std::string_view kAccount = "system:serviceaccount:", kNode = "system:node:";

struct Wanted {
  User user;
  std::map<std::string, std::vector<std::string>> extra;
  bool only_name() const { return user.groups.empty() && user.uid.empty() && extra.empty(); }
};

bool holds(const std::vector<std::string>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

std::optional<std::string> node_of(std::string_view user) {
  if (!user.starts_with(kNode)) return std::nullopt;
  user.remove_prefix(kNode.size());
  if (!dns_subdomain(user).empty()) return std::nullopt;
  return std::string(user);
}

// A way to be let in: the old verb "impersonate", or "impersonate:MODE" together with "impersonate-on:MODE:VERB".
struct Mode {
  std::string name;  // "" = the old way
  bool applies(const Wanted& wanted) const {
    const bool account = account_of(wanted.user.name).has_value(), node = node_of(wanted.user.name).has_value();
    if (name == "arbitrary-node") return node && wanted.only_name();
    if (name == "serviceaccount") return account && wanted.only_name();
    return name.empty() || (!account && !node);
  }
};

class Check {
 public:
  Check(const World& world, const User& requestor, const Mode& mode, bool ask)
      : world_(world), requestor_(requestor), constrained_(!mode.name.empty()), ask_(ask) {
    question_.verb = constrained_ ? "impersonate:" + mode.name : "impersonate";
  }

  Answer<User> run(const Wanted& wanted) {
    User out = wanted.user;
    if (auto done = name(wanted, out); !done) return refuse(done.error());
    if (!wanted.user.uid.empty())
      if (auto done = may("uids", wanted.user.uid, kAuthentication); !done) return refuse(done.error());
    for (const auto& group : wanted.user.groups) {
      if (constrained_ && (group.empty() || group == "system:masters")) return refuse(not_this_group(group));
      if (auto done = may("groups", group, constrained_ ? kAuthentication : ""); !done) return refuse(done.error());
    }
    for (const auto& [key, values] : wanted.extra) {
      question_.subresource = key;
      for (const auto& value : values)
        if (auto done = may("userextras", value, kAuthentication); !done) return refuse(done.error());
    }
    if (out.name == "system:anonymous") {
      if (!holds(out.groups, "system:unauthenticated")) out.groups.emplace_back("system:unauthenticated");
    } else if (!holds(out.groups, "system:unauthenticated") && !holds(out.groups, "system:authenticated")) {
      out.groups.emplace_back("system:authenticated");
    }
    return out;
  }

 private:
  static constexpr std::string_view kAuthentication = "authentication.k8s.io";

  Answer<void> may(std::string_view resource, std::string_view name, std::string_view group) {
    question_.resource = resource;
    question_.name = name;
    question_.group = group;
    if (!ask_ || world_.rbac.ask(requestor_, question_).allowed) return {};
    return refuse(access_denied(requestor_, question_));
  }

  Answer<void> name(const Wanted& wanted, User& out) {
    const std::string_view group = constrained_ ? kAuthentication : "";
    if (const auto account = account_of(wanted.user.name)) {
      if (out.groups.empty()) out.groups = {"system:serviceaccounts", "system:serviceaccounts:" + account->first};
      question_.ns = account->first;
      auto done = may("serviceaccounts", account->second, group);
      question_.ns.clear();
      return done;
    }
    if (const auto node = node_of(wanted.user.name); node && constrained_) {
      out.groups = {"system:nodes"};
      return may("nodes", *node, group);
    }
    return may("users", wanted.user.name, group);
  }

  StatusError not_this_group(std::string_view group) {
    question_.resource = "groups";
    question_.name = group;
    question_.group = kAuthentication;
    auto error = access_denied(requestor_, question_);
    error.message += fmt::format(": impersonating the {} group is not allowed", group.empty() ? "empty string" : group);
    return error;
  }

  const World& world_;
  const User& requestor_;
  bool constrained_, ask_;
  AccessQuestion question_;
};

std::string go_list(const std::vector<std::string>& texts) {
  std::string out;
  for (const auto& text : texts) out += (out.empty() ? "" : ", ") + go_quote(text);
  return "[]string{" + out + "}";
}

StatusError no_name(const Wanted& wanted) {
  std::string extra;
  for (const auto& [key, values] : wanted.extra)
    extra += (extra.empty() ? "" : ", ") + go_quote(key) + ":" + go_list(values);
  return bad_request(
      fmt::format("requested &user.DefaultInfo{{Name:\"\", UID:{}, Groups:{}, Extra:map[string][]string{}}} without "
                  "impersonating a "
                  "user name",
                  go_quote(wanted.user.uid), wanted.user.groups.empty() ? "[]string(nil)" : go_list(wanted.user.groups),
                  extra.empty() ? "(nil)" : "{" + extra + "}"));
}

}  // namespace

std::optional<std::pair<std::string, std::string>> account_of(std::string_view user) {
  if (!user.starts_with(kAccount)) return std::nullopt;
  user.remove_prefix(kAccount.size());
  const auto colon = user.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto ns = user.substr(0, colon), name = user.substr(colon + 1);
  if (!dns_label(ns).empty() || !dns_subdomain(name).empty()) return std::nullopt;
  return std::pair(std::string(ns), std::string(name));
}

Answer<std::optional<User>> impersonated(const World& world, const Request& request, const AccessQuestion& about) {
  Wanted wanted;
  wanted.user = {std::string(request.header("impersonate-user")), {}, std::string(request.header("impersonate-uid"))};
  for (const auto& [name, value] : request.headers) {
    if (name == "impersonate-group") wanted.user.groups.push_back(value);
    if (name.starts_with(kExtra)) {
      const auto key = name.substr(kExtra.size());
      wanted.extra[percent_decode(key).value_or(key)].push_back(value);
    }
  }
  if (wanted.user.name.empty()) {
    if (wanted.only_name()) return std::nullopt;
    return refuse(no_name(wanted));
  }
  const bool ask = world.authorize && !holds(request.user.groups, "system:masters");
  std::optional<StatusError> first;
  for (const std::string_view way : {"arbitrary-node", "serviceaccount", "user-info", ""}) {
    const Mode mode{std::string(way)};
    if (!mode.applies(wanted)) continue;
    auto question = about;
    question.verb = fmt::format("impersonate-on:{}:{}", mode.name, about.verb);
    Answer<User> user = User{};
    if (ask && !mode.name.empty() && !world.rbac.ask(request.user, question).allowed)
      user = refuse(access_denied(request.user, question));
    else
      user = Check(world, request.user, mode, ask).run(wanted);
    if (user) return *std::move(user);
    if (!first) first = user.error();
  }
  return refuse(*std::move(first));
}

}  // namespace hookd::embedded
