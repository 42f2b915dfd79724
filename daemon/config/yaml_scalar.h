// What a plain scalar means. Source: YAML 1.2.2 section 10.3.2 (core schema, tag resolution). Thread: any.
#pragma once

#include <string_view>

#include "config/yaml_source.h"

namespace hookd::config {

Node::Kind resolve_plain(std::string_view text);

}  // namespace hookd::config
