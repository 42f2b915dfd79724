#include "rehearsal/recorder.h"

#include <gmock/gmock.h>

#include "rehearsal/account.h"
#include "rehearsal/expectation.h"
#include "unit/support/objects.h"

namespace hookd::rehearsal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class RecorderTest : public testing::Test {
 protected:
  // A call to reconcile the Pair shop/one; without the parent as passes make it before they ask.
  std::shared_ptr<hook::Call> call(bool with_parent = true) {
    auto made = std::make_shared<hook::Call>();
    made->hook = "pair";
    made->id = "c1";
    made->reason = "reconcile";
    hook::Event event;
    event.type = hook::Event::Type::kReconcile;
    event.binding = "reconcile";
    event.causes = {{"for", "Modified", "Pair.example.com/v1", "shop", "one"},
                    {"children", "Deleted", "ConfigMap.v1", "shop", "0-of-one"},
                    {"resync", "Resync", "", "", ""}};
    if (with_parent) {
      kube::ResourceType type = test::make_type("example.com", "Pair", "pairs");
      event.resource = std::make_shared<kube::ResourceType>(std::move(type));
      event.object = test::make_object("shop", "one", "u1", "1", "{}");
    }
    made->events.push_back(std::move(event));
    return made;
  }
  static apply::Operation apply_of(const std::string& kind, const std::string& name) {
    apply::Operation op;
    op.api_version = "v1", op.kind = kind, op.ns = "shop", op.name = name;
    op.object = "{}";
    return op;
  }
  static hook::CallResult ended(const hook::Call& of) {
    return {of, nullptr, "ok", "", hook::CallResult::Then::kDone, std::nullopt};
  }

  Recorder recorder;
};

TEST_F(RecorderTest, ACallToReconcileHasAFormForEachCause) {
  const auto one = call();
  recorder.call_started(*one);
  const CallRecord& seen = recorder.calls().at(0);
  EXPECT_EQ(events_text(seen.events, true),
            "Pair shop/one: Modified (for), Deleted ConfigMap.v1 shop/0-of-one (children), Resync (resync)");
  const auto forms = call_json(seen);
  ASSERT_EQ(forms.size(), 3u);
  for (const auto& form : forms) {
    EXPECT_EQ(form.at("object"), "shop/one");
    EXPECT_EQ(form.at("kind"), "Pair");
    EXPECT_EQ(form.at("reason"), "reconcile");
  }
  EXPECT_FALSE(forms[0].as_object().contains("cause"));
  EXPECT_EQ(forms[1].at("binding"), "children");
  EXPECT_EQ(forms[1].at("cause"), "ConfigMap.v1 shop/0-of-one");
  EXPECT_EQ(forms[2].at("type"), "Resync");
}

// Its finalizer is put on before the hook is asked.
TEST_F(RecorderTest, WhatIsWrittenBeforeTheQuestionIsOfTheSameCall) {
  const auto early = call(false), asked = call();
  recorder.operation_done(*early, apply_of("Pair", "one"), {});
  EXPECT_TRUE(recorder.calls().at(0).only_operations);
  recorder.call_started(*asked);
  ASSERT_EQ(recorder.calls().size(), 1u);
  EXPECT_FALSE(recorder.calls()[0].only_operations);
  EXPECT_EQ(recorder.calls()[0].events.at(0).object, "shop/one");
  EXPECT_EQ(recorder.operations().size(), 1u);
}

TEST_F(RecorderTest, TheAccountTellsEachStepOfAnAnswerOnce) {
  ManualScheduler scheduler;
  std::string told;
  Account account(scheduler, false, [&](std::string_view text) { told += text; });
  account.follow(recorder);
  const auto one = call();
  recorder.call_started(*one);
  recorder.call_answered(*one, nullptr, {apply_of("ConfigMap", "a")}, {"a word"});
  recorder.call_answered(*one, nullptr, {apply_of("Pair", "one")}, {"a word"});
  recorder.call_ended(ended(*one));
  EXPECT_THAT(told, HasSubstr("▶ pair is called: Pair shop/one: Modified (for)"));
  EXPECT_THAT(told, HasSubstr("pair answers after 0s: Apply ConfigMap shop/a\n"));
  EXPECT_THAT(told, HasSubstr("pair, then: Apply Pair shop/one\n"));
  EXPECT_EQ(told.find("a word"), told.rfind("a word"));
  EXPECT_THAT(recorder.calls()[0].answered, ElementsAre("Apply ConfigMap shop/a", "Apply Pair shop/one"));
  EXPECT_THAT(told, Not(HasSubstr("nothing to do")));
}

TEST_F(RecorderTest, TheAccountTellsOfAnAnswerThatChangesNothing) {
  ManualScheduler scheduler;
  std::string told;
  Account account(scheduler, false, [&](std::string_view text) { told += text; });
  account.follow(recorder);
  const auto one = call();
  recorder.call_started(*one);
  recorder.call_ended(ended(*one));
  EXPECT_THAT(told, HasSubstr("pair answers after 0s: nothing to do"));
}

}  // namespace
}  // namespace hookd::rehearsal
