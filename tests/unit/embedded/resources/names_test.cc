#include "embedded/resources/names.h"

#include <gtest/gtest.h>

namespace hookd::embedded {
namespace {

TEST(Names, WhatEachGrammarTakesAndRefuses) {
  struct Case {
    Faulty (*rule)(std::string_view);
    const char* good;
    const char* bad;
  };
  const Case cases[] = {
      {dns_label, "a-1", "a.b"},
      {dns_label, "1a", "-a"},
      {dns_subdomain, "a.b-c", "a..b"},
      {dns_subdomain, "a", "A"},
      {dns_1035_label, "a1", "1a"},
      {label_key, "a.b/C_d", "/x"},
      {label_key, "X", "a/b/c"},
      {label_value, "", "a b"},
      {label_value, "a_B.c", "-"},
      {config_key, ".env", ".."},
      {config_key, "a..b", "..a"},
      {env_name, "a b", "a=b"},
      {port_name, "http-2", "http--2"},
      {port_name, "a", "80"},
      {percent, "5%", "5"},
      {path_segment, "a:b", "a/b"},
      {wildcard_subdomain, "*.a", "*a"},
      {http_header_name, "X-Y", "x_y"},
  };
  for (const Case& entry : cases) {
    EXPECT_TRUE(entry.rule(entry.good).empty()) << entry.good;
    EXPECT_FALSE(entry.rule(entry.bad).empty()) << entry.bad;
  }
}

TEST(Names, FaultsAreInTheRealServersWords) {
  EXPECT_EQ(dns_label("A").front(),
            "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and "
            "end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
            "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')");
  EXPECT_EQ(dns_label("a.b").front(), "must not contain dots");
  EXPECT_EQ(label_value(std::string(64, 'a')).front(), "must be no more than 63 bytes");
  EXPECT_EQ(dns_subdomain(std::string(254, 'a')).front(), "must be no more than 253 characters");
  EXPECT_EQ(port_number(70000).front(), "must be between 1 and 65535, inclusive");
}

TEST(Names, Addresses) {
  EXPECT_TRUE(is_ip("10.0.0.1") && is_ip("::1") && is_cidr("10.0.0.0/8") && is_cidr("fd00::/64"));
  EXPECT_FALSE(is_ip("10.0.0") || is_ip("x") || is_cidr("10.0.0.0") || is_cidr("10.0.0.0/33") || is_cidr("1.1.1.1/x"));
}

}  // namespace
}  // namespace hookd::embedded
