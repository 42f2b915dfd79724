// libFuzzer target: any text as a hook file. It must end in hooks or in errors with a place, never in a crash; a text
// with an error never gives a hook that the error belongs to.
#include "hook/native_loader.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hookd::hook::LoadOptions options;
  options.check_files = false;
  hookd::hook::LoadResult result;
  hookd::hook::load_hook_text({reinterpret_cast<const char*>(data), size}, "/fuzz/hook.yaml", options, result);
  if (result.hooks.empty() && result.errors.empty()) std::abort();  // nothing may be left out in silence
  for (const auto& hook : result.hooks)
    if (hook->name.empty() || hook->run.command.empty()) std::abort();
  for (const auto& error : result.errors)
    if (error.message.empty() || error.line < 0 || error.text().empty()) std::abort();
  return 0;
}
