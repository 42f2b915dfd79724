#include "embedded/schema/quantity.h"

#include <gtest/gtest.h>

#include <utility>

namespace hookd::embedded {
namespace {

TEST(Quantity, IsPrintedInItsCanonicalForm) {
  const std::pair<const char*, const char*> kCases[] = {
      {"0.5", "500m"},
      {"1024Ki", "1Mi"},
      {"1000m", "1"},
      {"1000k", "1M"},
      {"1.0", "1"},
      {"0.5Gi", "512Mi"},
      {"0", "0"},
      {"0.0", "0"},
      {"1e3", "1e3"},
      {"1.5e3", "1500"},
      {"10e2", "1e3"},
      {"2000Mi", "2000Mi"},
      {"1048576", "1048576"},
      {"1.1Mi", "1153433600m"},
      {"0.1Gi", "107374182400m"},
      {" 5 ", "5"},
      {".5", "500m"},
      {"2000n", "2u"},
      {"9Ei", "9223372036854775807"},
  };
  for (const auto& [in, out] : kCases) {
    EXPECT_EQ(canonical_quantity(in), out) << in;
  }
}

TEST(Quantity, StaysAsWrittenWhereTheServerOnlyGlancesAtIt) {
  for (const char* text : {"1.500", "+5Mi", "0100m", "1E3", "100m", "12e6", "5."}) {
    EXPECT_EQ(canonical_quantity(text), text);
  }
}

TEST(Quantity, FinerThanANanoIsRoundedUp) {
  EXPECT_EQ(canonical_quantity("0.1n"), "1n");
  EXPECT_EQ(milli_quantity("100u"), "1m");
  EXPECT_EQ(milli_quantity("-1500u"), "-2m");
  EXPECT_EQ(milli_quantity("1.5"), "1500m");
}

TEST(Quantity, RefusesWhatIsNone) {
  for (const char* text : {"", "abc", "1.2.3", "5x", "Mi", "1e", "--1", "1 Mi", "{}"}) {
    EXPECT_FALSE(canonical_quantity(text)) << text;
    EXPECT_NE(quantity_problem(text), "") << text;
  }
  EXPECT_EQ(quantity_problem("5KiB"),
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  EXPECT_EQ(quantity_problem("5kk"), "unable to parse quantity's suffix");
  EXPECT_EQ(quantity_problem("5"), "");
}

TEST(Quantity, HugeNumbersDoNotOverflow) {
  EXPECT_TRUE(canonical_quantity("99999999999999999999999999999999999999999999999E"));
  EXPECT_TRUE(canonical_quantity("1e999"));
  EXPECT_EQ(compare_quantities("1e999", "1"), 1);
}

TEST(Quantity, Compares) {
  EXPECT_EQ(compare_quantities("1Gi", "1024Mi"), 0);
  EXPECT_EQ(compare_quantities("500m", "1"), -1);
  EXPECT_EQ(compare_quantities("-1", "1"), -1);
  EXPECT_EQ(compare_quantities("-1", "-2"), 1);
  EXPECT_EQ(compare_quantities("0", "-0"), 0);
}

TEST(Quantity, Adds) {
  EXPECT_EQ(add_quantities("500m", "1"), "1500m");
  EXPECT_EQ(add_quantities("1Gi", "1Gi"), "2Gi");
  EXPECT_EQ(add_quantities("0", "1Gi"), "1Gi");
  EXPECT_EQ(add_quantities("1", "-2"), "-1");
}

}  // namespace
}  // namespace hookd::embedded
