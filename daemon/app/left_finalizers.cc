#include "app/left_finalizers.h"

#include <algorithm>

#include "apply/json_text.h"
#include "base/json_read.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "kube/list_reader.h"
#include "reconcile/finalizer.h"

namespace hookd::app {
namespace {

constexpr std::string_view kTable = "finalizers";
constexpr std::string_view kListMetadata =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
constexpr size_t kMaxItemBytes = 16u << 20;
constexpr Duration kIdle = std::chrono::seconds(30);
constexpr int kMostRestarts = 3;

std::string group_of(std::string_view api_version) {
  const size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? "" : std::string(api_version.substr(0, slash));
}

std::string key_of(const LeftFinalizers::Use& use) {
  return fmt::format("{}\n{}\n{}\n{}", use.hook, use.held.finalizer, use.held.api_version, use.held.kind);
}

std::string row_of(std::string_view file, const std::vector<std::string>& namespaces) {
  JsonWriter out;
  out.begin_object().key("file").string(file).key("namespaces").begin_array();
  for (const std::string& ns : namespaces) out.string(ns);
  return std::move(out.end_array().end_object()).take();
}

std::vector<std::string> namespaces_in(std::string_view row) {
  std::vector<std::string> all;
  const auto elements = apply::json_elements(json_raw_at(row, {"namespaces"}).value_or("[]"));
  for (const std::string_view one : elements.value_or(std::vector<std::string_view>{}))
    if (auto text = apply::json_text_of(one)) all.push_back(*std::move(text));
  return all;
}

std::optional<LeftFinalizers::Use> use_of(std::string_view key, std::string_view row) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= key.size();) {
    const size_t end = std::min(key.find('\n', at), key.size());
    parts.emplace_back(key.substr(at, end - at));
    at = end + 1;
  }
  if (parts.size() != 4) return std::nullopt;
  return LeftFinalizers::Use{parts[0],
                             {parts[1], parts[2], parts[3], namespaces_in(row)},
                             {},
                             json_string_at(row, {"file"}).value_or(""),
                             std::string(row)};
}

// Another version of the same kind holds the same objects.
bool same_objects(const hook::HeldKind& one, const hook::HeldKind& other) {
  return one.finalizer == other.finalizer && one.kind == other.kind &&
         group_of(one.api_version) == group_of(other.api_version);
}

}  // namespace

// ---------------------------------------------------------------- a kind after another, a page after another

class LeftFinalizers::Job : public std::enable_shared_from_this<Job> {
 public:
  Job(LeftFinalizers& owner, std::vector<Use> uses) : owner_(owner), uses_(std::move(uses)) {}
  virtual ~Job() = default;

  void start() {
    owner_.parts_.scheduler.post([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->next();
    });
  }

 protected:
  // Of what carries the finalizer of use().
  virtual void object(std::string text) = 0;
  virtual bool enough() const { return false; }
  virtual void restarted() {}  // what was found of this kind comes once more
  // The page is read; next_page() goes on.
  virtual void page_read() { next_page(); }
  // The kind is through; next_use() goes on. `error`: it could not be listed.
  virtual void use_over(std::optional<Error> error) = 0;
  virtual void finish() = 0;  // all are through; destroys this

  const Use& use() const { return uses_[at_]; }
  const kube::ResourceType& type() const { return type_; }
  bool whole() const { return token_.empty() && scope_ + 1 >= scopes(); }
  size_t looked_at() const { return looked_at_; }
  Parts& parts() { return owner_.parts_; }
  void forget() { owner_.forget(use()); }
  void end() { owner_.over(*this); }

  void next_use() {
    ++at_;
    start();
  }
  void list_again() { start(); }
  void next_page() {
    if (enough() || whole()) return use_over(std::nullopt);
    scope_ += token_.empty();
    list();
  }

 private:
  void next() {
    if (at_ >= uses_.size()) return finish();
    looked_at_ = scope_ = 0;
    token_.clear();
    parts().discovery.resolve(use().held.api_version, use().held.kind,
                              [weak = weak_from_this()](Result<kube::ResourceType> type) {
                                if (const auto self = weak.lock()) self->resolved(std::move(type));
                              });
  }

  void resolved(Result<kube::ResourceType> type) {
    if (!type) return use_over(type.error());
    type_ = *std::move(type);
    list();
  }

  // One list for each namespace, or one of all.
  size_t scopes() const { return type_.namespaced ? std::max<size_t>(use().held.namespaces.size(), 1) : 1; }

  bool is_left(std::string_view item) const {
    if (!reconcile::has_finalizer(item, use().held.finalizer)) return false;
    return use().but.empty() ||
           std::ranges::find(use().but, json_string_at(item, {"metadata", "namespace"}).value_or("")) ==
               use().but.end();
  }

