// Schemas as OpenAPI: one node ─► the text that clients read. Thread: any.
// Source: OpenAPI 2.0 and 3.0, structural schemas, x-kubernetes-* extensions as the real server publishes them.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/json_writer.h"
#include "embedded/schema/schema.h"

namespace hookd::embedded {

enum class OpenApiForm : uint8_t { kV2, kV3 };

// Writes nodes and remembers which named types they refer to, until all of them are written.
class OpenApiSchemas {
 public:
  explicit OpenApiSchemas(OpenApiForm form) : form_(form) {}

  // {"$ref":"#/components/schemas/NAME"}; NAME is written by definitions() if `schema` is one of ours.
  void refer(JsonWriter& out, std::string_view name, const Schema* schema = nullptr);
  // A named type (as a reference) or an unnamed one in full; `field` adds its default and merging.
  void write(JsonWriter& out, const Schema& schema, const Field* field = nullptr);
  // The content of a type; in the object that is open in `out`.
  void content(JsonWriter& out, const Schema& schema);

  // `name: {...}` of every type referred to; `more` writes extensions of a type into its open object.
  template <class More>
  void definitions(JsonWriter& out, More more) {
    while (next_ < order_.size()) {
      const Schema* schema = order_[next_++];
      out.key(schema->name).begin_object();
      content(out, *schema);
      more(*schema);
      out.end_object();
    }
  }

 private:
  void merging(JsonWriter& out, const Schema& schema);
  void checks(JsonWriter& out, const Schema& schema);
  void scalar(JsonWriter& out, const Schema& schema);
  void properties(JsonWriter& out, const Schema& schema);

  OpenApiForm form_;
  std::map<std::string, bool, std::less<>> seen_;
  std::vector<const Schema*> order_;
  size_t next_ = 0;
};

// "com.example.v1.Foo" of a CRD's kind.
std::string custom_type_name(std::string_view group, std::string_view version, std::string_view kind);

}  // namespace hookd::embedded
