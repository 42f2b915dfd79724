#include "hook/call_faults.h"

#include <gmock/gmock.h>

namespace hookd::hook {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Scripted final : public CallFaults {
 public:
  std::optional<int> next(const Call& call) override { return call.hook == "h" ? code : std::nullopt; }
  std::optional<int> code;
};

// Counts what really is called; answers nothing.
class Counting final : public Caller {
 public:
  std::unique_ptr<OpenCall> start(CallRequest) override {
    ++started;
    return nullptr;
  }
  int started = 0;
};

class CallFaultsTest : public testing::Test {
 protected:
  std::unique_ptr<OpenCall> start(CallFaults* with) {
    auto call = std::make_shared<Call>();
    call->hook = "h";
    CallRequest request;
    request.call = call;
    request.replied = [this](Reply reply) { replies.push_back(std::move(reply)); };
    return start_call(caller, std::move(request), with, scheduler);
  }

  ManualScheduler scheduler;
  Counting caller;
  Scripted faults;
  std::vector<Reply> replies;
};

TEST_F(CallFaultsTest, WithoutAFaultTheCallIsMade) {
  const auto none = start(nullptr), no_code = start(&faults);
  EXPECT_EQ(caller.started, 2);
}

// However the hook is called, a fault means what that exit code of a script means.
TEST_F(CallFaultsTest, AFaultIsTheReplyToThatExitCodeAndNothingIsCalled) {
  using Kind = Reply::Kind;
  std::vector<std::unique_ptr<OpenCall>> open;
  for (const int code : {1, 75, 65, 78}) {
    faults.code = code;
    open.push_back(start(&faults));
  }
  EXPECT_THAT(replies, IsEmpty()) << "never from inside start()";
  scheduler.run_posted();
  EXPECT_EQ(caller.started, 0);
  std::vector<Kind> kinds;
  std::vector<int> codes;
  for (const Reply& reply : replies) {
    kinds.push_back(reply.kind);
    codes.push_back(reply.exit ? reply.exit->code : -1);
  }
  EXPECT_THAT(kinds, ElementsAre(Kind::kFailed, Kind::kLater, Kind::kRefused, Kind::kRefused));
  EXPECT_THAT(codes, ElementsAre(1, 75, 65, 78));
  EXPECT_THAT(replies[0].why, HasSubstr("exit code 1"));
}

TEST_F(CallFaultsTest, ADroppedCallTellsNothing) {
  faults.code = 1;
  start(&faults).reset();
  scheduler.run_posted();
  EXPECT_THAT(replies, IsEmpty());
}

}  // namespace
}  // namespace hookd::hook