  void list() {
    kube::ApiRequest request;
    const auto& namespaces = use().held.namespaces;
    request.path = type_.collection_path(type_.namespaced && !namespaces.empty() ? namespaces[scope_] : "");
    request.accept = kListMetadata;
    request.accept_gzip = true;
    request.idle_timeout = kIdle;
    request.query.emplace_back("limit", std::to_string(kPage));
    if (!token_.empty()) request.query.emplace_back("continue", token_);
    read_error_.reset();
    reader_ = std::make_unique<kube::ListReader>(
        [this](std::string item) -> Result<void> {
          ++looked_at_;
          if (is_left(item)) object(std::move(item));
          return {};
        },
        kMaxItemBytes);
    kube::StreamHandlers handlers;
    handlers.on_data = [this](std::string_view bytes) {
      if (auto read = reader_->feed(bytes); !read) read_error_ = read.error();
      return !read_error_;
    };
    handlers.on_done = [this](Result<void> result) {
      const auto keep = shared_from_this();
      // Destroyed in a turn of its own: its function is running.
      parts().scheduler.post([call = std::shared_ptr<kube::ApiCall>(std::move(call_))] {});
      listed(std::move(result));
    };
    call_ = parts().api.stream(std::move(request), std::move(handlers));
  }

  void listed(Result<void> result) {
    if (read_error_) result = fail(*read_error_);
    if (result) result = reader_->finish();
    if (!result) {
      // The token is too old (k8s-client.md R9): from the beginning.
      if (result.error().code != Errc::kGone || token_.empty() || ++restarts_ > kMostRestarts)
        return use_over(result.error());
      restarted();
      return next();
    }
    token_ = reader_->continue_token();
    page_read();
  }

  LeftFinalizers& owner_;
  std::vector<Use> uses_;
  size_t at_ = 0, looked_at_ = 0, scope_ = 0;
  kube::ResourceType type_;
  std::string token_;
  int restarts_ = 0;
  std::unique_ptr<kube::ListReader> reader_;
  std::optional<Error> read_error_;
  std::unique_ptr<kube::ApiCall> call_;
};

class LeftFinalizers::Count final : public Job {
 public:
  Count(LeftFinalizers& owner, std::vector<Use> uses, OnFound done)
      : Job(owner, std::move(uses)), done_(std::move(done)) {}

 private:
  void object(std::string text) override {
    const bool ends = reconcile::is_ending(text);
    ++now_.objects;
    now_.ending += ends;
    const std::string ns = json_string_at(text, {"metadata", "namespace"}).value_or("");
    std::string name = json_string_at(text, {"metadata", "name"}).value_or("");
    if (!ns.empty()) name = ns + "/" + name;
    auto& names = now_.names;
    if (ends)
      names.insert(names.begin(), std::move(name));
    else if (names.size() < kNames)
      names.push_back(std::move(name));
    if (names.size() > kNames) names.pop_back();
  }
  bool enough() const override { return looked_at() >= kMostObjects; }
  void restarted() override { now_ = {}; }
  void use_over(std::optional<Error> error) override {
    now_.use = use();
    // A kind that is gone took its objects along.
    if (error && error->code != Errc::kNotFound) now_.trouble = error->what;
    now_.whole = error || whole();
    if (now_.objects == 0 && now_.whole && now_.trouble.empty())
      forget();
    else
      found_.push_back(std::move(now_));
    now_ = {};
    next_use();
  }
  void finish() override {
    const auto done = std::move(done_);
    auto found = std::move(found_);
    end();
    done(std::move(found));
  }

  OnFound done_;
  Found now_;
  std::vector<Found> found_;
};

class LeftFinalizers::Drop final : public Job {
 public:
  Drop(LeftFinalizers& owner, std::vector<Use> uses, std::string object, OnDropped done)
      : Job(owner, std::move(uses)), object_(std::move(object)), done_(std::move(done)) {
    dropped_.dry_run = parts().dry_run;
  }

 private:
  void object(std::string text) override {
    apply::Operation op = reconcile::take_finalizer(type(), text, use().held.finalizer);
    const std::string name = op.ns.empty() ? op.name : op.ns + "/" + op.name;
    if (!object_.empty() && object_ != name) return;
    op.ignore_missing_object = true;
    operations_.push_back(std::move(op));
  }

  void page_read() override {
    if (operations_.empty()) return next_page();
    apply::Request request;
    request.operations = std::exchange(operations_, {});
    request.hook = use().hook;
    request.field_manager = "hookd-finalizers";
    request.dry_run = dropped_.dry_run;
    run_ = parts().applier.apply(std::move(request), [this](std::vector<apply::Outcome> outcomes) {
      const auto keep = shared_from_this();
      parts().scheduler.post([run = std::shared_ptr<apply::Run>(std::move(run_))] {});
      for (const apply::Outcome& outcome : outcomes) {
        if (outcome.ok()) {
          ++dropped_.taken;
          log::info("finalizer taken off", {{"hook", use().hook}, {"what", outcome.text}});
        } else {
          failed_.push_back(outcome.text);
        }
      }
      next_page();
    });
  }

