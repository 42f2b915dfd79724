#include "embedded/schema/check_format.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>

namespace hookd::embedded {

namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }

bool matches(const char* pattern, std::string_view text) { return matches_pattern(pattern, text).value_or(false); }

bool any(std::string_view) { return true; }

bool ipv4(std::string_view text) {
  in_addr out{};
  return inet_pton(AF_INET, std::string(text).c_str(), &out) == 1;
}

bool ipv6(std::string_view text) {
  in6_addr out{};
  return inet_pton(AF_INET6, std::string(text).c_str(), &out) == 1;
}

bool cidr(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view address = text.substr(0, slash), bits = text.substr(slash + 1);
  const bool v4 = ipv4(address);
  if ((!v4 && !ipv6(address)) || bits.empty() || !std::ranges::all_of(bits, digit) || bits.size() > 3) return false;
  return std::stoi(std::string(bits)) <= (v4 ? 32 : 128);
}

bool uri(std::string_view text) {
  // As Go's ParseRequestURI: an absolute path or scheme:something, without control characters and spaces.
  if (text.empty() || std::ranges::any_of(text, [](unsigned char c) { return c <= ' ' || c == 0x7f; })) return false;
  if (text.front() == '/') return true;
  return matches(R"(^[a-zA-Z][a-zA-Z0-9+.-]*:.+)", text);
}

bool email(std::string_view text) { return matches(R"(^[^\s@<>]+@[^\s@<>]+$|^.*<[^\s@<>]+@[^\s@<>]+>$)", text); }

bool hostname(std::string_view text) {
  if (text.size() > 255) return false;
  size_t label = 0;
  for (char c : text) {
    label = c == '.' ? 0 : label + 1;
    if (label > 63) return false;
  }
  return matches(
      R"(^[a-zA-Z0-9\x{80}-\x{10ffff}](-?[a-zA-Z0-9\x{80}-\x{10ffff}]{0,62})?)"
      R"(|([a-zA-Z0-9\x{80}-\x{10ffff}]([a-zA-Z0-9\x{80}-\x{10ffff}-]{0,61}[a-zA-Z0-9\x{80}-\x{10ffff}])?\.)+)"
      R"([a-zA-Z\x{80}-\x{10ffff}]{2,63}$)",
      text);
}

bool isbn10(std::string_view text) {
  int sum = 0, count = 0;
  for (char c : text) {
    if (c == '-' || c == ' ') continue;
    const bool x = (c == 'X' || c == 'x') && count == 9;
    if ((!digit(c) && !x) || count == 10) return false;
    sum += (10 - count++) * (x ? 10 : c - '0');
  }
  return count == 10 && sum % 11 == 0;
}

bool isbn13(std::string_view text) {
  int sum = 0, count = 0;
  for (char c : text) {
    if (c == '-' || c == ' ') continue;
    if (!digit(c) || count == 13) return false;
    sum += (count++ % 2 ? 3 : 1) * (c - '0');
  }
  return count == 13 && sum % 10 == 0;
}

bool credit_card(std::string_view text) {
  std::string digits;
  std::ranges::copy_if(text, std::back_inserter(digits), digit);
  return matches(R"(^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|)"
                 R"(3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$)",
                 digits);
}

bool byte(std::string_view text) { return text.size() % 4 == 0 && matches(R"(^[A-Za-z0-9+/]*={0,2}$)", text); }

bool date(std::string_view text) {
  if (!matches(R"(^\d{4}-\d{2}-\d{2}$)", text)) return false;
  const int year = std::stoi(std::string(text.substr(0, 4)));
  const int month = std::stoi(std::string(text.substr(5, 2))), day = std::stoi(std::string(text.substr(8, 2)));
  const std::chrono::year_month_day when{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  return when.ok();
}

bool date_time(std::string_view text) {
  const size_t t = text.find_first_of("Tt");
  if (t == std::string_view::npos || !date(text.substr(0, t))) return false;
  const std::string_view time = text.substr(t + 1);
  if (!matches(R"(^\d{2}:\d{2}:\d{2}(\.\d+)?([zZ]|[+-]\d{2}:\d{2})$)", time)) return false;
  return time.substr(0, 2) < "24" && time.substr(3, 2) < "60" && time.substr(6, 2) < "60";
}

bool duration(std::string_view text) {
  if (matches(R"(^[-+]?(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)$)", text)) return true;
  return matches(R"((?i)\d+\s*(ns|nano[a-z]*|us|µs|micro[a-z]*|ms|milli[a-z]*|s|sec[a-z]*|m|min[a-z]*|h|hr|hour[a-z]*|)"
                 R"(d|day[a-z]*|w|wk|week[a-z]*)([^a-z]|$))",
                 text);
}

bool short_name(std::string_view text) {
  return text.size() <= 63 && matches(R"(^[a-z0-9]([-a-z0-9]*[a-z0-9])?$)", text);
}
bool long_name(std::string_view text) {
  return text.size() <= 253 && matches(R"(^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$)", text);
}

using Check = bool (*)(std::string_view);

Check uuid(char version) {
  switch (version) {
    case '3':
      return [](std::string_view text) {
        return matches("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$", text);
      };
    case '4':
      return [](std::string_view text) {
        return matches("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$", text);
      };
    case '5':
      return [](std::string_view text) {
        return matches("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$", text);
      };
    default:
      return [](std::string_view text) {
        return matches("(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$", text);
      };
  }
}

const std::map<std::string, Check, std::less<>>& formats() {
  static const std::map<std::string, Check, std::less<>> kFormats{
      {"bsonobjectid", [](std::string_view text) { return matches("^[0-9a-fA-F]{24}$", text); }},
      {"uri", uri},
      {"email", email},
      {"hostname", hostname},
      {"ipv4", ipv4},
      {"ipv6", ipv6},
      {"cidr", cidr},
      {"mac",
       [](std::string_view text) {
         return matches(
             "^([0-9a-fA-F]{2}[:-]){5}([0-9a-fA-F]{2}[:-]){0,2}[0-9a-fA-F]{2}$|"
             "^([0-9a-fA-F]{4}\\.){2,3}[0-9a-fA-F]{4}$",
             text);
       }},
      {"uuid", uuid(' ')},
      {"uuid3", uuid('3')},
      {"uuid4", uuid('4')},
      {"uuid5", uuid('5')},
      {"isbn", [](std::string_view text) { return isbn10(text) || isbn13(text); }},
      {"isbn10", isbn10},
      {"isbn13", isbn13},
      {"creditcard", credit_card},
      {"ssn", [](std::string_view text) { return matches("^\\d{3}[- ]?\\d{2}[- ]?\\d{4}$", text); }},
      {"hexcolor", [](std::string_view text) { return matches("^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$", text); }},
      {"rgbcolor",
       [](std::string_view text) {
         return matches(
             "^rgb\\(\\s*(0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])\\s*,\\s*(0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|"
             "25[0-5])\\s*,\\s*(0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])\\s*\\)$",
             text);
       }},
      {"byte", byte},
      {"password", any},
      {"date", date},
      {"duration", duration},
      {"datetime", date_time},
      {"k8sshortname", short_name},
      {"k8slongname", long_name}};
  return kFormats;
}

Check find(std::string_view format) {
  std::string plain(format);
  std::erase(plain, '-');
  auto found = formats().find(plain);
  return found == formats().end() ? nullptr : found->second;
}

}  // namespace

bool known_format(std::string_view format) { return find(format) != nullptr; }

bool matches_format(std::string_view format, std::string_view text) {
  const Check check = find(format);
  return !check || check(text);
}

}  // namespace hookd::embedded
