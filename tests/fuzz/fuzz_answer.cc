// Any output of a hook is refused with a line, or read; what was read is JSON in UTF-8, and a deletion names its
// object.
#include <cstdlib>

#include "base/json_read.h"
#include "hook/answer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view output(reinterpret_cast<const char*>(data), size);
  const auto answer = hookd::hook::parse_answer(output);
  if (!answer) {
    if (answer.error().code != hookd::Errc::kInvalid || !answer.error().what.starts_with("line ")) std::abort();
    return 0;
  }
  for (const auto& op : answer->operations) {
    for (const std::string* json : {&op.object, &op.patch})
      if (!json->empty() && (!hookd::validate_json(*json) || !hookd::is_utf8(*json))) std::abort();
    if (hookd::apply::is_delete(op.verb) && (op.kind.empty() || op.name.empty())) std::abort();
  }
  if (answer->status && !hookd::validate_json(*answer->status)) std::abort();
  // The same documents again behind it give the same operations twice.
  if (output.ends_with('\n') && answer->text.empty() && !output.empty() && output.front() == '{') {
    const auto twice = hookd::hook::parse_answer(std::string(output) + std::string(output));
    if (!twice || twice->operations.size() != 2 * answer->operations.size()) std::abort();
  }
  return 0;
}
