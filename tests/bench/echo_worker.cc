// The worker of bench_worker: answers each call with its id, as fast as a compiled hook can. `echo_worker CPU`
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <string_view>

int main(int argc, char** argv) {
  if (argc > 1) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(atoi(argv[1]), &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus);
  }
  constexpr std::string_view kId = "\"id\":\"";
  std::string input, output;
  char buffer[1 << 16];
  for (ssize_t got = 0; (got = read(0, buffer, sizeof buffer)) > 0;) {
    input.append(buffer, static_cast<size_t>(got));
    size_t at = 0;
    for (size_t end = 0; (end = input.find('\n', at)) != std::string::npos; at = end + 1) {
      const std::string_view line(input.data() + at, end - at);
      const size_t id = line.find(kId);
      if (id == std::string_view::npos) continue;
      const std::string_view rest = line.substr(id + kId.size());
      output.append("{\"id\":\"").append(rest.substr(0, rest.find('"'))).append("\",\"operations\":[]}\n");
    }
    input.erase(0, at);
    for (std::string_view left = output; !left.empty();) {
      const ssize_t put = write(1, left.data(), left.size());
      if (put <= 0) return 1;
      left.remove_prefix(static_cast<size_t>(put));
    }
    output.clear();
  }
}
