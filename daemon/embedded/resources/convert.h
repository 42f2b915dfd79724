// One object in another of its kind's versions. Thread: loop only.
// Source: API docs "Versions in CustomResourceDefinitions", "HorizontalPodAutoscaler" v1 and v2, "Event" core/v1 and
// events.k8s.io/v1.
#pragma once

#include <string>
#include <string_view>

#include "embedded/resources/resource.h"

namespace hookd::embedded {

// Must objects of the store be changed before `resource` shows them? If not, their texts can be spliced as they are.
bool needs_conversion(const Resource& resource);

// `object`, in any version of the kind, becomes one of `api_version` ("autoscaling/v2"): the resource's own to show it,
// its storage_version to store it. Custom kinds: apiVersion is rewritten (conversion strategy None) and, if it is the
// resource's own version, unknown fields are pruned and defaults set. Errors: 500 where a webhook would have to
// convert, which this server does not call.
Answer<void> convert(json::object& object, const Resource& resource, std::string_view api_version);

// The same from text to text, to the version of `resource`.
Answer<std::string> convert_text(std::string_view text, const Resource& resource);

}  // namespace hookd::embedded
