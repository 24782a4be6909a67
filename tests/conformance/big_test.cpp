// SPDX-License-Identifier: BSD-3-Clause
// One message of more than 2 GiB: no length or offset on its way is 32 bits wide. Needs 5 GiB of memory.
#include <cstdlib>
#include <cstring>

#include "conformance/fixture.hpp"

namespace rmq::testing {
namespace {

class Big : public Conformance {};

TEST_P(Big, AMessageOfMoreThanTwoGigabytesArrivesWhole) {
  ASSERT_TRUE(open(2));
  constexpr std::size_t kBytes = (std::size_t{2} << 30) + (std::size_t{200} << 20) + 13;
  constexpr std::size_t kWords = kBytes / 8;
  const std::unique_ptr<std::byte, decltype(&std::free)> from(static_cast<std::byte*>(std::malloc(kBytes)), &std::free);
  const std::unique_ptr<std::byte, decltype(&std::free)> to(static_cast<std::byte*>(std::calloc(kBytes, 1)),
                                                            &std::free);
  if (!from || !to) GTEST_SKIP() << "missing here: memory";
  auto* words = reinterpret_cast<std::uint64_t*>(from.get());
  for (std::size_t i = 0; i < kWords; ++i) words[i] = i * 0x9e3779b97f4a7c15u;
  for (std::size_t i = kWords * 8; i < kBytes; ++i) from.get()[i] = std::byte{0x5a};
  Request* recv = rank(1).MPID_Request_create(RequestKind::recv);
  recv->peer = 0;
  recv->match = world().pattern(0, 1);
  recv->view = DataView::contiguous(to.get(), kBytes);
  rank(1).MPID_Irecv(recv);
  Request* send = rank(0).MPID_Request_create(RequestKind::send);
  send->peer = 1;
  send->match = world().pattern(0, 1);
  send->view = DataView::contiguous(from.get(), kBytes);
  rank(0).MPID_Isend(send);
  ASSERT_TRUE(world().wait_all({recv, send}, "2.2 GiB"));
  EXPECT_EQ(recv->status.error, Errc::ok);
  EXPECT_EQ(recv->status.bytes, kBytes);
  EXPECT_EQ(std::memcmp(from.get(), to.get(), kBytes), 0);
  world().free(1, recv);
  world().free(0, send);
}

INSTANTIATE_TEST_SUITE_P(Over, Big, ::testing::ValuesIn(all_setups()),
                         [](const auto& setup) { return setup.param.name; });

}  // namespace
}  // namespace rmq::testing
