// An operation as a hook writes it, for comparing and showing. Pure. Thread: any.
#pragma once

#include <boost/json.hpp>

#include "apply/operation.h"

namespace hookd::apply {

// Keys as in product.md section 3; what has its default is left out. The uid that hookd added as a precondition is in
// it, as it is part of what is sent.
boost::json::object operation_json(const Operation& operation);

}  // namespace hookd::apply
