#include "config/yaml_text.h"

namespace hookd::config {
namespace {

constexpr std::string_view kBlank = " \t";

bool is_marker(std::string_view line, std::string_view marker) {
  return line.starts_with(marker) &&
         (line.size() == marker.size() || kBlank.find(line[marker.size()]) != std::string_view::npos);
}

}  // namespace

YamlText::YamlText(std::string_view text) : text_(text) {
  for (size_t start = 0; start < text.size();) {
    starts_.push_back(start);
    const size_t end = text.find('\n', start);
    start = end == std::string_view::npos ? text.size() : end + 1;
  }
}

std::string_view YamlText::line(int number) const {
  if (number < 1 || static_cast<size_t>(number) > starts_.size()) return {};
  const size_t start = starts_[static_cast<size_t>(number) - 1];
  return text_.substr(start, text_.find('\n', start) - start);
}

size_t YamlText::offset(Position at) const {
  if (at.line < 1 || static_cast<size_t>(at.line) > starts_.size()) return text_.size();
  return std::min(starts_[static_cast<size_t>(at.line) - 1] + static_cast<size_t>(at.column) - 1, text_.size());
}

size_t YamlText::after_properties(size_t offset) const {
  while (offset < text_.size() && (text_[offset] == '&' || text_[offset] == '!')) {
    offset = std::min(text_.find_first_of(" \t\n", offset), text_.size());
    while (offset < text_.size() &&
           (text_[offset] == ' ' || text_[offset] == '\t' || text_[offset] == '\n' || text_[offset] == '#'))
      offset = text_[offset] == '#' ? std::min(text_.find('\n', offset), text_.size()) : offset + 1;
  }
  return offset;
}

std::optional<size_t> YamlText::after_quotes(size_t offset) const {
  const char quote = text_[offset];
  for (size_t i = offset + 1; i < text_.size(); ++i) {
    if (quote == '"' && text_[i] == '\\') {
      ++i;
    } else if (text_[i] == quote) {
      if (quote == '"' || i + 1 == text_.size() || text_[i + 1] != quote) return i + 1;
      ++i;  // '' stands for '
    }
  }
  return std::nullopt;
}

std::string_view YamlText::check_scalar(Position at) const {
  const size_t begin = after_properties(offset(at));
  if (begin == text_.size() || (text_[begin] != '"' && text_[begin] != '\'')) return {};
  return after_quotes(begin) ? std::string_view{} : "this quote is never closed";
}

std::string_view YamlText::check_key(const Node& key) const {
  constexpr std::string_view kMissing = "expected a ':' after this key";
  const std::string_view before = line(key.at.line).substr(0, static_cast<size_t>(key.at.column) - 1);
  if (const size_t last = before.find_last_not_of(kBlank); last != std::string_view::npos && before[last] == '?')
    return {};
  size_t end = after_properties(offset(key.at));
  if (end == text_.size()) return kMissing;
  if (text_[end] == '*') return {};
  if (text_[end] == '"' || text_[end] == '\'') {
    const auto closed = after_quotes(end);
    if (!closed) return "this quote is never closed";
    end = *closed;
  } else {
    if (text_.substr(end, key.text.size()) != key.text) return kMissing;
    end += key.text.size();
  }
  end = text_.find_first_not_of(kBlank, end);
  return end != std::string_view::npos && text_[end] == ':' ? std::string_view{} : kMissing;
}

std::string_view YamlText::check_null_in_flow_list(Position at) const {
  const size_t begin = offset(at);
  const bool written = begin < text_.size() && std::string_view("~nN&!*").find(text_[begin]) != std::string_view::npos;
  return written ? std::string_view{} : "a value is missing here";
}

char YamlText::at(Position position) const {
  const size_t where = offset(position);
  return where < text_.size() ? text_[where] : '\0';
}

bool YamlText::nothing_after(const Node& scalar) const {
  return text_.find_first_not_of(" \t\n", offset(scalar.at) + scalar.text.size()) == std::string_view::npos;
}

bool YamlText::separated(Position start) const {
  const std::string_view own = line(start.line);
  if (start.column == 1 && is_marker(own, "---")) return true;
  if (own.substr(0, static_cast<size_t>(start.column) - 1).find_first_not_of(kBlank) != std::string_view::npos)
    return false;
  for (int i = start.line - 1; i >= 1; --i) {
    const std::string_view text = line(i);
    if (is_marker(text, "...") || is_marker(text, "---")) return true;
    const size_t first = text.find_first_not_of(kBlank);
    if (first != std::string_view::npos && text[first] != '#' && text[0] != '%') return false;
  }
  return false;
}

}  // namespace hookd::config
