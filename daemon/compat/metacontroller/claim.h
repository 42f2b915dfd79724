// Which objects are a parent's children, and which become or cease to be. Pure. Thread: any.
// Source: controllers.md 1.4 step 3.
//
//   controller     labels match   parent        what happens
//   the parent     yes            any           it is a child, also while it is being deleted
//   the parent     no             lives         released: the owner reference goes, not the object
//   the parent     no             goes          nothing
//   none           yes            lives         adopted, unless it is being deleted
//   another        any            any           nothing: a foreign object is never taken
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cache/label_selector.h"
#include "cache/object.h"
#include "compat/metacontroller/value.h"

namespace hookd::metacontroller {

using Labels = cache::LabelSelector::Labels;

Labels labels_of(const Value& object);
Labels annotations_of(std::string_view object);

// By which labels a CompositeController finds the children of `parent`: with generateSelector controller-uid, else its
// spec.selector. Errors: kInvalid: there is none, or it is empty (never "all").
Result<cache::LabelSelector> child_selector(std::string_view parent, std::string_view parent_uid,
                                            bool generate_selector);

struct Claims {
  std::vector<cache::ObjectPtr> kept, adopt, release;
};
// `owned`: controlled by the parent; `orphans`: without controller, in its namespace.
Claims claim(const std::vector<cache::ObjectPtr>& owned, const std::vector<cache::ObjectPtr>& orphans,
             const cache::LabelSelector& selector, bool parent_goes);

// The attachments of a DecoratorController: controlled by the parent, with its name in the annotation.
std::vector<cache::ObjectPtr> attachments_of(const std::vector<cache::ObjectPtr>& owned, std::string_view controller);

}  // namespace hookd::metacontroller
