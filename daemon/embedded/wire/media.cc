#include "embedded/wire/media.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <vector>

namespace hookd::embedded {
namespace {

struct Clause {
  std::string type, subtype;
  std::map<std::string, std::string> parameters;
  double quality = 1;
};

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

template <class Visit>
void split(std::string_view text, char separator, const Visit& visit) {
  while (true) {
    const auto end = text.find(separator);
    visit(trim(text.substr(0, end)));
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

// The best first.
std::vector<Clause> parse_accept(std::string_view header) {
  std::vector<Clause> out;
  split(header, ',', [&](std::string_view part) {
    Clause clause;
    bool first = true, good = true;
    split(part, ';', [&](std::string_view piece) {
      if (first) {
        first = false;
        const auto slash = piece.find('/');
        if (slash == std::string_view::npos) {
          good = piece == "*";
          clause.type = clause.subtype = "*";
          return;
        }
        clause.type = std::string(trim(piece.substr(0, slash)));
        clause.subtype = std::string(trim(piece.substr(slash + 1)));
        return;
      }
      const auto equals = piece.find('=');
      if (equals == std::string_view::npos) return;
      const std::string name(trim(piece.substr(0, equals))), value(trim(piece.substr(equals + 1)));
      if (name == "q")
        clause.quality = std::strtod(value.c_str(), nullptr);
      else
        clause.parameters[name] = value;
    });
    if (good && !clause.type.empty()) out.push_back(std::move(clause));
  });
  std::stable_sort(out.begin(), out.end(), [](const Clause& a, const Clause& b) {
    if (a.quality != b.quality) return a.quality > b.quality;
    return (a.type != "*") + (a.subtype != "*") > (b.type != "*") + (b.subtype != "*");
  });
  return out;
}

constexpr std::string_view kProtobuf = "application/vnd.kubernetes.protobuf";

// The router in front of the built-in kinds looks at the bare types only.
bool routed(std::string_view header) {
  if (header.empty()) return true;
  static constexpr std::string_view kTypes[] = {"application/json", "application/yaml", kProtobuf, "*/*"};
  bool found = false;
  split(header, ',', [&](std::string_view part) {
    const auto type = trim(part.substr(0, part.find(';')));
    found = found || std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes);
  });
  return found;
}

bool pretty_wanted(const Request& request) {
  if (request.has_parameter("pretty") && !request.parameter("pretty").empty()) {
    const auto value = request.parameter("pretty");
    return value == "1" || value == "t" || value == "T" || value == "true" || value == "TRUE" || value == "True";
  }
  const auto agent = request.header("user-agent");
  return agent.starts_with("curl") || agent.starts_with("Wget") || agent.starts_with("Mozilla/5.0");
}

// Fills what the parameters ask for; false = this clause cannot be served.
bool take(const Clause& clause, Format format, bool watch, Media& out) {
  const auto parameter = [&](std::string_view name) -> std::string_view {
    const auto found = clause.parameters.find(std::string(name));
    return found == clause.parameters.end() ? std::string_view{} : found->second;
  };
  out = Media{};
  out.format = format;
  if (const auto stream = parameter("stream"); !stream.empty() && (stream != "watch" || format != Format::kJson))
    return false;
  out.pretty = parameter("pretty") == "1";
  (void)watch;
  const auto kind = parameter("as");
  if (kind.empty() && parameter("g").empty() && parameter("v").empty()) return true;
  const auto version = parameter("v");
  if (parameter("g") != "meta.k8s.io" || (version != "v1" && version != "v1beta1")) return false;
  out.meta_version = std::string(version);
  if (kind == "Table")
    out.shape = Shape::kTable;
  else if (kind == "PartialObjectMetadata")
    out.shape = Shape::kMetadata;
  else if (kind == "PartialObjectMetadataList")
    out.shape = Shape::kMetadataList;
  else
    return false;
  return true;
}

}  // namespace

bool accepts(std::string_view header, std::string_view type) {
  if (header.empty()) return true;
  bool found = false;
  split(header, ',', [&](std::string_view part) {
    const auto named = trim(part.substr(0, part.find(';')));
    found = found || named == type || named == "*/*" || named == "application/*";
  });
  return found;
}

Answer<Media> accepted(const Request& request, bool custom, bool watch, bool watchable) {
  const auto header = request.header("accept");
  if (!custom && !routed(header))
    return refuse(
        {406,
         "NotAcceptable",
         std::string("406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, "
                     "application/vnd.kubernetes.protobuf") +
             (watchable ? ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch" : ""),
         {},
         true});
  Media media;
  if (header.empty()) {
    media.pretty = pretty_wanted(request);
    return media;
  }
  for (const auto& clause : parse_accept(header)) {
    for (const auto format : {Format::kJson, Format::kYaml}) {
      const std::string_view subtype = format == Format::kJson ? "json" : "yaml";
      const bool fits = (clause.type == "application" && (clause.subtype == subtype || clause.subtype == "*")) ||
                        (clause.type == "*" && clause.subtype == "*");
      if (!fits || !take(clause, format, watch, media)) continue;
      media.pretty |= pretty_wanted(request);
      if (watch && format == Format::kYaml) {
        return refuse(not_acceptable(custom ? "application/json;stream=watch"
                                            : "application/json;stream=watch, "
                                              "application/vnd.kubernetes.protobuf;stream=watch"));
      }
      return media;
    }
  }
  return refuse(not_acceptable(custom ? "application/json, application/yaml"
                                      : "application/json, application/yaml, application/vnd.kubernetes.protobuf"));
}

bool is_protobuf(const Request& request) {
  const auto header = request.header("content-type");
  return trim(header.substr(0, header.find(';'))) == kProtobuf;
}

Answer<Format> body_format(const Request& request) {
  const auto header = request.header("content-type");
  const auto type = trim(header.substr(0, header.find(';')));
  if (type.empty() || type == "application/json") return Format::kJson;
  if (type == "application/yaml") return Format::kYaml;
  return refuse(unsupported_media_type(
      std::string("the body of the request was in an unknown format - accepted media types include: ") +
      "application/json, application/yaml, application/vnd.kubernetes.protobuf"));
}

Answer<PatchType> patch_type(const Request& request, bool custom) {
  const auto header = request.header("content-type");
  const auto type = trim(header.substr(0, header.find(';')));
  if (type == "application/json-patch+json") return PatchType::kJson;
  if (type == "application/merge-patch+json") return PatchType::kMerge;
  if (type == "application/apply-patch+yaml") return PatchType::kApply;
  if (type == "application/strategic-merge-patch+json" && !custom) return PatchType::kStrategic;
  if (custom)
    return refuse(unsupported_media_type(
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"));
  return refuse({415, "UnsupportedMediaType", "415: Unsupported Media Type", {}, true});
}

}  // namespace hookd::embedded
