#include "embedded/control/expiry.h"

namespace hookd::embedded::control {
namespace {

constexpr std::string_view kEvents = "events";

}  // namespace

Expiry::Expiry(const Context& context) : context_(context) {
  events_ = context_.store.subscribe(std::string(kEvents), [this](const StoreEvent& event) {
    if (event.type == StoreEvent::Type::kDeleted) return;
    entries_.push_back(
        {context_.scheduler.now() + kEventsLive, event.object->ns, event.object->name, event.object->revision});
    if (!timer_.pending()) arm();
  });
}

void Expiry::arm() {
  if (!entries_.empty()) timer_ = context_.scheduler.at(entries_.front().due, [this] { expire(); });
}

void Expiry::expire() {
  const SteadyTime now = context_.scheduler.now();
  while (!entries_.empty() && entries_.front().due <= now) {
    const Entry entry = std::move(entries_.front());
    entries_.pop_front();
    const auto stored = context_.store.get(kEvents, entry.ns, entry.name);
    if (!stored || stored->revision != entry.revision) continue;
    const Target target{std::string(kEvents), entry.ns, entry.name, stored->uid};
    if (auto gone = context_.writer.remove(target, {.grace_seconds = 0}); !gone) tell("expiry", target, gone.error());
  }
  arm();
}

}  // namespace hookd::embedded::control
