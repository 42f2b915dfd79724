// Any text either is refused or gives times that go forward.
#include <cstdlib>
#include <cstring>

#include "trigger/cron.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using hookd::WallTime;
  int64_t start = 0;
  if (size < sizeof start) return 0;
  std::memcpy(&start, data, sizeof start);
  const std::string_view text(reinterpret_cast<const char*>(data) + sizeof start, size - sizeof start);
  for (const std::string_view zone : {"", "Europe/Berlin", "Australia/Lord_Howe"}) {
    const auto cron = hookd::trigger::Cron::parse(text, zone);
    if (!cron) continue;
    WallTime time{hookd::Duration(start)};
    for (int i = 0; i < 20; ++i) {
      const auto next = cron->next(time);
      if (!next) break;
      if (*next <= time) std::abort();
      // From any moment in between, the answer is the same.
      if (!text.contains('@') && cron->next(time + (*next - time) / 2) != next) std::abort();
      time = *next;
    }
  }
  return 0;
}
