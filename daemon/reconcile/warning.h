// A Warning Event about a parent, as both kinds of reconcilers send it. Pure. Thread: any.
#pragma once

#include <string>
#include <string_view>

#include "apply/event_recorder.h"
#include "cache/object.h"
#include "kube/resource_type.h"

namespace hookd::reconcile {

apply::EventNote warning(std::string_view hook, const kube::ResourceType& type, const cache::Identity& parent,
                         std::string_view reason, std::string message);

}  // namespace hookd::reconcile
