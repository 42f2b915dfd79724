#include "state/memory_store.h"

#include <gmock/gmock.h>

namespace hookd::state {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(MemoryStore, PagesGoOnBehindTheLastKey) {
  MemoryStore store;
  for (const char* key : {"h\n1", "h\n2", "h\n3", "i\n1"}) store.put("known", key, "1");
  EXPECT_THAT(store.page("known", "h\n", "", 2), ElementsAre(Pair("h\n1", "1"), Pair("h\n2", "1")));
  EXPECT_THAT(store.page("known", "h\n", "h\n2", 2), ElementsAre(Pair("h\n3", "1")));
  EXPECT_FALSE(store.durable());
}

}  // namespace
}  // namespace hookd::state
