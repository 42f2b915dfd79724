// Takes a list answer apart while it arrives: each item is handed over as soon as it is whole, so that a list of any
// size needs the memory of one item. Thread: loop only. Source: k8s-client.md R11-R13.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/json_scanner.h"
#include "base/result.h"

namespace hookd::kube {

class ListReader {
 public:
  // `on_item` gets an item's text; an error from it ends the reading.
  using OnItem = std::function<Result<void>(std::string item)>;
  ListReader(OnItem on_item, size_t max_item_bytes) : on_item_(std::move(on_item)), max_item_bytes_(max_item_bytes) {}

  // Errors: kDecode (not a JSON object, a broken item, `items` that is no array), kTooLarge (an item over the bound).
  Result<void> feed(std::string_view bytes);
  // Call at the end of the body. Errors: kDecode unless a whole `*List` object with metadata.resourceVersion was read:
  // a Status, a Table, HTML or a cut body must never pass for an empty list.
  Result<void> finish();

  // After finish():
  const std::string& kind() const { return kind_; }  // "PodList"
  const std::string& resource_version() const { return resource_version_; }
  const std::string& continue_token() const { return continue_; }
  size_t items() const { return items_; }

 private:
  // kBefore…: only white space may come before the next token; kKey, kValue, kItem: value_ is being collected.
  enum class At {
    kStart,
    kFirstKey,
    kNextKey,
    kKey,
    kColon,
    kBeforeValue,
    kValue,
    kAfterValue,
    kFirstItem,
    kNextItem,
    kItem,
    kAfterItem,
    kEnd
  };
  Result<void> step(std::string_view& bytes);
  void begin_value(At at);
  Result<bool> collect(std::string_view& bytes);  // true: value_ is whole
  Result<void> value_read();
  Result<void> key_read();
  Result<void> member_read();
  Result<void> item_read();

  OnItem on_item_;
  size_t max_item_bytes_;
  At at_ = At::kStart;
  JsonScanner scanner_;
  std::string value_;
  std::string key_;
  std::string kind_, resource_version_, continue_, message_;
  bool has_metadata_ = false;
  size_t items_ = 0;
};

}  // namespace hookd::kube
