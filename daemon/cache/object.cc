#include "cache/object.h"

#include <simdjson.h>

#include "base/json_writer.h"

namespace hookd::cache {
namespace {

namespace ondemand = simdjson::ondemand;

constexpr size_t kMaxKeptCapacity = 4u << 20;

// Where in the text something stands: [begin, end).
struct Span {
  size_t begin = 0;
  size_t end = 0;
};

struct Fields {
  Identity identity;
  std::string api_version, kind;
  Span managed_fields;
  Span api_version_value, kind_value;
};

bool read_fields(ondemand::parser& parser, std::string& text, Fields& out) {
  text.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  ondemand::document document;
  ondemand::object root;
  if (parser.iterate(text.data(), text.size(), text.capacity()).get(document) || document.get_object().get(root))
    return false;
  const auto take = [](ondemand::value value, std::string& into) {
    std::string_view view;
    if (!value.get_string().get(view)) into.assign(view);
  };
  const auto scalar_span = [&](ondemand::value value, Span& span) {
    const std::string_view token = value.raw_json_token();
    span.begin = static_cast<size_t>(token.data() - text.data());
    const size_t close = token.find('"', 1);  // apiVersion and kind hold no escapes
    span.end = close == std::string_view::npos ? span.begin : span.begin + close + 1;
  };
  for (auto field : root) {
    std::string_view key;
    ondemand::value value;
    if (field.unescaped_key().get(key) || field.value().get(value)) return false;
    if (key == "apiVersion") {
      scalar_span(value, out.api_version_value);
      take(value, out.api_version);
    } else if (key == "kind") {
      scalar_span(value, out.kind_value);
      take(value, out.kind);
    } else if (key == "metadata") {
      ondemand::object metadata;
      if (value.get_object().get(metadata)) return false;
      for (auto entry : metadata) {
        std::string_view name;
        ondemand::value inner;
        if (entry.unescaped_key().get(name) || entry.value().get(inner)) return false;
        if (name == "name")
          take(inner, out.identity.name);
        else if (name == "namespace")
          take(inner, out.identity.ns);
        else if (name == "uid")
          take(inner, out.identity.uid);
        else if (name == "resourceVersion")
          take(inner, out.identity.resource_version);
        else if (name == "managedFields") {
          ondemand::array array;
          std::string_view raw;
          if (!inner.get_array().get(array) && !array.raw_json().get(raw)) {
            out.managed_fields.begin = static_cast<size_t>(raw.data() - text.data());
            out.managed_fields.end = out.managed_fields.begin + raw.size();
          }
        }
      }
    }
  }
  return !out.identity.name.empty();
}

// Widens the span of a value to its key and one of the commas around it.
Span with_key(const std::string& text, Span value) {
  Span span = value;
  span.begin = text.rfind('"', text.rfind(':', value.begin - 1));
  span.begin = text.rfind('"', span.begin - 1);
  const size_t next = text.find_first_not_of(" \t\r\n", value.end);
  if (next != std::string::npos && text[next] == ',') {
    span.end = next + 1;
  } else {
    const size_t before = text.find_last_not_of(" \t\r\n", span.begin - 1);
    if (text[before] == ',') span.begin = before;
  }
  return span;
}

}  // namespace

Result<Incoming> read_object(std::string text, std::string_view api_version, std::string_view kind,
                             bool drop_managed_fields) {
  static thread_local ondemand::parser parser;
  // The parser's tables are five times the text: one huge object must not cost that for ever.
  if (parser.capacity() > kMaxKeptCapacity && text.size() < kMaxKeptCapacity / 4) parser = ondemand::parser();
  Fields fields;
  if (!read_fields(parser, text, fields))
    return fail(Errc::kDecode, "a {} that is no JSON object with a metadata.name: {}", kind,
                std::string_view(text).substr(0, 100));
  if (drop_managed_fields && fields.managed_fields.end > fields.managed_fields.begin) {
    const Span span = with_key(text, fields.managed_fields);
    text.erase(span.begin, span.end - span.begin);
    const auto shift = [&](Span& other) {
      if (other.begin > span.begin) {
        other.begin -= span.end - span.begin;
        other.end -= span.end - span.begin;
      }
    };
    shift(fields.api_version_value);
    shift(fields.kind_value);
  }
  if (fields.kind.empty() && fields.api_version.empty()) {
    const std::string head = R"("apiVersion":)" + json_string(api_version) + R"(,"kind":)" + json_string(kind) + ",";
    text.insert(text.find('{') + 1, head);
  } else if (fields.kind == "PartialObjectMetadata" && fields.api_version_value.end != 0) {
    Span first = fields.api_version_value, second = fields.kind_value;
    std::string first_text = json_string(api_version), second_text = json_string(kind);
    if (first.begin < second.begin) {
      std::swap(first, second);
      std::swap(first_text, second_text);
    }
    text.replace(first.begin, first.end - first.begin,
                 first_text);  // the later one first, so that the other does not move
    text.replace(second.begin, second.end - second.begin, second_text);
  }
  Incoming incoming;
  static_cast<Identity&>(incoming) = std::move(fields.identity);
  incoming.text = std::move(text);
  incoming.kind = std::move(fields.kind);
  return incoming;
}

}  // namespace hookd::cache
