#include "embedded/schema/check_format.h"

#include <gtest/gtest.h>

#include <tuple>

namespace hookd::embedded {
namespace {

struct Case {
  const char* format;
  const char* good;
  const char* bad;
};

class Formats : public testing::TestWithParam<Case> {};

TEST_P(Formats, TellsGoodFromBad) {
  const Case& one = GetParam();
  EXPECT_TRUE(known_format(one.format));
  EXPECT_TRUE(matches_format(one.format, one.good)) << one.good;
  EXPECT_FALSE(matches_format(one.format, one.bad)) << one.bad;
}

INSTANTIATE_TEST_SUITE_P(
    All, Formats,
    testing::Values(
        Case{"date-time", "2026-01-02T03:04:05Z", "2026-13-02T03:04:05Z"},
        Case{"date-time", "2026-01-02t03:04:05.123+01:00", "2026-01-02 03:04:05"},
        Case{"date", "2024-02-29", "2023-02-29"}, Case{"duration", "1h30m", "soon"}, Case{"duration", "3 days", "h1"},
        Case{"ipv4", "10.0.0.1", "10.0.0.256"}, Case{"ipv6", "fe80::1", "fe80"},
        Case{"cidr", "10.0.0.0/8", "10.0.0.0/33"}, Case{"mac", "00:11:22:aa:bb:cc", "00:11:22"},
        Case{"uri", "https://a.b/c?d", "not a uri"}, Case{"uri", "/only/a/path", "no-scheme"},
        Case{"email", "a@b.example", "a.b"}, Case{"hostname", "a-b.example.com", "-a-"},
        Case{"uuid", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6ba7b810"},
        Case{"uuid4", "6ba7b810-9dad-41d1-80b4-00c04fd430c8", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"},
        Case{"byte", "aGVsbG8=", "a"}, Case{"hexcolor", "#0aF", "#0g0"},
        Case{"rgbcolor", "rgb(1, 2, 255)", "rgb(1,2,256)"}, Case{"isbn10", "0-321-75104-3", "0-321-75104-4"},
        Case{"isbn13", "978-0321751041", "978-0321751042"}, Case{"ssn", "123-45-6789", "123-45-678"},
        Case{"creditcard", "4111 1111 1111 1111", "1"}, Case{"bsonobjectid", "507f1f77bcf86cd799439011", "507f"},
        Case{"k8s-short-name", "a-1", "a.b"}, Case{"k8s-long-name", "a-1.b", "A"}));

TEST(MatchesFormat, LetsUnknownFormatsPass) {
  EXPECT_FALSE(known_format("phone"));
  EXPECT_TRUE(matches_format("phone", "anything"));
}

TEST(MatchesPattern, FollowsRe2) {
  EXPECT_EQ(matches_pattern("^a.c$", "abc"), true);
  EXPECT_EQ(matches_pattern("^a.c$", "a\nc"), false);  // . is no line break
  EXPECT_EQ(matches_pattern("^b$", "a\nb"), false);    // ^ and $ are the ends of the text
  EXPECT_EQ(matches_pattern("^.$", "é"), true);        // characters, not bytes
  EXPECT_EQ(matches_pattern("(?i)^(?P<x>ABC)$", "abc"), true);
  EXPECT_EQ(matches_pattern("b", "abc"), true);  // anywhere
}

TEST(MatchesPattern, RefusesWhatRe2Refuses) {
  EXPECT_EQ(pattern_problem("(a"), "error parsing regexp: missing closing ): `(a`");
  EXPECT_EQ(pattern_problem("^(?!x)"), "error parsing regexp: invalid or unsupported Perl syntax: `(?!`");
  EXPECT_EQ(pattern_problem("(a)\\1"), "error parsing regexp: invalid escape sequence: `\\1`");
  EXPECT_EQ(pattern_problem("[a"), "error parsing regexp: missing closing ]: `[a`");
  EXPECT_EQ(pattern_problem("^[a-z]+$"), "");
  EXPECT_EQ(matches_pattern("(a", "a"), std::nullopt);
}

}  // namespace
}  // namespace hookd::embedded
