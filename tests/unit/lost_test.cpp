// SPDX-License-Identifier: BSD-3-Clause
// Messages that fail though the peer is not lost: it has left in order.
#include <gtest/gtest.h>

#include <vector>

#include "adi/device.hpp"
#include "fuzz/hostile_world.hpp"

namespace rmq::testing {
namespace {

struct Told {
  Rank peer;
  std::string why;
};
std::vector<Told> told;

/// Takes every packet and keeps its owner, until it is told how that ends.
class Keeper final : public methods::Method {
 public:
  explicit Keeper(const methods::Sink& sink) : sink_(sink) {}
  methods::MethodId id() const override { return methods::MethodId::inproc; }
  bool reaches(Rank) const override { return true; }
  int reached() const override { return 1; }
  std::size_t eager_max(Rank) const override { return 4096; }
  std::size_t fragment_max(Rank) const override { return 4096; }
  methods::Outcome send(Rank, const Packet&, const Payload&, Request* owner) override {
    return owner != nullptr ? methods::Outcome::queued : methods::Outcome::done;
  }
  int poll() override { return 0; }
  void drop(Rank, const Error&) override {}
  bool drained() const override { return true; }
  void close() override {}
  void fail(Request* r) { sink_.on_sent(sink_.device, r, Errc::peer_lost); }
  void lose(Rank rank) { sink_.on_peer_lost(sink_.device, rank, {Errc::peer_lost, "it has burnt down"}); }

 private:
  const methods::Sink& sink_;
};

// What the calls say of it is another matter: only who is lost has a reason that can be given.
TEST(Lost, AMessageToARankThatHasLeftIsNotToldWithTheLossOfAnother) {
  told.clear();
  const auto bootstraps = local_bootstraps(3);
  Keeper* keeper = nullptr;
  adi::DeviceOptions options;
  options.minds = [](const Request&) { return true; };
  options.on_lost = [](adi::Core& d, Rank peer) { told.push_back({peer, std::string(d.peer_error(peer))}); };
  options.methods = {[&](const methods::MethodContext& c) -> Result<std::unique_ptr<methods::Method>> {
    auto made = std::make_unique<Keeper>(c.sink);
    keeper = made.get();
    return made;
  }};
  auto device = adi::Device::MPID_Init(std::move(options), *bootstraps[0]);
  ASSERT_TRUE(device.has_value()) << device.error().what;
  std::vector<std::byte> data(100);
  Request* to_left = HostileWorld::isend(**device, 1, 1, data);
  Request* to_lost = HostileWorld::isend(**device, 2, 1, data);
  keeper->fail(to_left);
  EXPECT_TRUE(to_left->complete());
  EXPECT_EQ(to_left->status.error, Errc::peer_lost);
  keeper->fail(to_lost);
  EXPECT_TRUE(told.empty());
  keeper->lose(2);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].peer, 2);
  EXPECT_EQ(told[0].why, "it has burnt down");
  keeper->lose(1);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[1].peer, 1);
  (*device)->MPID_Request_free(to_left);
  (*device)->MPID_Request_free(to_lost);
}

}  // namespace
}  // namespace rmq::testing
