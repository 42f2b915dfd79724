#include "control/kept_call.h"

#include "apply/json_text.h"
#include "base/json_writer.h"
#include "control/mask.h"

namespace hookd::control {
namespace {

size_t size_of(const std::shared_ptr<const std::string>& text) { return text ? text->size() : 0; }
size_t size_of(const cache::ObjectPtr& object) { return object ? object->text.raw_bytes() : 0; }
size_t size_of(const hook::SnapshotEntry& entry) { return size_of(entry.object) + size_of(entry.value); }
size_t size_of(const hook::Event& event) {
  return size_of(event.object) + size_of(event.old) + size_of(event.value) + size_of(event.old_value) +
         size_of(event.data) + size_of(event.old_data);
}

// nullopt: larger than `limit`, it tells of Secrets, or holds back a source (Event::ticket). Stops looking there:
// snapshots may be huge.
std::optional<size_t> small_size(const hook::Call& call, size_t limit) {
  size_t bytes = size_of(call.state);
  if (bytes > limit) return std::nullopt;
  if (call.events.size() > kKeptEvents) return std::nullopt;
  for (const auto& event : call.events) {
    bytes += size_of(event) + sizeof event;
    if (bytes > limit || event.ticket || is_secret(event.resource.get())) return std::nullopt;
  }
  for (const auto& [binding, snapshot] : call.objects) {
    if (is_secret(snapshot.type.get())) return std::nullopt;
    for (const auto& entry : snapshot.entries)
      if ((bytes += size_of(entry) + sizeof entry) > limit) return std::nullopt;
  }
  return bytes;
}

cache::ObjectPtr with_text(const cache::Object& object, std::string_view text) {
  auto copy = std::make_shared<cache::Object>();
  static_cast<cache::Identity&>(*copy) = object;
  if (!text.empty()) copy->text = cache::PackedText(text, nullptr);
  return copy;
}

class Copier {
 public:
  Copier(KeptCall& kept, size_t limit) : kept_(kept), left_(limit) {}

  void text(std::shared_ptr<const std::string>& text, bool secret) {
    if (!text) return;
    if (secret) {
      text = std::make_shared<const std::string>(json_string(kMasked));
      kept_.masked = true;
    }
    if (take(text->size())) return;
    text = nullptr;
    ++kept_.texts_left_out;
  }
  // Without room for its text it keeps its name.
  void object(cache::ObjectPtr& object, bool secret) {
    if (!object || object->text.empty()) return;
    if (!take(object->text.raw_bytes())) {
      object = with_text(*object, "");
      ++kept_.texts_left_out;
    } else if (secret) {
      object = with_text(*object, mask_secret(object->text.unpack()));
      kept_.masked = true;
    }
  }
  bool entry(hook::SnapshotEntry entry, bool secret, std::vector<hook::SnapshotEntry>& out) {
    if (size_of(entry) > left_) return false;
    object(entry.object, secret);
    text(entry.value, secret);
    out.push_back(std::move(entry));
    return true;
  }

 private:
  bool take(size_t bytes) {
    if (bytes > left_) return false;
    left_ -= bytes;
    kept_.bytes += bytes;
    return true;
  }
  KeptCall& kept_;
  size_t left_;
};

// The whole document of a call, as text.
class KeptDocument final : public hook::CallBody {
 public:
  explicit KeptDocument(std::string text) : text_(std::move(text)) {}
  bool whole_document() const override { return true; }
  bool write(size_t part, JsonWriter& out) const override {
    const auto members = apply::json_members(text_);
    if (part > 0 || !members) return false;
    for (const auto& [key, value] : *members) out.key(key).raw(value);
    return true;
  }

 private:
  std::string text_;
};

// nullopt: it is larger.
std::optional<std::string> document_of(const hook::Call& call, size_t limit) {
  hook::CallWriter writer(call.shared_from_this());
  std::string text;
  for (std::string piece = writer.next(); !piece.empty(); piece = writer.next())
    if ((text += piece).size() > limit) return std::nullopt;
  return text;
}

// What a body holds is known to its maker alone: objects of any kind and size.
bool keep_document(const hook::Call& call, size_t limit, KeptCall& kept) {
  if (call.weak_from_this().expired()) return false;
  auto document = document_of(call, limit);
  if (!document) return false;
  if (auto masked = mask_secrets_within(*document)) {
    document = std::move(masked);
    kept.masked = true;
  }
  auto copy = std::make_shared<hook::Call>(call);
  copy->objects.clear();
  copy->state = nullptr;
  for (hook::Event& event : copy->events) {
    event.ticket = nullptr;
    event.gone = event.old = nullptr;
    if (event.object) event.object = with_text(*event.object, "");
  }
  kept.bytes = document->size();
  copy->body = std::make_shared<KeptDocument>(*std::move(document));
  kept.call = std::move(copy);
  return true;
}

}  // namespace

KeptCall keep_call(const hook::Call& call, size_t limit_bytes) {
  KeptCall kept;
  kept.events = call.events.size();
  if (call.body) {
    if (keep_document(call, limit_bytes, kept)) return kept;
    hook::Call without = call;
    without.body = nullptr;
    for (hook::Event& event : without.events) event.gone = nullptr;
    kept = keep_call(without, limit_bytes);
    ++kept.texts_left_out;  // at least
    return kept;
  }
  if (const auto size = small_size(call, limit_bytes)) {
    kept.call = call.weak_from_this().lock();
    kept.bytes = *size;
    if (kept.call) return kept;
  }
  kept.bytes = 0;
  auto copy = std::make_shared<hook::Call>(call);
  Copier copier(kept, limit_bytes);
  if (copy->events.size() > kKeptEvents) {
    kept.texts_left_out += copy->events.size() - kKeptEvents;
    copy->events.resize(kKeptEvents);
  }
  for (hook::Event& event : copy->events) {
    event.ticket = nullptr;
    const bool secret = is_secret(event.resource.get());
    copier.object(event.object, secret);
    copier.text(event.value, secret);
    copier.object(event.old, secret);
    copier.text(event.old_value, secret);
    copier.text(event.data, false);
    copier.text(event.old_data, false);
    kept.bytes += sizeof event;
  }
  copier.text(copy->state, false);
  for (auto& [binding, snapshot] : copy->objects) {
    const auto entries = std::move(snapshot.entries);
    snapshot.entries.clear();
    for (const auto& entry : entries)
      if (!copier.entry(entry, is_secret(snapshot.type.get()), snapshot.entries)) break;
    kept.entries_left_out += entries.size() - snapshot.entries.size();
    kept.bytes += snapshot.entries.size() * sizeof(hook::SnapshotEntry);
  }
  kept.call = std::move(copy);
  return kept;
}

}  // namespace hookd::control
