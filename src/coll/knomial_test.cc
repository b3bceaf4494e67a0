#include "coll/knomial.h"

#include <gtest/gtest.h>

#include <vector>

namespace lapwing::coll {
namespace {

struct Child {
  int place, width;
};

// Each place but the root is the child of its parent, subtrees are runs of places that fill those of their parents, and both orders have the same.
TEST(Knomial, SubtreesAreRunsOfPlaces) {
  for (const int radix : {2, 3, 4, 7, 1024}) {
    for (int size = 1; size <= 70; ++size) {
      int children = 0;
      for (int place = 0; place < size; ++place) {
        SCOPED_TRACE(testing::Message() << "radix " << radix << ", place " << place << " of " << size);
        const KnomialTree tree(place, size, radix);
        ASSERT_EQ(tree.is_root(), place == 0);
        int next = place + 1;
        std::vector<Child> seen;
        tree.for_each_child([&](int child, int width) {
          EXPECT_EQ(child, next);
          EXPECT_EQ(KnomialTree(child, size, radix).parent(), place);
          EXPECT_EQ(KnomialTree(child, size, radix).width(), width);
          next += width;
          seen.push_back({child, width});
        });
        EXPECT_EQ(next - place, tree.width());
        std::size_t found = 0;
        int deepest = size;
        tree.for_each_child_deepest_first([&](int child, int width) {
          for (const Child& each : seen) found += each.place == child && each.width == width;
          EXPECT_LE((child - place) / radix, deepest);
          deepest = child - place;
        });
        EXPECT_EQ(found, seen.size());
        children += static_cast<int>(seen.size());
      }
      EXPECT_EQ(children, size - 1);
    }
  }
}

TEST(Knomial, MillionsOfRanksAndAnyRadix) {
  const KnomialTree root(0, 4'194'304, 1024);
  int children = 0;
  root.for_each_child([&](int, int) { ++children; });
  EXPECT_EQ(children, 2 * 1023 + 3);
  EXPECT_EQ(KnomialTree(4'194'303, 4'194'304, 1024).parent(), 4'194'303 / 1024 * 1024);
}

}  // namespace
}  // namespace lapwing::coll
