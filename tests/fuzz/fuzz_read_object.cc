// Any bytes that are JSON: an object with a name stays JSON, keeps its name, and loses nothing but managedFields.
#include <cstdlib>

#include "base/json_read.h"
#include "cache/object.h"
#include "cache/packed_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const bool drop : {true, false}) {
    auto object = hookd::cache::read_object(text, "example.com/v1", "Thing", drop);
    if (!object) continue;
    if (object->name.empty()) std::abort();
    if (!hookd::validate_json(text, 200)) continue;  // the readers of lists and streams let only JSON through
    if (!hookd::validate_json(object->text, 200)) std::abort();
    const auto again = hookd::cache::read_object(object->text, "example.com/v1", "Thing", drop);
    if (!again || again->key() != object->key() || again->uid != object->uid) std::abort();
    static hookd::cache::Packer packer;
    if (packer.pack(object->text).unpack() != object->text) std::abort();
  }
  return 0;
}
