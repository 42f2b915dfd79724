// A PATCH as a Change of update_object(). Thread: loop only.
#pragma once

#include "embedded/verbs/write.h"
#include "embedded/wire/media.h"
#include "embedded/wire/options.h"

namespace hookd::embedded {

struct PatchInput {
  PatchType type = PatchType::kMerge;
  std::string_view body;
  WriteOptions options;
};
// Errors when the change is made: 400, 409, 413, 422 as the real server words them. `call` must outlive the change.
Change patch_change(const WriteCall& call, const PatchInput& input);

}  // namespace hookd::embedded
