// Delete through ApiServer::handle: grace, finalizers, propagation.
#include <gtest/gtest.h>

#include "unit/embedded/support.h"

namespace hookd::embedded {
namespace {

using testing::Client;

const std::string kMaps = "/api/v1/namespaces/default/configmaps";
const std::string kPods = "/api/v1/namespaces/default/pods";

void make_pod(Client& c, std::string_view name, std::string_view node) {
  const auto made = c.post(kPods, R"({"metadata":{"name":")" + std::string(name) + R"("},"spec":{"nodeName":")" +
                                      std::string(node) + R"(","containers":[{"name":"c","image":"i"}]}})");
  ASSERT_EQ(made.code, 201) << made.text;
}

TEST(Delete, AnswersWithAStatusThatNamesTheObject) {
  Client c;
  const auto uid = c.post(kMaps, R"({"metadata":{"name":"a"}})").at("metadata.uid");
  const auto gone = c.del(kMaps + "/a");
  EXPECT_EQ(gone.code, 200);
  EXPECT_EQ(gone.at("status"), "Success");
  EXPECT_EQ(gone.at("details.uid"), uid);
  EXPECT_EQ(gone.at("details.kind"), "configmaps");
  EXPECT_EQ(c.del(kMaps + "/a").code, 404);
}

TEST(Delete, ABoundPodStaysUntilItsGraceIsZero) {
  Client c;
  make_pod(c, "p", "n1");
  const auto watch = c.watch(kPods + "?watch=1&resourceVersion=" + std::to_string(c.server.revision()));
  const auto marked = c.del(kPods + "/p");
  EXPECT_EQ(marked.code, 200);
  EXPECT_EQ(marked.at("metadata.deletionGracePeriodSeconds"), "30");
  EXPECT_EQ(marked.at("metadata.deletionTimestamp"), "2026-01-01T00:00:30Z");
  c.scheduler.advance(std::chrono::minutes(5));
  EXPECT_EQ(c.get(kPods + "/p").code, 200) << "nobody but a kubelet ends it";
  const auto forced = c.del(kPods + "/p", R"({"gracePeriodSeconds":0})");
  EXPECT_EQ(forced.code, 200);
  EXPECT_EQ(forced.at("kind"), "Pod");
  EXPECT_EQ(c.get(kPods + "/p").code, 404);
  EXPECT_EQ(watch->types(), "MODIFIED MODIFIED DELETED");
}

TEST(Delete, GraceIsOnlyShortened) {
  Client c;
  make_pod(c, "p", "n1");
  c.del(kPods + "/p?gracePeriodSeconds=20");
  EXPECT_EQ(c.del(kPods + "/p?gracePeriodSeconds=60").at("metadata.deletionGracePeriodSeconds"), "20");
  EXPECT_EQ(c.del(kPods + "/p").at("metadata.deletionGracePeriodSeconds"), "20");
  c.scheduler.advance(std::chrono::seconds(2));
  const auto shorter = c.del(kPods + "/p?gracePeriodSeconds=5");
  EXPECT_EQ(shorter.at("metadata.deletionGracePeriodSeconds"), "5");
  EXPECT_EQ(shorter.at("metadata.deletionTimestamp"), "2026-01-01T00:00:05Z");
  c.scheduler.advance(std::chrono::seconds(60));
  EXPECT_EQ(c.del(kPods + "/p?gracePeriodSeconds=3").at("metadata.deletionGracePeriodSeconds"), "1")
      << "it is over already, and yet only a delete with 0 ends the pod";
}

TEST(Delete, AnUnboundPodGoesAtOnce) {
  Client c;
  make_pod(c, "p", "");
  EXPECT_EQ(c.del(kPods + "/p").code, 200);
  EXPECT_EQ(c.get(kPods + "/p").code, 404);
}

TEST(Delete, AFinishedPodGoesAtOnce) {
  Client c;
  make_pod(c, "p", "n1");
  c.merge(kPods + "/p/status", R"({"status":{"phase":"Succeeded"}})");
  c.del(kPods + "/p");
  EXPECT_EQ(c.get(kPods + "/p").code, 404);
}