  void use_over(std::optional<Error> error) override {
    if (error && error->code != Errc::kNotFound) {
      problems_.push_back(fmt::format("{}: {}", use().held.kind, error->what));
    } else if (!failed_.empty() && ++round_ < kRounds) {
      failed_.clear();
      return list_again();
    } else if (failed_.empty() && object_.empty() && !dropped_.dry_run) {
      forget();
    }
    std::ranges::move(failed_, std::back_inserter(problems_));
    failed_.clear();
    round_ = 0;
    next_use();
  }

  void finish() override {
    const auto done = std::move(done_);
    Result<Dropped> result = Dropped{};
    if (!object_.empty() && dropped_.taken == 0 && problems_.empty())
      result = fail(Errc::kNotFound, "no object \"{}\" carries a finalizer of that hook", object_);
    const size_t shown = std::min(problems_.size(), kNames);
    dropped_.problems.assign(problems_.begin(), problems_.begin() + static_cast<std::ptrdiff_t>(shown));
    if (problems_.size() > shown) dropped_.problems.push_back(fmt::format("and {} more", problems_.size() - shown));
    if (result) result = std::move(dropped_);
    end();
    done(std::move(result));
  }

  std::string object_;
  OnDropped done_;
  std::unique_ptr<apply::Run> run_;
  std::vector<apply::Operation> operations_;
  std::vector<std::string> failed_, problems_;
  int round_ = 0;
  Dropped dropped_;
};

// ----------------------------------------------------------------

LeftFinalizers::~LeftFinalizers() = default;

void LeftFinalizers::over(Job& job) {
  // Its function is running.
  const auto found = std::ranges::find_if(jobs_, [&](const auto& one) { return one.get() == &job; });
  if (found == jobs_.end()) return;
  parts_.scheduler.post([gone = std::move(*found)] {});
  jobs_.erase(found);
}

void LeftFinalizers::used(const hook::Hook& hook) {
  if (parts_.dry_run) return;
  for (const hook::HeldKind& held : hook.holds) {
    const std::string key = key_of({hook.name, held});
    ++starts_[key];
    const auto read = parts_.store.read(kTable, key);
    const auto row = read.value_or("{}");  // not known: it may have been everywhere
    std::vector<std::string> namespaces = held.namespaces;
    if (row) {
      const auto before = namespaces_in(*row);
      namespaces.insert(namespaces.end(), before.begin(), before.end());
      if (before.empty() || held.namespaces.empty()) namespaces.clear();  // it is, or was, everywhere
    }
    std::ranges::sort(namespaces);
    namespaces.erase(std::ranges::unique(namespaces).begin(), namespaces.end());
    const std::string now = row_of(hook.path, namespaces);
    if (row != now) parts_.store.put(kTable, key, now);
  }
  parts_.store.flush();  // before the first object has it: SIGKILL may come right after
}

void LeftFinalizers::forget(const Use& use) {
  const std::string key = key_of(use);
  // The hook came meanwhile, or another.
  const auto starts = starts_.find(key);
  if (starts != starts_.end() && starts->second != use.starts) return;
  if (parts_.store.get(kTable, key) != use.row) return;
  std::vector<std::string> left = use.but;
  if (!use.held.namespaces.empty())
    for (std::string& ns : namespaces_in(use.row))
      if (std::ranges::find(use.held.namespaces, ns) == use.held.namespaces.end()) left.push_back(std::move(ns));
  if (left.empty())
    parts_.store.erase(kTable, key);
  else
    parts_.store.put(kTable, key, row_of(use.file, left));
}

std::vector<LeftFinalizers::Use> LeftFinalizers::left(const std::vector<const hook::Hook*>& loaded) const {
  std::vector<Use> left;
  parts_.store.each(kTable, "", [&](std::string_view key, std::string_view row) {
    auto use = use_of(key, row);
    if (!use) return;
    if (const auto starts = starts_.find(std::string(key)); starts != starts_.end()) use->starts = starts->second;
    for (const hook::Hook* hook : loaded)
      for (const hook::HeldKind& held : hook->holds) {
        if (!same_objects(held, use->held)) continue;
        if (held.namespaces.empty()) return;
        use->but.insert(use->but.end(), held.namespaces.begin(), held.namespaces.end());
      }
    if (auto& namespaces = use->held.namespaces; !namespaces.empty()) {
      std::erase_if(namespaces,
                    [&](const std::string& ns) { return std::ranges::find(use->but, ns) != use->but.end(); });
      if (namespaces.empty()) return;
      use->but.clear();
    }
    left.push_back(*std::move(use));
  });
  return left;
}

void LeftFinalizers::count(std::vector<Use> uses, OnFound done) {
  jobs_.push_back(std::make_shared<Count>(*this, std::move(uses), std::move(done)));
  jobs_.back()->start();
}

void LeftFinalizers::drop(std::vector<Use> uses, std::string object, OnDropped done) {
  jobs_.push_back(std::make_shared<Drop>(*this, std::move(uses), std::move(object), std::move(done)));
  jobs_.back()->start();
}

}  // namespace hookd::app
