// SPDX-License-Identifier: BSD-3-Clause
#include "start/process_sets.hpp"

#include <gtest/gtest.h>

namespace rmq {
namespace {

TEST(ProcessSets, AreListsOfRanksAndRanges) {
  const auto sets = parse_process_sets("ocean=0-3,7;ice=5,4;one=6", 8);
  ASSERT_TRUE(sets) << sets.error().what;
  ASSERT_EQ(sets->size(), 3u);
  EXPECT_EQ((*sets)[0].name, "ocean");
  EXPECT_EQ((*sets)[0].ranks, (Ranks{0, 1, 2, 3, 7}));
  EXPECT_EQ((*sets)[1].ranks, (Ranks{5, 4}));
  EXPECT_EQ((*sets)[2].ranks, Ranks{6});
  EXPECT_TRUE(parse_process_sets("", 4)->empty());
  EXPECT_TRUE(parse_process_sets("far=100000", 0));  // the size is not known
}

TEST(ProcessSets, SayWhatIsWrongWithWhich) {
  const std::string long_name(max_set_name + 1, 'x');
  const struct {
    std::string text, says;
  } cases[] = {{"=0", "it has no name"},
               {"a", "it has no ranks"},
               {"a=", "it has no ranks"},
               {"a=0;a=1", "already"},
               {"a=4", "no rank 4 of 4"},
               {"a=0-4", "no rank 4 of 4"},
               {"a=2-1", "'2-1'"},
               {"a=x", "'x'"},
               {"a=1-", "'1-'"},
               {"a=-1", "'-1'"},
               {"a=0,,1", "''"},
               {"a=1,0-2", "rank 1 is named twice"},
               {"mpi://WORLD=0", "mpi://"},
               {"rmq://host/0=0", "rmq://"},
               {long_name + "=0", "longer than"},
               {"a=99999999999999999999", "'99999999999999999999'"}};
  for (const auto& c : cases) {
    const auto sets = parse_process_sets(c.text, 4);
    ASSERT_FALSE(sets) << c.text;
    EXPECT_EQ(sets.error().code, Errc::argument);
    EXPECT_NE(sets.error().what.find(c.says), std::string::npos) << c.text << " says: " << sets.error().what;
  }
}

}  // namespace
}  // namespace rmq
