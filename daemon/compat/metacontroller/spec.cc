#include "compat/metacontroller/spec.h"

#include <algorithm>

#include "compat/metacontroller/names.h"

namespace hookd::metacontroller {

std::string_view to_string(ControllerKind kind) {
  return kind == ControllerKind::kComposite ? "CompositeController" : "DecoratorController";
}

std::string_view to_string(UpdateMethod method) {
  switch (method) {
    case UpdateMethod::kOnDelete:
      return "OnDelete";
    case UpdateMethod::kRecreate:
      return "Recreate";
    case UpdateMethod::kInPlace:
      return "InPlace";
    case UpdateMethod::kRollingRecreate:
      return "RollingRecreate";
    case UpdateMethod::kRollingInPlace:
      return "RollingInPlace";
  }
  return "OnDelete";
}

bool is_rolling(UpdateMethod method) {
  return method == UpdateMethod::kRollingRecreate || method == UpdateMethod::kRollingInPlace;
}

bool ControllerSpec::rolls() const {
  return composite() && std::ranges::any_of(children, [](const ChildResource& c) { return is_rolling(c.method); });
}

std::string ControllerSpec::finalizer() const {
  return composite() ? composite_finalizer(name) : decorator_finalizer(name);
}

}  // namespace hookd::metacontroller
