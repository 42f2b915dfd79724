// Compression against a learnt dictionary: what comes out is what went in, and similar objects are small.
#include "cache/packed_text.h"

#include <gtest/gtest.h>

#include <random>

#include <fmt/format.h>

namespace hookd::cache {
namespace {

std::string random_text(std::mt19937_64& random, size_t size) {
  std::string text(size, '\0');
  // From JSON-like to arbitrary bytes.
  const std::string_view alphabet = R"({}[]":,0123456789abcdefghijklmnopqrstuvwxyz-./ \)";
  const bool any = random() % 4 == 0;
  for (char& c : text) c = any ? static_cast<char>(random()) : alphabet[random() % alphabet.size()];
  return text;
}

std::string pod_text(int i, std::mt19937_64& random) {
  std::string env;
  for (int k = 0; k < 20; ++k)
    env += fmt::format(R"({}{{"name":"VARIABLE_{}","value":"{:016x}"}})", k ? "," : "", k, random());
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"web-{:05}","namespace":"team-{}","uid":"{:08x}-1111-2222-3333-{:012x}","resourceVersion":"{}","labels":{{"app":"web"}}}},)"
      R"("spec":{{"containers":[{{"name":"main","image":"registry.example.com/team/web:v1.{}","env":[{}],"terminationMessagePath":"/dev/termination-log","imagePullPolicy":"IfNotPresent"}}],)"
      R"("tolerations":[{{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}}],"nodeName":"node-{}"}},)"
      R"("status":{{"phase":"Running","conditions":[{{"type":"Initialized","status":"True"}},{{"type":"Ready","status":"True"}}],"hostIP":"10.0.0.1"}}}})",
      i, i % 40, static_cast<uint32_t>(random()), random() & 0xffffffffffff, 100000 + i, i % 9, env, i % 100);
}

TEST(PackedText, RandomTextsComeBackAsTheyWere) {
  std::mt19937_64 random(7);
  Packer packer;
  std::vector<std::string> texts;
  std::vector<PackedText> packed;
  for (int i = 0; i < 3000; ++i) {
    texts.push_back(random_text(random, random() % 3000));
    packed.push_back(packer.pack(texts.back()));
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    ASSERT_TRUE(packed[i].unpack() == texts[i]) << i;
    EXPECT_EQ(packed[i].raw_bytes(), texts[i].size());
    EXPECT_LE(packed[i].stored_bytes(), texts[i].size());  // never larger than plain
  }
}

TEST(PackedText, EmptyAndOneByte) {
  Packer packer;
  for (int i = 0; i < 100; ++i) packer.pack("some text that is the same again and again");
  EXPECT_TRUE(packer.pack("").empty());
  EXPECT_EQ(packer.pack("").unpack(), "");
  EXPECT_EQ(packer.pack("x").unpack(), "x");
  EXPECT_TRUE(PackedText().empty());
  EXPECT_EQ(PackedText().unpack(), "");
}

TEST(PackedText, HugeTextsAmongSmallOnes) {
  std::mt19937_64 random(3);
  Packer packer;
  for (int i = 0; i < 40; ++i) packer.pack(pod_text(i, random));
  for (const size_t size : {size_t{1} << 20, size_t{5} << 20, size_t{32} << 20}) {
    std::string text(size, 'x');
    for (size_t i = 0; i < size; i += 97) text[i] = static_cast<char>('a' + random() % 26);
    const auto packed = packer.pack(text);
    EXPECT_TRUE(packed.unpack() == text);
    EXPECT_LT(packed.stored_bytes(), size / 5);
  }
  EXPECT_EQ(packer.pack("small").unpack(), "small");
}

TEST(PackedText, CopiesOutliveTheirPacker) {
  std::mt19937_64 random(3);
  std::vector<PackedText> kept;
  {
    Packer packer;
    for (int i = 0; i < 40; ++i) kept.push_back(packer.pack(pod_text(i, random)));
  }
  const PackedText copy = kept.back();
  kept.clear();
  EXPECT_EQ(copy.unpack().substr(0, 20), R"({"apiVersion":"v1",")");
}

TEST(PackedText, TheFirstTextsMayBeTinyOrHuge) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{200'000}}) {
    Packer packer;
    const std::string first(size, 'q');
    std::vector<PackedText> packed;
    for (int i = 0; i < 50; ++i) packed.push_back(packer.pack(first));
    for (const auto& one : packed) EXPECT_TRUE(one.unpack() == first);
    EXPECT_EQ(packer.pack("something else").unpack(), "something else");
  }
}

TEST(PackedText, TenThousandSimilarPodsAreSmall) {
  std::mt19937_64 random(11);
  Packer packer;
  size_t raw = 0, stored = 0;
  for (int i = 0; i < 10'000; ++i) {
    const auto packed = packer.pack(pod_text(i, random));
    raw += packed.raw_bytes();
    stored += packed.stored_bytes();
  }
  // 20 random values of 8 bytes in each cannot be less than 160 bytes.
  EXPECT_LT(stored, raw / 5);
  EXPECT_LT(stored / 10'000, 400U);
}

}  // namespace
}  // namespace hookd::cache
