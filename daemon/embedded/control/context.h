// What every control loop works with. Thread: loop only.
#pragma once

#include <algorithm>
#include <boost/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/scheduler.h"
#include "embedded/control/writer.h"
#include "embedded/resources/resource.h"
#include "embedded/store/store.h"

namespace hookd::embedded::control {

inline constexpr std::string_view kManager = "kube-controller-manager";  // field manager of most loops

struct Context {
  Scheduler& scheduler;
  Store& store;
  Registry& registry;
  Writer& writer;
};

// The tree of a stored object; nothing if it is gone.
std::optional<json::object> load(const Store& store, std::string_view storage_key, std::string_view ns,
                                 std::string_view name);
json::object parse(const Stored& stored);

// Is it marked for deletion? Reads the text only where it can be.
bool is_ending(const Stored& stored);

std::string now_text(Scheduler& scheduler);  // metav1.Time

// How many went.
template <class Predicate>
size_t erase_where(json::array& list, Predicate&& matches) {
  auto rest = std::remove_if(list.begin(), list.end(), std::forward<Predicate>(matches));
  const auto count = static_cast<size_t>(list.end() - rest);
  list.erase(rest, list.end());
  return count;
}
size_t erase_text(json::array& list, std::string_view text);

// Sets {type, status, lastTransitionTime, reason, message} in a list of conditions; the time only when the status
// changes. False = nothing changed.
bool set_condition(json::array& conditions, std::string_view type, std::string_view status, std::string_view reason,
                   std::string_view message, const std::string& now);

// Told of what a loop could not do and will not try again by itself; conflicts and what is gone meanwhile are not worth
// a word.
void tell(std::string_view loop, const Target& target, const StatusError& error);

}  // namespace hookd::embedded::control
