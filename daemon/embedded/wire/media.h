// Content types: what the client takes, and in which form the body is. Thread: any.
// Source: API concepts "Alternate representations of resources", RFC 9110 section 12.5.1.
#pragma once

#include <string>
#include <string_view>

#include "embedded/wire/request.h"

namespace hookd::embedded {

enum class Format { kJson, kYaml };
enum class Shape { kObject, kTable, kMetadata, kMetadataList };

struct Media {
  Format format = Format::kJson;
  Shape shape = Shape::kObject;
  std::string meta_version = "v1";  // of Table and PartialObjectMetadata: v1 | v1beta1
  bool pretty = false;
};

// `custom`: a kind from a CRD; `watch`: only what can be streamed; `watchable`: a path that may be watched, whose
// refusal names the types of streams too. Errors: 406.
Answer<Media> accepted(const Request& request, bool custom, bool watch, bool watchable = false);

// Is the body said to be in Kubernetes' protobuf (schema/protobuf.h)? body_format() does not know it.
bool is_protobuf(const Request& request);

// Of a POST, PUT or DELETE body. Errors: 415.
Answer<Format> body_format(const Request& request);

enum class PatchType { kJson, kMerge, kStrategic, kApply };
// Errors: 415.
Answer<PatchType> patch_type(const Request& request, bool custom);

// Does the Accept header name that type (without parameters), or everything?
bool accepts(std::string_view header, std::string_view type);

}  // namespace hookd::embedded
