#include "embedded/wire/body.h"

#include <fmt/format.h>

#include "config/yaml_source.h"
#include "embedded/wire/json_text.h"

namespace hookd::embedded {
namespace {

// YAML's own decoder speaks of lines; JSON is YAML too and takes the faster way.
std::expected<Body, std::string> read_yaml(std::string_view text) {
  const auto start = text.find_first_not_of(" \t\r\n");
  if (start != std::string_view::npos && text[start] == '{') {
    if (auto value = parse_text(text)) return Body{*std::move(value), std::string(text)};
  }
  config::Problems problems("");
  config::YamlLimits limits;
  limits.depth = kMaxDepth;
  const auto documents = config::parse_yaml(text, problems, limits);
  Body body;
  std::string error;
  for (const auto& problem : problems.sorted()) {
    const auto& message = problem.message;
    // "data.a: …already… " is told as a warning or a strict error, all else is broken YAML.
    const auto twice = message.find("twice");
    const auto open = message.find('"');
    if (twice != std::string::npos || message.find("already") != std::string::npos) {
      const auto close = open == std::string::npos ? open : message.find('"', open + 1);
      const auto key = close == std::string::npos ? message : message.substr(open + 1, close - open - 1);
      body.duplicates.push_back(fmt::format("line {}: key {} already set in map", problem.line, go_quote(key)));
    } else if (error.empty()) {
      error = fmt::format("yaml: line {}: {}", problem.line, message);
    }
  }
  if (!error.empty()) return std::unexpected(error);
  if (documents.empty()) return Body{json::value(nullptr), "null"};
  if (auto done = config::append_json(body.text, documents.front()); !done)
    return std::unexpected("yaml: " + done.error().what);
  auto value = parse_text(body.text);
  if (!value) return std::unexpected(value.error());
  body.value = *std::move(value);
  return body;
}

}  // namespace

std::expected<Body, std::string> read_body(std::string_view text, Format format) {
  if (format == Format::kYaml) return read_yaml(text);
  auto value = parse_text(text);
  if (!value) return std::unexpected(value.error());
  return Body{*std::move(value), {}};
}

Answer<void> check_size(std::string_view body) {
  if (body.size() <= kMaxBody) return {};
  return refuse(too_large(fmt::format("limit is {}", kMaxBody)));
}

std::string body_summary(std::string_view body) {
  if (body.empty()) return "<empty>";
  const auto part = body.substr(0, 30);
  const std::string_view dots = body.size() > 30 ? " ..." : "";
  if (body.front() == '{') return std::string(part) + std::string(dots);
  std::string out;
  for (const unsigned char c : part) out += fmt::format("{:02x}", c);
  return out + std::string(dots);
}

std::string warning_header(std::string_view text) {
  std::string out = "299 - \"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) continue;
    out += c;
  }
  return out + "\"";
}

}  // namespace hookd::embedded
