// Rules: k8s-client.md R4, R41, R44, R46, R47, D8, D10; T29.
#include "kube/informer.h"

#include "unit/kube/discovery_server.h"
#include "unit/kube/reflector_fixture.h"

namespace hookd::kube {
namespace {

using namespace std::chrono_literals;
using namespace test;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string widgets(const std::vector<std::string>& versions, bool stale = false) {
  std::vector<std::string> all;
  for (const auto& version : versions)
    all.push_back(
        version_of(version, stale ? std::vector<std::string>{} : std::vector{resource_of("widgets", "Widget")}, stale));
  return group_of("example.com", all);
}

// A cluster that serves widgets once its discovery names them; lists are answered from `items`, watches stay open.
class InformerTest : public testing::Test {
 protected:
  InformerTest() {
    log::set_tap([](log::Level, std::string_view) {});
    api_.answer_all([this](Exchange& exchange) {
      if (server_.answer(exchange)) return;
      if (!served_)
        exchange.reply_error(404, "404 page not found\n");
      else if (!exchange.is_watch())
        exchange.reply(list_of(items_, version_, "", "WidgetList"));
      else
        exchange.head();
    });
  }
  ~InformerTest() override { log::set_tap({}); }

  void serve(const std::vector<std::string>& versions = {"v1"}) {
    server_.groups = {widgets(versions)};
    served_ = true;
  }
  void remove_crd() {
    server_.groups.clear();
    served_ = false;
    end_watches();
  }
  void end_watches() {
    const size_t count = api_.count();  // those that begin meanwhile are answered as the others
    for (size_t i = 0; i < count; ++i)
      if (api_.at(i)->is_watch()) api_.at(i)->end();
  }
  void send(const std::string& type, const std::string& object) {
    for (size_t i = api_.count(); i-- > 0;)
      if (api_.at(i)->is_watch() && api_.at(i)->open())
        return api_.at(i)->data(event_of(type, with_kind(object, "example.com/v1", "Widget")));
    FAIL() << "no watch is open";
  }
  Informer::Subscriber recorder(std::vector<std::string>& into) {
    return {[&into](const cache::Change& change, std::string_view) {
              into.push_back((change.initial ? "initial " : "") + told_text(change));
            },
            [&into] { into.emplace_back("synced"); }};
  }
  static CollectionKey widget_key(const std::string& api_version = "example.com/v1") {
    CollectionKey key;
    key.api_version = api_version;
    key.kind = "Widget";
    return key;
  }
  std::shared_ptr<Informer> get(const CollectionKey& key = widget_key()) { return pool_.get(key); }

