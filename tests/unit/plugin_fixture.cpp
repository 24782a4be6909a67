// SPDX-License-Identifier: BSD-3-Clause
// Shared objects for plugin_test: good makes a method that reaches nobody, refusing returns an error, stale carries
// another contract, empty lacks the symbols.
#include "methods/contract.hpp"

#if !defined(FIXTURE_EMPTY)
namespace {

class Nowhere final : public rmq::methods::Method {
 public:
  rmq::methods::MethodId id() const override { return rmq::methods::MethodId::none; }
  bool reaches(rmq::Rank) const override { return false; }
  int reached() const override { return 0; }
  std::size_t eager_max(rmq::Rank) const override { return 1234; }
  std::size_t fragment_max(rmq::Rank) const override { return 1; }
  rmq::methods::Outcome send(rmq::Rank, const rmq::Packet&, const rmq::Payload&, rmq::Request*) override {
    return rmq::methods::Outcome::failed;
  }
  int poll() override { return 0; }
  void drop(rmq::Rank, const rmq::Error&) override {}
  bool drained() const override { return true; }
  void close() override {}
};

[[maybe_unused]] rmq::Result<std::unique_ptr<rmq::methods::Method>> make(const rmq::methods::MethodContext&) {
#if defined(FIXTURE_REFUSING)
  return rmq::fail(rmq::Errc::system, "the fixture refuses, as it should");
#else
  return std::make_unique<Nowhere>();
#endif
}

}  // namespace

#if defined(FIXTURE_STALE)
extern "C" __attribute__((visibility("default"))) const std::uint64_t rmq_method_contract;
extern "C" const std::uint64_t rmq_method_contract = rmq::methods::kContract + 1;
extern "C" __attribute__((visibility("default"))) void rmq_method_open();
extern "C" void rmq_method_open() {}
#else
RMQ_METHOD_PLUGIN(make)
#endif
#else
extern "C" __attribute__((visibility("default"))) int nothing_of_interest();
extern "C" int nothing_of_interest() {
  return 0;
}
#endif
