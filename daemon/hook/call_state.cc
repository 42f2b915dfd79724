#include "hook/call_state.h"

#include "base/json_read.h"
#include "base/json_writer.h"
#include "hook/content_hash.h"
#include "state/memory_store.h"

namespace hookd::hook {
namespace {

constexpr std::string_view kTable = "state";
constexpr size_t kCountAtOnce = 500;

}  // namespace

CallState::CallState(const Hook& hook, state::Store* store)
    : hook_(hook.name),
      options_(hook.state),
      own_(store ? nullptr : std::make_unique<state::MemoryStore>()),
      store_(store ? *store : *own_) {}
CallState::~CallState() = default;

std::optional<CallState::Place> CallState::place(const std::string& item_key, const std::vector<Event>& events) const {
  if (!on()) return std::nullopt;
  if (!per_object()) return Place{hook_, {}};
  // A deletion and a namesake may stand in one call: the last one is what the call leaves behind.
  for (auto event = events.rbegin(); event != events.rend(); ++event)
    if (event->object) return Place{object_key(item_key), event->object->uid};
  return std::nullopt;
}

Result<std::shared_ptr<const std::string>> CallState::get(const Place& place) const {
  HOOKD_TRY(auto text, store_.read(kTable, place.key));
  if (!text) return nullptr;
  if (!per_object()) return std::make_shared<const std::string>(*std::move(text));
  if (json_string_at(*text, {"uid"}) != place.uid) return nullptr;
  const auto value = json_raw_at(*text, {"value"});
  return value ? std::make_shared<const std::string>(*value) : nullptr;
}

Result<void> CallState::check(const std::optional<std::string>& answered, const std::optional<Place>& place) const {
  if (!answered) return {};
  if (!on()) {
    if (*answered == "null") return {};  // what jq makes of a field that is not there
    return fail(Errc::kInvalid,
                "\"state\" is kept only where hook.yaml says so; add spec.state: {{per: hook}} (one for the hook) or "
                "{{per: object}} (one for each object)");
  }
  if (!place)
    return fail(Errc::kInvalid,
                "\"state\" belongs to an object here (state.per: object), but this call is about none; write "
                "state: {{per: hook}} in hook.yaml, or leave it out of this answer");
  if (answered->size() > options_->limit_bytes)
    return fail(Errc::kTooLarge,
                "\"state\" has {} bytes, at most {} are kept; make it smaller, or raise state.limit in hook.yaml",
                answered->size(), options_->limit_bytes);
  if (per_object() && objects_ >= kMaxObjects && *answered != "null" && !has(place->key))
    return fail(Errc::kTooLarge, "the hook keeps a \"state\" for {} objects already, which is the most", kMaxObjects);
  return {};
}

void CallState::put(const Place& place, const std::string& answered) {
  if (per_object()) {
    count_some();
    if (answered == "null") {
      if (has(place.key)) {
        if (counted(place.key)) --objects_;
        store_.erase(kTable, place.key);
      }
    } else {
      if (counted(place.key) && !has(place.key)) ++objects_;
      JsonWriter out;
      out.begin_object().key("uid").string(place.uid).key("value").raw(answered).end_object();
      store_.put(kTable, place.key, std::move(out).take());
    }
  } else if (answered == "null") {
    store_.erase(kTable, place.key);
  } else {
    store_.put(kTable, place.key, answered);
  }
  store_.flush();
}

void CallState::erase_object(const std::string& item_key) {
  if (!per_object()) return;
  const std::string key = object_key(item_key);
  if (!has(key)) return;
  if (counted(key)) --objects_;
  store_.erase(kTable, key);
}

// What cannot be read may be there.
bool CallState::has(const std::string& key) const {
  const auto row = store_.read(kTable, key);
  return !row || row->has_value();
}

void CallState::count_some() {
  if (all_counted_) return;
  const auto rows = store_.page(kTable, hook_ + "\n", counted_to_, kCountAtOnce);
  objects_ += rows.size();
  if (rows.size() < kCountAtOnce)
    all_counted_ = true;
  else
    counted_to_ = rows.back().first;
}

uint64_t state_mark(const std::shared_ptr<const std::string>& state) { return state ? content_hash(*state, 1) : 0; }

}  // namespace hookd::hook
