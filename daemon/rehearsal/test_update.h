// `hookd test --update`: the expectations of a test file written anew from what was seen, everything else in it kept.
// Pure. Thread: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rehearsal/expectation.h"
#include "rehearsal/test_run.h"

namespace hookd::rehearsal {

bool is_empty(const Expectation& expectation);

// The same kinds of expectation (calls, operations, objects, …), but such as hold for what was seen; what was expected
// and was not there is left out. An empty one becomes calls and operations. YAML lines without indentation.
std::string expectation_as_seen(const Expectation& expectation, const Seen& seen);

// `text` with the expectations at these places replaced. Errors: kConfig: one stands in such a way ({…} in one line
// with its step) that its end cannot be told.
Result<std::string> with_updates(std::string_view text, std::vector<TestUpdate> updates);

// A JSON value in YAML's flow style, with quotes only where they are needed: {kind: Pod, name: "1"}.
std::string flow_yaml(const boost::json::value& value);

}  // namespace hookd::rehearsal
