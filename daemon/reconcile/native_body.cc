#include "reconcile/native_body.h"

#include "hook/call_writer.h"

namespace hookd::reconcile {

std::string object_key(const cache::Identity& object, const cache::Identity& parent) {
  return object.ns.empty() || object.ns == parent.ns ? object.name : object.ns + "/" + object.name;
}

NativeBody::NativeBody(std::shared_ptr<const Gathered> gathered) : gathered_(std::move(gathered)) {
  parts_.push_back({.kind = Part::Kind::kHead});
  parts_.push_back({.kind = Part::Kind::kParent});
  add("children", gathered_->children);
  add("related", gathered_->related);
}

void NativeBody::add(const char* name, const std::vector<Gathered::Group>& groups) {
  parts_.push_back({.kind = Part::Kind::kOpen, .name = name});
  for (const Gathered::Group& group : groups) {
    parts_.push_back({.kind = Part::Kind::kOpenGroup, .group = &group});
    for (const auto& object : group.objects)
      parts_.push_back({.kind = Part::Kind::kObject, .group = &group, .object = object.get()});
    parts_.push_back({.kind = Part::Kind::kClose});
  }
  parts_.push_back({.kind = Part::Kind::kClose});
}

void NativeBody::write_head(JsonWriter& out) const {
  const cache::Object& parent = *gathered_->parent;
  out.key("key").begin_object();
  out.key("apiVersion").string(gathered_->type->api_version()).key("kind").string(gathered_->type->kind);
  if (!parent.ns.empty()) out.key("namespace").string(parent.ns);
  out.key("name").string(parent.name).key("uid").string(parent.uid).end_object();
  out.key("causes").begin_array();
  for (const hook::ReconcileCause& cause : gathered_->causes) {
    out.begin_object().key("binding").string(cause.binding).key("type").string(cause.type);
    if (!cause.kind.empty()) out.key("kind").string(cause.kind);
    if (!cause.ns.empty()) out.key("namespace").string(cause.ns);
    if (!cause.name.empty()) out.key("name").string(cause.name);
    out.end_object();
  }
  out.end_array();
  out.key("finalizing").boolean(gathered_->finalizing);
}

bool NativeBody::write(size_t part, JsonWriter& out) const {
  if (part >= parts_.size()) return false;
  const Part& now = parts_[part];
  switch (now.kind) {
    case Part::Kind::kHead:
      write_head(out);
      break;
    case Part::Kind::kParent:
      out.key("object");
      gathered_->gone ? out.null() : out.raw(hook::object_text(*gathered_->parent, gathered_->type.get()));
      break;
    case Part::Kind::kOpen:
      out.key(now.name).begin_object();
      break;
    case Part::Kind::kOpenGroup:
      out.key(now.group->name).begin_object();
      break;
    case Part::Kind::kObject:
      out.key(object_key(*now.object, *gathered_->parent)).raw(hook::object_text(*now.object, now.group->type.get()));
      break;
    case Part::Kind::kClose:
      out.end_object();
      break;
  }
  return true;
}

}  // namespace hookd::reconcile
