#include "compat/metacontroller/names.h"

namespace hookd::metacontroller {

std::string composite_finalizer(std::string_view controller) {
  return "metacontroller.io/compositecontroller-" + std::string(controller);
}

std::string decorator_finalizer(std::string_view controller) {
  return "metacontroller.io/decoratorcontroller-" + std::string(controller);
}

}  // namespace hookd::metacontroller
