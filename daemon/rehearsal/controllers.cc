#include "rehearsal/controllers.h"

#include <algorithm>

#include "compat/metacontroller/names.h"

namespace hookd::rehearsal {

std::optional<metacontroller::ControllersOptions> controllers_among(const std::vector<apply::Operation>& objects,
                                                                    const std::string& folder) {
  const std::string group(metacontroller::kGroup);
  const bool any = std::ranges::any_of(objects, [&](const apply::Operation& op) {
    return op.api_version.starts_with(group + "/") ||
           (op.kind == "CustomResourceDefinition" && op.name.ends_with("." + group));
  });
  if (!any) return std::nullopt;
  metacontroller::ControllersOptions options;
  options.exec_folder = folder;
  return options;
}

}  // namespace hookd::rehearsal
