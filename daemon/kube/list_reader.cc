#include "kube/list_reader.h"

#include "base/json_read.h"

namespace hookd::kube {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

// The text of a JSON string; "" if `raw` is none.
std::string string_of(std::string_view raw) {
  if (raw.size() < 2 || raw.front() != '"') return {};
  if (raw.find('\\') == std::string_view::npos) return std::string(raw.substr(1, raw.size() - 2));
  const auto value = parse_json(raw);
  return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

}  // namespace

Result<void> ListReader::feed(std::string_view bytes) {
  while (!bytes.empty()) HOOKD_CHECK(step(bytes));
  return {};
}

Result<bool> ListReader::collect(std::string_view& bytes) {
  const auto used = scanner_.feed(bytes);
  if (!used) return fail(Errc::kDecode, "the list is broken JSON after {} items: {}", items_, used.error().what);
  if (value_.size() + *used > max_item_bytes_)
    return fail(Errc::kTooLarge, "item {} of the list is over {} bytes", items_ + 1, max_item_bytes_);
  value_ += bytes.substr(0, *used);
  bytes.remove_prefix(*used);
  return scanner_.done();
}

void ListReader::begin_value(At at) {
  at_ = at;
  scanner_.reset();
  value_.clear();
}

Result<void> ListReader::step(std::string_view& bytes) {
  if (at_ == At::kKey || at_ == At::kValue || at_ == At::kItem) {
    HOOKD_TRY(const bool whole, collect(bytes));
    return whole ? value_read() : Result<void>{};
  }
  bytes.remove_prefix(std::min(bytes.find_first_not_of(kSpace), bytes.size()));
  if (bytes.empty()) return {};

  const char c = bytes.front();
  const auto unexpected = [&](std::string_view wanted) {
    return fail(Errc::kDecode, "the answer is not a Kubernetes list: {} was expected, not \"{}\"", wanted,
                bytes.substr(0, 60));
  };
  const auto take = [&](At next) {
    bytes.remove_prefix(1);
    at_ = next;
    return Result<void>{};
  };
  switch (at_) {
    case At::kStart:
      return c == '{' ? take(At::kFirstKey) : unexpected("an object");
    case At::kFirstKey:
      if (c == '}') return take(At::kEnd);
      [[fallthrough]];
    case At::kNextKey:
      if (c != '"') return unexpected("a key");
      begin_value(At::kKey);
      return {};
    case At::kColon:
      return c == ':' ? take(At::kBeforeValue) : unexpected("a colon");
    case At::kBeforeValue:
      if (key_ == "items" && c == '[') return take(At::kFirstItem);
      begin_value(At::kValue);
      return {};
    case At::kAfterValue:
      if (c == '}') return take(At::kEnd);
      return c == ',' ? take(At::kNextKey) : unexpected("a comma");
    case At::kFirstItem:
      if (c == ']') return take(At::kAfterValue);
      [[fallthrough]];
    case At::kNextItem:
      if (c != '{') return unexpected("an object in the items");
      begin_value(At::kItem);
      return {};
    case At::kAfterItem:
      if (c == ']') return take(At::kAfterValue);
      return c == ',' ? take(At::kNextItem) : unexpected("a comma between the items");
    case At::kEnd:
      return unexpected("the end");
    default:
      return fail(Errc::kInternal, "list reader in an impossible state");
  }
}

Result<void> ListReader::value_read() {
  if (at_ == At::kKey) return key_read();
  if (at_ == At::kItem) return item_read();
  at_ = At::kAfterValue;
  return member_read();
}

Result<void> ListReader::key_read() {
  key_ = string_of(value_);
  at_ = At::kColon;
  return {};
}

Result<void> ListReader::item_read() {
  at_ = At::kAfterItem;
  ++items_;
  std::string item;
  item.reserve(value_.size() + 128);  // room for what read_object puts in and for simdjson's padding
  item = value_;
  if (value_.capacity() > (1u << 20)) value_ = {};  // one huge item must not cost its memory for the whole list
  return on_item_(std::move(item));
}

Result<void> ListReader::member_read() {
  if (key_ == "kind") {
    kind_ = string_of(value_);
  } else if (key_ == "message") {
    message_ = string_of(value_).substr(0, 2048);
  } else if (key_ == "metadata") {
    has_metadata_ = true;
    resource_version_ = json_string_at(value_, {"resourceVersion"}).value_or("");
    continue_ = json_string_at(value_, {"continue"}).value_or("");
  } else if (key_ == "items" && value_ != "null") {  // R13: null is what some servers say for none
    return fail(Errc::kDecode, "the answer is not a Kubernetes list: items is no array but \"{}\"",
                std::string_view(value_).substr(0, 60));
  }
  return {};
}

Result<void> ListReader::finish() {
  if (at_ == At::kStart) return fail(Errc::kDecode, "the answer is empty, a list was expected");
  if (at_ != At::kEnd) return fail(Errc::kDecode, "the list was cut off after {} items", items_);
  if (!kind_.ends_with("List"))
    return fail(Errc::kDecode, "a list was expected, not a {}{}{}", kind_.empty() ? "value without kind" : kind_,
                message_.empty() ? "" : ": ", message_);
  // A watch from "0" or from nowhere could start in the past and miss deletions (R20).
  if (!has_metadata_ || resource_version_.empty() || resource_version_ == "0")
    return fail(Errc::kDecode, "the {} has no metadata.resourceVersion, so it cannot be watched", kind_);
  return {};
}

}  // namespace hookd::kube
