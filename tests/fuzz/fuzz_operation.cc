// Any text is an operation or an error; what was read is whole, and the manifest's own text is what is kept.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "apply/json_diff.h"
#include "apply/json_text.h"
#include "apply/operation.h"
#include "apply/plan.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hookd::apply;
  if (size > (64u << 10)) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<Operation> operations;
  if (const auto op = parse_operation(text)) {
    const bool named =
        op->verb == Verb::kMetric || op->verb == Verb::kRequeue || !op->name.empty() || !op->generate_name.empty();
    if (!named) std::abort();
    if (is_write(op->verb) && (op->name.find('/') != std::string::npos || op->ns.find('/') != std::string::npos))
      std::abort();
    operations.push_back(*op);
  }
  if (auto manifests = manifest_operations(text))
    for (auto& op : *manifests) {
      if (op.api_version.empty() || op.kind.empty() || op.name.empty()) std::abort();
      if (!json_members(op.object)) std::abort();
      operations.push_back(std::move(op));
    }
  const Plan plan = make_plan(operations, "default");
  size_t planned = 0;
  for (const auto& stage : plan.stages)
    for (const auto& chain : stage) planned += chain.size();
  if (planned != operations.size()) std::abort();
  if (const auto members = json_members(text)) {
    const auto changed = with_metadata(text, {{"uid", "\"u\""}});
    if (!json_members(changed)) std::abort();
    if (!json_diff(text, text).empty()) std::abort();
  }
  return 0;
}
