#include "trigger/source_trigger.h"

#include <algorithm>

#include "base/json_read.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "filter/running.h"
#include "kube/base64.h"
#include "trigger/command_source.h"
#include "trigger/file_source.h"
#include "trigger/http_source.h"

namespace hookd::trigger {
namespace {

constexpr Duration kSeldom = std::chrono::minutes(1);

}  // namespace

struct SourceTrigger::Ticket {
  Ticket(std::shared_ptr<Tickets> all, uint64_t b) : tickets(std::move(all)), bytes(b) {
    ++tickets->out;
    tickets->bytes += bytes;
  }
  ~Ticket() {
    --tickets->out;
    tickets->bytes -= bytes;
    if (tickets->released) tickets->released();
  }
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;
  std::shared_ptr<Tickets> tickets;
  uint64_t bytes;
};

std::unique_ptr<SourceTrigger> SourceTrigger::make(std::shared_ptr<const hook::Hook> hook,
                                                   const hook::SourceBinding& binding, SourceServices services,
                                                   Emit emit) {
  if (!binding.file.empty())
    return std::make_unique<FileSource>(std::move(hook), binding, std::move(services), std::move(emit));
  if (!binding.http.empty())
    return std::make_unique<HttpSource>(std::move(hook), binding, std::move(services), std::move(emit));
  return std::make_unique<CommandSource>(std::move(hook), binding, std::move(services), std::move(emit));
}

SourceTrigger::SourceTrigger(std::shared_ptr<const hook::Hook> hook, const hook::SourceBinding& binding,
                             SourceServices services, Emit emit)
    : hook_(std::move(hook)), binding_(binding), services_(std::move(services)), emit_(std::move(emit)) {
  tickets_->released = [this] { look_for_room(); };
}

SourceTrigger::~SourceTrigger() { tickets_->released = nullptr; }

std::shared_ptr<void> SourceTrigger::take_ticket(uint64_t bytes) { return std::make_shared<Ticket>(tickets_, bytes); }

void SourceTrigger::look_for_room() {
  const auto half = static_cast<size_t>(binding_.buffer) / 2;
  if (!paused_ || tickets_->out > half || tickets_->bytes > kBufferBytes / 2) return;
  paused_ = false;
  // Posted: tickets go in the middle of other people's work.
  services_.scheduler.post([this, alive = std::weak_ptr(alive_)] {
    if (alive.lock() && !paused_) room();
  });
}

// Keys of objects have at most one slash and no space, so that these are no object's. A very long one is cut: events of
// keys that begin alike then wait for each other, which does no harm.
std::string SourceTrigger::key_of(const std::string& data) {
  std::string key = "source " + binding_.name;
  if (!binding_.key) return key;
  auto found = binding_.key->run(data);
  if (!found) {
    services_.metrics.count("hookd_filter_errors_total", {{"hook", hook_->name}, {"binding", binding_.name}});
    if (seldom())
      log::warn("the key of a source's event cannot be told, it waits in line with those that have none",
                {{"hook", hook_->name}, {"binding", binding_.name}, {"error", found.error().what}});
    return key;
  }
  if (*found == "null") return key;
  std::string text = *found;
  if (text.starts_with('"'))
    if (auto value = parse_json(text); value && value->is_string()) text = value->as_string().c_str();
  size_t end = std::min(text.size(), kMaxKeyBytes);
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // whole UTF-8
  key += ' ';
  key += std::string_view(text).substr(0, end);
  return key;
}

bool SourceTrigger::emit(std::string data, std::shared_ptr<const std::string> old,
                         std::shared_ptr<const std::function<void(bool)>> answer) {
  const metrics::Labels labels{{"hook", hook_->name}, {"binding", binding_.name}};
  const filter::RunsFor names(hook_->name, binding_.name);
  if (binding_.when) {
    const auto holds = binding_.when->test(data);
    if (!holds) {
      services_.metrics.count("hookd_filter_errors_total", labels);
      dropped("when failed");
      if (seldom())
        log::warn("`when` failed on a source's event, which is dropped",
                  {{"hook", hook_->name}, {"binding", binding_.name}, {"error", holds.error().what}});
    }
    if (!holds || !*holds) return false;
  }
  hook::Event event;
  event.type = hook::Event::Type::kSource;
  event.binding = binding_.name;
  event.seen = services_.scheduler.now();
  const std::string key = key_of(data);
  event.ticket = take_ticket(data.size() + (old ? old->size() : 0));
  event.data = std::make_shared<const std::string>(std::move(data));
  event.old_data = std::move(old);
  event.answer = std::move(answer);
  services_.metrics.count("hookd_source_events_total", labels);
  services_.metrics.count("hookd_events_total",
                          {{"hook", hook_->name}, {"binding", binding_.name}, {"type", "Source"}});
  // Before the event goes on its way: it may be handled, and its ticket back, when emit_ returns.
  if (!paused_ && (tickets_->out >= static_cast<size_t>(binding_.buffer) || tickets_->bytes >= kBufferBytes)) {
    paused_ = true;
    full();
  }
  emit_(key, std::move(event), false);
  return true;
}

void SourceTrigger::give(std::string data, std::shared_ptr<const std::string> old) {
  emit(one_line(data), std::move(old));
}

void SourceTrigger::adopt(hook::Event& event) {
  event.ticket = take_ticket((event.data ? event.data->size() : 0) + (event.old_data ? event.old_data->size() : 0));
}

void SourceTrigger::dropped(const char* why, double count) {
  services_.metrics.count("hookd_source_dropped_total",
                          {{"hook", hook_->name}, {"binding", binding_.name}, {"why", why}}, count);
}

bool SourceTrigger::seldom() {
  const SteadyTime now = services_.scheduler.now();
  if (last_told_ && now - *last_told_ < kSeldom) return false;
  last_told_ = now;
  return true;
}

std::string one_line(std::string_view json) {
  std::string out(json);
  for (char& c : out)
    if (c == '\n' || c == '\r') c = ' ';
  return out;
}

std::string json_of_bytes(std::string_view bytes) {
  if (!is_utf8(bytes)) return "{\"base64\":\"" + kube::base64_encode(bytes) + "\"}";
  const size_t from = bytes.find_first_not_of(" \t\r\n");
  if (from != std::string_view::npos && validate_json(bytes, kMaxJsonDepth))
    return one_line(bytes.substr(from, bytes.find_last_not_of(" \t\r\n") + 1 - from));
  return json_string(bytes);
}

}  // namespace hookd::trigger