TEST(Delete, FinalizersHoldTheObjectUntilTheLastIsGone) {
  Client c;
  c.post(kMaps, R"({"metadata":{"name":"a","finalizers":["x/y","x/z"]}})");
  const auto marked = c.del(kMaps + "/a");
  EXPECT_EQ(marked.at("metadata.deletionTimestamp"), "2026-01-01T00:00:00Z");
  EXPECT_EQ(marked.at("metadata.deletionGracePeriodSeconds"), "0");
  const auto before = c.server.revision();
  EXPECT_EQ(c.del(kMaps + "/a").body(), marked.body());
  EXPECT_EQ(c.server.revision(), before);
  EXPECT_EQ(c.post(kMaps, R"({"metadata":{"name":"a"}})").message(),
            "object is being deleted: configmaps \"a\" already exists");
  EXPECT_EQ(c.merge(kMaps + "/a", R"({"metadata":{"finalizers":["x/y","n/ew"]}})").code, 422);
  EXPECT_EQ(c.merge(kMaps + "/a", R"({"metadata":{"finalizers":["x/y"]}})").code, 200);
  EXPECT_EQ(c.get(kMaps + "/a").code, 200);
  EXPECT_EQ(c.merge(kMaps + "/a", R"({"metadata":{"finalizers":null}})").code, 200);
  EXPECT_EQ(c.get(kMaps + "/a").code, 404);
}

TEST(Delete, PreconditionsMustHold) {
  Client c;
  const auto uid = c.post(kMaps, R"({"metadata":{"name":"a"}})").at("metadata.uid");
  const auto other = c.del(kMaps + "/a", R"({"preconditions":{"uid":"x"}})");
  EXPECT_EQ(other.code, 409);
  EXPECT_EQ(other.message(),
            "Operation cannot be fulfilled on ConfigMap \"a\": the UID in the precondition (x) does not "
            "match the UID in record (" +
                uid + "). The object might have been deleted and then recreated");
  EXPECT_EQ(c.del(kMaps + "/a", R"({"preconditions":{"resourceVersion":"1"}})").code, 409);
  EXPECT_EQ(c.del(kMaps + "/a", R"({"preconditions":{"uid":")" + uid + R"("}})").code, 200);
}

TEST(Delete, OptionsAreChecked) {
  Client c;
  c.post(kMaps, R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(c.del(kMaps + "/a?propagationPolicy=Foo").code, 422);
  EXPECT_EQ(c.del(kMaps + "/a", R"({"kind":"ConfigMap","apiVersion":"v1"})").code, 400);
  EXPECT_EQ(c.del(kMaps + "/a?dryRun=All").code, 200);
  EXPECT_EQ(c.get(kMaps + "/a").code, 200);
}

TEST(Delete, ACollectionBySelector) {
  Client c;
  for (const auto* name : {"a", "b", "c"})
    c.post(kMaps, R"({"metadata":{"name":")" + std::string(name) + R"(","labels":{"k":")" +
                      (std::string_view(name) == "c" ? "no" : "yes") + R"("}}})");
  const auto gone = c.del(kMaps + "?labelSelector=k%3Dyes");
  EXPECT_EQ(gone.at("kind"), "ConfigMapList");
  EXPECT_EQ(gone.at("items[1].metadata.name"), "b");
  EXPECT_EQ(c.get(kMaps + "/a").code, 404);
  EXPECT_EQ(c.get(kMaps + "/c").code, 200);
}

TEST(Delete, ANamespaceIsEmptiedAndGoes) {
  Client c;
  c.post("/api/v1/namespaces", R"({"metadata":{"name":"n"}})");
  c.post("/api/v1/namespaces/n/configmaps", R"({"metadata":{"name":"a"}})");
  const auto marked = c.del("/api/v1/namespaces/n");
  EXPECT_EQ(marked.at("status.phase"), "Terminating");
  c.scheduler.run_posted();
  EXPECT_EQ(c.get("/api/v1/namespaces/n").code, 404);
  EXPECT_EQ(c.get("/api/v1/namespaces/n/configmaps/a").code, 404);
  EXPECT_EQ(c.del("/api/v1/namespaces/default").code, 403);
}

TEST(Delete, DependentsGoInTheBackground) {
  Client c;
  const auto uid = c.post(kMaps, R"({"metadata":{"name":"owner"}})").at("metadata.uid");
  c.post(kMaps, R"({"metadata":{"name":"child","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"owner",
                 "uid":")" +
                    uid + R"("}]}})");
  c.del(kMaps + "/owner");
  c.scheduler.run_posted();
  EXPECT_EQ(c.get(kMaps + "/child").code, 404);
}

TEST(Delete, OrphansStay) {
  Client c;
  const auto uid = c.post(kMaps, R"({"metadata":{"name":"owner"}})").at("metadata.uid");
  c.post(kMaps, R"({"metadata":{"name":"child","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"owner",
                 "uid":")" +
                    uid + R"("}]}})");
  const auto marked = c.del(kMaps + "/owner?propagationPolicy=Orphan");
  EXPECT_EQ(marked.at("metadata.finalizers[0]"), "orphan");
  c.scheduler.run_posted();
  EXPECT_EQ(c.get(kMaps + "/owner").code, 404);
  EXPECT_EQ(c.get(kMaps + "/child").at("metadata.ownerReferences"), "");
}

}  // namespace
}  // namespace hookd::embedded
