// JSON values and small objects for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <string_view>

#include "compat/metacontroller/value.h"

namespace hookd::test {

inline metacontroller::Value json(std::string_view text) {
  auto value = metacontroller::Value::parse(text);
  EXPECT_TRUE(value) << (value ? "" : value.error().what) << "\n" << text;
  return value ? *std::move(value) : metacontroller::Value();
}

}  // namespace hookd::test
