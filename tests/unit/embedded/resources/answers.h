// What a real API server (v1.36.3) said, kept beside the tests.
#pragma once

#include <boost/json.hpp>
#include <fstream>
#include <sstream>
#include <string>

namespace hookd::embedded {

inline boost::json::value answers(const std::string& file) {
  std::ifstream in(std::string(HOOKD_SOURCE_DIR) + "/tests/unit/embedded/resources/" + file);
  std::stringstream text;
  text << in.rdbuf();
  return boost::json::parse(text.str());
}

}  // namespace hookd::embedded