  ManualScheduler scheduler_;
  SeededRandom random_;
  ScriptedApi api_{scheduler_};
  DiscoveryServer server_;
  Discovery discovery_{api_, scheduler_};
  int health_calls_ = 0;
  InformerPool pool_{{api_, discovery_, scheduler_, random_}, [this] { ++health_calls_; }};
  bool served_ = false;
  std::vector<std::string> items_;
  std::string version_ = "100";
  std::vector<std::string> told_;
};

TEST_F(InformerTest, TellsTheFirstListAndThenThatItIsWhole) {  // R44
  serve();
  items_ = {pod("a", "1"), pod("b", "2")};
  const auto subscription = get()->subscribe(recorder(told_));
  scheduler_.run_posted();
  EXPECT_THAT(told_, ElementsAre("initial Added default/a@1", "initial Added default/b@2", "synced"));
  told_.clear();
  send("ADDED", pod("c", "101"));
  scheduler_.run_posted();
  EXPECT_THAT(told_, ElementsAre("Added default/c@101"));
}

TEST_F(InformerTest, AnEmptyListIsWholeToo) {
  serve();
  const auto subscription = get()->subscribe(recorder(told_));
  scheduler_.run_posted();
  EXPECT_THAT(told_, ElementsAre("synced"));
}

TEST_F(InformerTest, ACrdThatComesLaterIsFoundWithinTwoSeconds) {  // R46, T29
  items_ = {pod("a", "1")};
  const auto informer = get();
  const auto subscription = informer->subscribe(recorder(told_));
  scheduler_.advance(20s);
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_FALSE(informer->synced());
  ASSERT_TRUE(informer->error());
  EXPECT_EQ(informer->error()->code, Errc::kNotFound);
  EXPECT_THAT(informer->error()->what, HasSubstr("serves no Widget in example.com/v1"));
  EXPECT_LE(server_.looks, 22U);
  serve();
  scheduler_.advance(2s);
  EXPECT_THAT(told_, ElementsAre("initial Added default/a@1", "synced"));
  EXPECT_FALSE(informer->error());
  EXPECT_EQ(informer->type()->plural, "widgets");
}

TEST_F(InformerTest, ADeletedCrdDeletesItsObjectsOnceDiscoverySaysSoTwice) {  // R47, T29
  serve();
  items_ = {pod("a", "1", "old"), pod("b", "2")};
  const auto informer = get();
  const auto subscription = informer->subscribe(recorder(told_));
  scheduler_.advance(5s);
  told_.clear();
  const size_t looks = server_.looks;
  remove_crd();
  scheduler_.advance(1s);
  EXPECT_THAT(told_, IsEmpty());
  scheduler_.advance(30s);
  EXPECT_GE(server_.looks, looks + 2);
  EXPECT_THAT(told_, ElementsAre("Deleted default/a@1?", "Deleted default/b@2?"));
  EXPECT_EQ(informer->reflector(), nullptr);
  EXPECT_TRUE(informer->error());
  // It is made anew, and so is one of its objects.
  told_.clear();
  items_ = {pod("a", "200", "new")};
  version_ = "201";
  serve();
  scheduler_.advance(2s);
  EXPECT_THAT(told_, ElementsAre("Added default/a@200"));
  EXPECT_FALSE(informer->error());
  EXPECT_TRUE(informer->synced());
}

TEST_F(InformerTest, ServingIsOfTheKindAsItIsServedNow) {
  serve();
  items_ = {pod("a", "1", "old")};
  const auto informer = get();
  std::vector<std::string> heard;  // what serving() was, and how many changes were told before
  auto subscriber = recorder(told_);
  subscriber.on_health = [&] { heard.push_back(fmt::format("{} after {}", informer->serving(), told_.size())); };
  const auto subscription = informer->subscribe(subscriber);
  EXPECT_FALSE(informer->serving());
  scheduler_.advance(5s);
  EXPECT_TRUE(informer->serving());
  EXPECT_EQ(heard.back(), "true after " + std::to_string(told_.size()));  // the whole list was told
  remove_crd();
  scheduler_.advance(30s);
  EXPECT_FALSE(informer->serving());
  EXPECT_TRUE(informer->synced());
  EXPECT_TRUE(heard.back().starts_with("false")) << heard.back();
  items_ = {pod("a", "200", "new")};
  version_ = "201";
  serve();
  scheduler_.advance(2s);
  EXPECT_TRUE(informer->serving());
  EXPECT_EQ(heard.back(), "true after " + std::to_string(told_.size()));
}

TEST_F(InformerTest, ACrdDeletedAndMadeAnewAtOnceIsSeenInTheObjects) {  // R41, T29
  serve();
  items_ = {pod("a", "1", "old")};
  const auto subscription = get()->subscribe(recorder(told_));
  scheduler_.advance(5s);
  told_.clear();
  remove_crd();
  scheduler_.advance(500ms);
  items_ = {pod("a", "200", "new")};
  version_ = "201";
  serve();
  scheduler_.advance(70s);
  EXPECT_THAT(told_, ElementsAre("Deleted default/a@1?", "Added default/a@200"));
}

TEST_F(InformerTest, WhileDiscoveryFailsNothingIsDeleted) {  // R47, T29
  serve();
  items_ = {pod("a", "1")};
  const auto informer = get();
  const auto subscription = informer->subscribe(recorder(told_));
  scheduler_.advance(5s);
  told_.clear();
  remove_crd();
  server_.down = true;
  scheduler_.advance(10min);
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_EQ(informer->store().size(), 1U);
  EXPECT_TRUE(informer->error());
  server_.down = false;
  scheduler_.advance(3min);
  EXPECT_THAT(told_, ElementsAre("Deleted default/a@1?"));
}

TEST_F(InformerTest, AStaleGroupDeletesNothing) {  // R47, D3
  serve();
  items_ = {pod("a", "1")};
  const auto informer = get();
  const auto subscription = informer->subscribe(recorder(told_));
  scheduler_.advance(5s);
  told_.clear();
  remove_crd();
  server_.groups = {widgets({"v1"}, true)};
  scheduler_.advance(10min);
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_EQ(informer->store().size(), 1U);
}

TEST_F(InformerTest,
       APathThatIsMissingForAWhileDeletesNothing) {  // R49: another API server of the same cluster, just starting
  serve();
  items_ = {pod("a", "1")};
  const auto informer = get();
  const auto subscription = informer->subscribe(recorder(told_));
  scheduler_.advance(5s);
  told_.clear();
  served_ = false;
  end_watches();
  scheduler_.advance(5min);
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_TRUE(informer->error());
  served_ = true;
  scheduler_.advance(70s);
  EXPECT_FALSE(informer->error());
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(InformerTest, AVersionThatEndsIsFollowedIntoTheNextOne) {  // D8 binds only who named a version
  serve({"v1", "v2"});
  items_ = {pod("a", "1")};
  const auto free_one = get(widget_key(""));
  const auto bound_one = get(widget_key("example.com/v1"));
  std::vector<std::string> bound;
  const auto subscription = free_one->subscribe(recorder(told_));
  const auto bound_subscription = bound_one->subscribe(recorder(bound));
  scheduler_.advance(5s);
  EXPECT_EQ(free_one->type()->version, "v1");
  told_.clear();
  bound.clear();
  remove_crd();
  scheduler_.advance(1s);
  const size_t from = api_.count();
  serve({"v2"});
  // The path of v1 is gone for good.
  api_.answer_all([this](Exchange& exchange) {
    if (server_.answer(exchange)) return;
    if (exchange.request.path.find("/v1/") != std::string::npos)
      exchange.reply_error(404, "404 page not found\n");
    else if (!exchange.is_watch())
      exchange.reply(list_of(items_, version_, "", "WidgetList"));
    else
      exchange.head();
  });
  scheduler_.advance(70s);
  EXPECT_EQ(free_one->type()->version, "v2");
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_FALSE(free_one->error());
  EXPECT_THAT(api_.urls(from), Contains(HasSubstr("/apis/example.com/v2/widgets?watch=true")));
  EXPECT_THAT(bound, ElementsAre("Deleted default/a@1?"));
}

TEST_F(InformerTest, WhatCannotBeWatchedIsSaid) {  // D9
  server_.groups = {group_of(
      "example.com",
      {version_of(
          "v1",
          {R"({"resource":"widgets","responseKind":{"kind":"Widget"},"scope":"Namespaced","verbs":["create"]})"})})};
  const auto informer = get();
  scheduler_.advance(2s);
  ASSERT_TRUE(informer->error());
  EXPECT_EQ(informer->error()->code, Errc::kInvalid);
  EXPECT_THAT(informer->error()->what, HasSubstr("cannot be watched"));
  served_ = true;
  serve();
  scheduler_.advance(33s);
  EXPECT_TRUE(informer->synced());
}

TEST_F(InformerTest, ALateSubscriberHearsEachObjectOnceAndThenWhatIsNew) {
  serve();
  items_ = {pod("a", "1"), pod("b", "2")};
  const auto informer = get();
  std::vector<std::string> early;
  const auto first = informer->subscribe(recorder(early));
  scheduler_.run_posted();
  send("MODIFIED", pod("a", "101"));  // on its way, not told yet
  const auto second = informer->subscribe(recorder(told_));
  EXPECT_THAT(told_, ElementsAre("initial Added default/a@101", "initial Added default/b@2", "synced"));
  send("DELETED", pod("b", "102"));
  scheduler_.run_posted();
  EXPECT_THAT(told_, ElementsAre("initial Added default/a@101", "initial Added default/b@2", "synced",
                                 "Deleted default/b@102"));
  EXPECT_THAT(early, ElementsAre("initial Added default/a@1", "initial Added default/b@2", "synced",
                                 "Modified default/a@101", "Deleted default/b@102"));
}

TEST_F(InformerTest, ASubscriberInTheMiddleOfTheFirstTellingMissesNothing) {
  serve();
  items_ = {pod("a", "1"), pod("b", "2")};
  const auto informer = get();
  std::unique_ptr<Informer::Subscription> subscription;
  const std::function<void()> probe = [&] {
    if (informer->store().size() == 0) return scheduler_.post(probe);
    EXPECT_FALSE(informer->synced());  // read, but not told yet
    subscription = informer->subscribe(recorder(told_));
  };
  scheduler_.post(probe);
  scheduler_.run_posted();
  EXPECT_THAT(told_, ElementsAre("initial Added default/a@1", "initial Added default/b@2", "synced"));
}

TEST_F(InformerTest, ASubscriberMayEndItselfInItsCallback) {
  serve();
  items_ = {pod("a", "1"), pod("b", "2")};
  const auto informer = get();
  std::unique_ptr<Informer::Subscription> mine;
  const std::string big(100, 'x');  // lives in the callback's own memory
  int calls = 0;
  mine = informer->subscribe({[&, big](const cache::Change&, std::string_view) {
                                ++calls;
                                mine.reset();
                                EXPECT_EQ(big, std::string(100, 'x'));
                              },
                              [] { FAIL() << "told after its end"; }});
  const auto other = informer->subscribe(recorder(told_));
  scheduler_.run_posted();
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(told_, ElementsAre("initial Added default/a@1", "initial Added default/b@2", "synced"));
}

TEST_F(InformerTest, ASubscriberMayEndOthersInItsCallback) {
  serve();
  items_ = {pod("a", "1")};
  const auto informer = get();
  std::vector<std::string> before, after;
  auto first = informer->subscribe(recorder(before));
  std::unique_ptr<Informer::Subscription> third;
  const auto second = informer->subscribe({[&](const cache::Change&, std::string_view) {
                                             first.reset();
                                             third.reset();
                                           },
                                           {}});
  third = informer->subscribe(recorder(after));
  scheduler_.run_posted();
  EXPECT_THAT(before, ElementsAre("initial Added default/a@1"));
  EXPECT_THAT(after, IsEmpty());
}

TEST_F(InformerTest, TheLastOneMayLetTheInformerGoInAnyOfItsCallbacks) {
  for (const bool on_sync : {false, true}) {
    serve();
    items_ = {pod("a", "1"), pod("b", "2")};
    std::weak_ptr<Informer> weak;
    std::unique_ptr<Informer::Subscription> mine;
    {
      const auto informer = get();
      weak = informer;
      mine = informer->subscribe({[&](const cache::Change&, std::string_view) {
                                    if (!on_sync) mine.reset();
                                  },
                                  [&] { mine.reset(); }});
    }
    scheduler_.run_posted();
    EXPECT_EQ(mine, nullptr);
    EXPECT_TRUE(weak.expired());
    EXPECT_EQ(api_.open_count(), 0U);
    scheduler_.advance(1min);
  }
}

TEST_F(InformerTest, OneMayJoinFromInsideACallback) {
  serve();
  items_ = {pod("a", "1")};
  const auto informer = get();
  std::unique_ptr<Informer::Subscription> joined;
  const auto first = informer->subscribe({[&](const cache::Change&, std::string_view) {
                                            if (!joined) joined = informer->subscribe(recorder(told_));
                                          },
                                          {}});
  scheduler_.run_posted();
  EXPECT_THAT(told_, ElementsAre("initial Added default/a@1", "synced"));
}

TEST_F(InformerTest, HealthMayLetItGo) {
  serve();
  std::shared_ptr<Informer> informer;
  InformerPool pool({api_, discovery_, scheduler_, random_}, [&] { informer.reset(); });
  informer = pool.get(widget_key());
  scheduler_.advance(1min);
  EXPECT_EQ(informer, nullptr);
  EXPECT_EQ(api_.open_count(), 0U);
}

TEST_F(InformerTest, TheSameCollectionIsStreamedOnce) {  // R4
  serve();
  const auto one = get();
  EXPECT_EQ(get(), one);
  auto other_key = widget_key();
  other_key.ns = "a";
  EXPECT_NE(get(other_key), one);
  auto bare = widget_key();
  bare.keep_text = false;
  const auto first_bare = get(bare);
  EXPECT_NE(get(bare), first_bare);  // a second one could not be told what is there
  EXPECT_EQ(pool_.all().size(), 2U);
}

TEST_F(InformerTest, NobodyListeningMeansNoStream) {
  serve();
  auto informer = get();
  scheduler_.advance(1s);
  EXPECT_EQ(api_.open_count(), 1U);
  informer.reset();
  EXPECT_EQ(api_.open_count(), 0U);
  EXPECT_THAT(pool_.all(), IsEmpty());
}

}  // namespace
}  // namespace hookd::kube
