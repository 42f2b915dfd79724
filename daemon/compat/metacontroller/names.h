// The names that Metacontroller uses in objects, so that a cluster can change over. Source: controllers.md section 1.
#pragma once

#include <string>
#include <string_view>

namespace hookd::metacontroller {

inline constexpr std::string_view kGroup = "metacontroller.k8s.io";
inline constexpr std::string_view kApiVersion = "metacontroller.k8s.io/v1alpha1";
inline constexpr std::string_view kLastApplied = "metacontroller.k8s.io/last-applied-configuration";
inline constexpr std::string_view kDecoratorAnnotation = "metacontroller.k8s.io/decorator-controller";
inline constexpr std::string_view kControllerUid = "controller-uid";
// An addition of ours, of a controller: "deletes=20/1m,writes=600/1m" (either or both), or "none".
inline constexpr std::string_view kGuardAnnotation = "hookd.dev/guard";

std::string composite_finalizer(std::string_view controller);  // "metacontroller.io/compositecontroller-NAME"
std::string decorator_finalizer(std::string_view controller);

}  // namespace hookd::metacontroller
