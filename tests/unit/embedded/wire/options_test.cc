#include "embedded/wire/options.h"

#include <gtest/gtest.h>

#include "embedded/wire/body.h"
#include "embedded/wire/json_text.h"
#include "embedded/wire/media.h"

namespace hookd::embedded {
namespace {

Request with_query(std::string_view query) {
  Request request;
  request.query = parse_query(query);
  return request;
}
Request with_header(std::string name, std::string value) {
  Request request;
  request.headers = {{std::move(name), std::move(value)}};
  return request;
}

TEST(ListOptions, WhatDoesNotGoTogetherIsRefused) {
  EXPECT_EQ(list_options(with_query("resourceVersionMatch=Exact"), false).error().message,
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is "
            "forbidden unless resourceVersion is provided");
  EXPECT_EQ(list_options(with_query("sendInitialEvents=true"), false).error().code, 422);
  EXPECT_EQ(list_options(with_query("sendInitialEvents=true"), true).error().message,
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires "
            "setting resourceVersionMatch to NotOlderThan");
  EXPECT_TRUE(list_options(with_query("sendInitialEvents=true&resourceVersionMatch=NotOlderThan"), true));
}

TEST(ListOptions, NumbersAreReadAsGoDoes) {
  EXPECT_EQ(list_options(with_query("limit=x"), false).error().message,
            "strconv.ParseInt: parsing \"x\": invalid syntax");
  EXPECT_EQ(list_options(with_query("limit=-1"), false)->limit, 0);
  EXPECT_EQ(list_options(with_query("timeoutSeconds=99999999999999999999"), true).error().message,
            "strconv.ParseInt: parsing \"99999999999999999999\": value out of range");
}

TEST(WriteOptions, AreChecked) {
  EXPECT_EQ(write_options(with_query("dryRun=x"), WriteKind::kCreate).error().message,
            "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"x\"]: supported values: \"All\"");
  EXPECT_TRUE(write_options(with_query("dryRun=All"), WriteKind::kUpdate)->dry_run);
  EXPECT_EQ(write_options(with_query(""), WriteKind::kApply).error().message,
            "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch");
  EXPECT_EQ(write_options(with_query("force=1"), WriteKind::kPatch).error().code, 422);
  EXPECT_TRUE(*write_options(with_query("force=1&fieldManager=m"), WriteKind::kApply)->force);
}

TEST(DeleteOptions, FromBodyOrQuery) {
  const auto body = *parse_text(R"({"gracePeriodSeconds":5,"preconditions":{"uid":"u"},"propagationPolicy":"Orphan"})");
  const auto options = delete_options({}, &body.get_object());
  ASSERT_TRUE(options);
  EXPECT_EQ(options->grace_period_seconds, 5);
  EXPECT_EQ(options->uid, "u");
  EXPECT_EQ(options->propagation, "Orphan");
  EXPECT_EQ(delete_options(with_query("gracePeriodSeconds=7"), nullptr)->grace_period_seconds, 7);
  const auto wrong = *parse_text(R"({"gracePeriodSeconds":"x"})");
  EXPECT_EQ(delete_options({}, &wrong.get_object()).error().message,
            "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64");
}

TEST(Manager, IsTheFirstPartOfTheUserAgent) {
  EXPECT_EQ(manager_of_user_agent("kubectl/v1.36 (linux)"), "kubectl");
  EXPECT_EQ(manager_of_user_agent(""), "");
}

TEST(Media, Negotiation) {
  const auto take = [](std::string accept, bool watch = false) {
    return accepted(with_header("accept", std::move(accept)), false, watch);
  };
  EXPECT_EQ(take("application/json")->shape, Shape::kObject);
  EXPECT_EQ(take("application/json;as=Table;v=v1;g=meta.k8s.io,application/json")->shape, Shape::kTable);
  EXPECT_EQ(take("application/json;as=Foo;v=v1;g=meta.k8s.io,application/json")->shape, Shape::kObject);
  EXPECT_EQ(take("application/json;as=Foo;v=v1;g=meta.k8s.io").error().code, 406);
  EXPECT_EQ(take("text/html;q=0.9, application/yaml;q=0.8")->format, Format::kYaml);
  EXPECT_EQ(take("application/vnd.kubernetes.protobuf,application/json")->format, Format::kJson);
  EXPECT_EQ(take("application/vnd.kubernetes.protobuf").error().code, 406);
  EXPECT_EQ(take("*/*")->format, Format::kJson);
  EXPECT_EQ(take("application/yaml", true).error().code, 406);
  EXPECT_EQ(take("application/json;stream=watch", true)->format, Format::kJson);
}

TEST(Media, PatchTypes) {
  EXPECT_EQ(*patch_type(with_header("content-type", "application/json-patch+json; charset=utf-8"), false),
            PatchType::kJson);
  EXPECT_EQ(patch_type(with_header("content-type", "application/json"), false).error().message,
            "415: Unsupported Media Type");
  EXPECT_EQ(patch_type(with_header("content-type", "application/strategic-merge-patch+json"), true).error().code, 415);
}

TEST(Body, YamlIsReadAndItsDuplicatesAreTold) {
  const auto body = read_body("a: 1\nb: {c: x}\n", Format::kYaml);
  ASSERT_TRUE(body) << body.error();
  EXPECT_EQ(to_text(body->value), R"({"a":1,"b":{"c":"x"}})");
  const auto twice = read_body("a: 1\na: 2\n", Format::kYaml);
  ASSERT_TRUE(twice) << twice.error();
  ASSERT_EQ(twice->duplicates.size(), 1u);
  EXPECT_EQ(twice->duplicates[0], "line 2: key \"a\" already set in map");
  EXPECT_FALSE(read_body("a: [", Format::kYaml));
}

TEST(Body, IsBoundedAndShownShort) {
  EXPECT_TRUE(check_size(std::string(kMaxBody, 'x')));
  EXPECT_EQ(check_size(std::string(kMaxBody + 1, 'x')).error().message, "Request entity too large: limit is 3145728");
  EXPECT_EQ(body_summary(""), "<empty>");
  EXPECT_EQ(body_summary("abc"), "616263");
  EXPECT_EQ(body_summary("{\"a\":1}"), "{\"a\":1}");
}

TEST(Warning, IsAHeaderValue) { EXPECT_EQ(warning_header("a \"b\"\n"), "299 - \"a \\\"b\\\"\""); }

}  // namespace
}  // namespace hookd::embedded
