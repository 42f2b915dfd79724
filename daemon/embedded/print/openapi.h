// The OpenAPI documents, made from the schemas of what is served. Thread: loop only.
// Source: API docs "Kubernetes API: OpenAPI", KEP-2896 (v3), OpenAPI 2.0 and 3.0, x-kubernetes-* extensions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "embedded/resources/resource.h"

namespace hookd::embedded {

// Keeps the documents last made, each until the registry changes. Views are good until the next call.
class OpenApi {
 public:
  struct Document {
    std::string_view body;  // JSON
    std::string_view etag;  // quoted, as in the header
  };

  explicit OpenApi(const Registry& registry) : registry_(registry) {}

  Document v2();     // /openapi/v2 as JSON; what a client that wants protobuf gets is the paths' part (documents.cc)
  Document index();  // /openapi/v3
  // /openapi/v3/PATH: "api", "apis", "api/v1", "apis/apps/v1", "version"; nothing if it is not served.
  std::optional<Document> v3(std::string_view path);

 private:
  struct Kept {
    std::string body, etag;
  };
  const Kept& keep(const std::string& key, std::string body);
  void forget_if_changed();
  std::string hash_of(const std::string& path);

  const Registry& registry_;
  uint64_t changes_ = 0;
  std::map<std::string, Kept, std::less<>> kept_;
};

}  // namespace hookd::embedded
