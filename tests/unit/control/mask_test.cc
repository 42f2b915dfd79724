#include "control/mask.h"

#include <gmock/gmock.h>

#include "base/json_read.h"
#include "unit/support/objects.h"

namespace hookd::control {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Mask, HidesTheValuesOfASecretAndOfItsAnnotation) {
  const std::string shown = mask_secret(
      R"({"kind":"Secret","metadata":{"name":"s","annotations":{"a":"b","kubectl.kubernetes.io/last-applied-configuration":"{\"data\":{\"p\":\"aHVudGVyMg==\"}}"}},
          "data":{"p":"aHVudGVyMg=="},"stringData":{"q":"hunter2"},"type":"Opaque"})");
  EXPECT_THAT(shown, Not(HasSubstr("aHVudGVyMg")));
  EXPECT_THAT(shown, Not(HasSubstr("hunter2")));
  EXPECT_EQ(json_string_at(shown, {"data", "p"}), kMasked);
  EXPECT_EQ(json_string_at(shown, {"metadata", "annotations", "a"}), "b");
  EXPECT_EQ(mask_secret("{broken"), "\"(masked)\"");
}

TEST(Mask, HidesWhatDynamicApplyKeepsInASecret) {
  apply::Operation op;
  op.api_version = "v1";
  op.kind = "Secret";
  const std::string secret =
      R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","annotations":{"metacontroller.k8s.io/last-applied-configuration":"{\"data\":{\"p\":\"aHVudGVyMg==\"}}"}}})";
  op.object = op.patch = secret;
  mask_operation(op);
  for (const std::string& text : {op.object, op.patch, mask_secret(secret), *mask_secrets_within("[" + secret + "]")})
    EXPECT_EQ(text.find("aHVudGVyMg"), std::string::npos) << text;
}

TEST(Mask, KnowsSecretsOfTheCoreGroupAlone) {
  EXPECT_TRUE(is_secret(std::make_shared<kube::ResourceType>(test::make_type("", "Secret", "secrets")).get()));
  EXPECT_FALSE(is_secret(std::make_shared<kube::ResourceType>(test::make_type("x.io", "Secret", "secrets")).get()));
  EXPECT_FALSE(is_secret(nullptr));
}

TEST(Mask, HidesWhatOperationsDoToSecrets) {
  for (const char* patch :
       {R"({"data":{"p":"aHVudGVyMg=="}})", R"([{"op":"add","path":"/data/p","value":"aHVudGVyMg=="}])",
        R"({"data":"aHVudGVyMg=="})", "aHVudGVyMg=="}) {
    apply::Operation op;
    op.kind = "secrets";
    op.patch = patch;
    op.jq_filter = ".data.p = \"aHVudGVyMg==\"";
    op.object = R"({"stringData":{"p":"aHVudGVyMg=="}})";
    mask_operation(op);
    EXPECT_THAT(op.patch + op.jq_filter + op.object, Not(HasSubstr("aHVudGVyMg"))) << patch;
  }
  apply::Operation other;
  other.kind = "ConfigMap";
  other.patch = R"({"data":{"p":"x"}})";
  mask_operation(other);
  EXPECT_EQ(other.patch, R"({"data":{"p":"x"}})");
}

TEST(Mask, HidesVariablesWhoseNamesSoundSecret) {
  const Mask mask({{"API_TOKEN", "tok\"en-1"},
                   {"DB_PASSWORD", "hunter2"},
                   {"LOG", "info"},
                   {"AUTHOR", "somebody"},
                   {"PIN", "1234"},
                   {"SHIPPING", "fast"},
                   {"PWD", "/hooks"},
                   {"MY_KEY", "abc"}});
  EXPECT_EQ(mask.apply("hunter2, tok\"en-1 and 1234"), "(masked), (masked) and (masked)");
  EXPECT_EQ(mask.apply("info somebody fast /hooks abc"), "info somebody fast /hooks abc");
  EXPECT_EQ(mask.apply_to_json(R"({"a":"x tok\"en-1","n":1234,"b":["1234"],"c\"1234":true})"),
            R"j({"a":"x (masked)","n":1234,"b":["(masked)"],"c\"(masked)":true})j");
}

TEST(Mask, MasksTheLongerOfTwoFirst) {
  const Mask mask({{"A_TOKEN", "abcd"}, {"B_TOKEN", "abcdefgh"}});
  EXPECT_EQ(mask.apply("abcdefgh abcd"), "(masked) (masked)");
}

TEST(Mask, HidesTokensAndSignaturesInTexts) {
  const Mask mask;
  EXPECT_EQ(mask.apply("Authorization: Bearer eyJhbGciOi.J9-x, then"), "Authorization: Bearer (masked), then");
  EXPECT_EQ(mask.apply("authorization: basic dXNlcjpwYXNz1="), "authorization: basic (masked)");
  EXPECT_EQ(mask.apply("X-Hub-Signature-256: sha256=" + std::string(64, '1')), "X-Hub-Signature-256: sha256=(masked)");
  EXPECT_EQ(mask.apply("the bearer certificate, basic understanding"), "the bearer certificate, basic understanding");
  EXPECT_EQ(mask.apply(""), "");
}

}  // namespace
}  // namespace hookd::control
