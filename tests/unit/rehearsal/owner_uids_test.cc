#include "rehearsal/owner_uids.h"

#include <gmock/gmock.h>

#include "unit/support/fake_cluster.h"

namespace hookd::rehearsal {
namespace {

constexpr std::string_view kPod = R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-0","namespace":"a",)"
                                  R"("ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"known","uid":"u0"},)"
                                  R"({"apiVersion":"v1","kind":"Pod","name":"web"}]}})";

TEST(OwnersWithoutUid, AreFoundAndFilled) {
  const std::string pod(kPod);
  const auto owners = owners_without_uid(pod);
  ASSERT_EQ(owners.size(), 1u);
  EXPECT_EQ(owners[0].name, "web");
  const std::string filled = with_owner_uid(pod, owners[0], "u1");
  EXPECT_TRUE(owners_without_uid(filled).empty());
  EXPECT_THAT(filled, testing::HasSubstr(R"({"apiVersion":"v1","kind":"Pod","name":"web","uid":"u1"})"));
  EXPECT_TRUE(owners_without_uid(R"({"metadata":{"name":"x"}})").empty());
  EXPECT_TRUE(owners_without_uid(R"({"metadata":{"ownerReferences":"none"}})").empty());
}

TEST(OwnerUids, LookUpWhatIsThereAndLeaveTheRest) {
  ManualScheduler scheduler;
  test::FakeCluster cluster(scheduler);
  cluster.serve(test::pods());
  cluster.put(test::pods(), test::object_json(test::pods(), "a", "web", "uid-of-web"));
  kube::Discovery discovery(cluster, scheduler);
  OwnerUids owners(cluster, discovery, "default");
  std::vector<apply::Operation> operations(2);
  operations[0].object = kPod;
  operations[0].ns = "a";
  operations[1].object = kPod;  // in the namespace "default", where no such owner is
  std::vector<std::string> objects;
  owners.fill(operations, [&](const std::vector<apply::Operation>& filled) {
    for (const auto& op : filled) objects.push_back(op.object);
  });
  scheduler.run_posted();
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_THAT(objects[0], testing::HasSubstr("uid-of-web"));
  EXPECT_EQ(objects[1], kPod);
}

}  // namespace
}  // namespace hookd::rehearsal
