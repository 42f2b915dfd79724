// The built-in kinds whose versions differ. Each function changes everything but apiVersion. Thread: any.
#pragma once

#include "embedded/wire/status.h"

namespace hookd::embedded {

void hpa_to_v1(json::object& object);        // of autoscaling/v2
void hpa_to_v2(json::object& object);        // of autoscaling/v1
void event_to_core(json::object& object);    // of events.k8s.io/v1
void event_to_events(json::object& object);  // of core/v1

}  // namespace hookd::embedded
