#include <string_view>

#include "cli/cli.h"
#include "process/exec_shim.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == hookd::process::kShimCommand)
    return hookd::process::run_exec_shim(argc, argv);
  return hookd::cli::main(argc, argv);
}
