// SPDX-License-Identifier: BSD-3-Clause
#include "conformance/ranks.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>

#include "forked/forked.hpp"

namespace rmq::testing {
namespace {

// The exit code.
int be_rank(Bootstrap& bootstrap, const Setup& setup, const std::function<void(adi::Device&)>& body) {
  adi::DeviceOptions options;
  if (auto c = Config::from_environment()) options.config = *c;
  options.config.shm_heap = 1 << 20;
  options.config.methods = setup.method;
  options.sleep_for_ever = setup.sleep_for_ever;
  if (setup.adjust) setup.adjust(options.config);
  {
    auto device = adi::Device::MPID_Init(std::move(options), bootstrap);
    if (!device) {
      ADD_FAILURE() << "rank " << bootstrap.job().rank << " did not start: " << device.error().what;
    } else {
      body(**device);
      EXPECT_TRUE((*device)->MPID_Finalize());
    }
  }
  return ::testing::Test::HasFailure() ? 1 : 0;
}

}  // namespace

bool RankExits::all_well() const {
  return std::all_of(code.begin(), code.end(), [](int c) { return c == 0; });
}

RankExits run_ranks(int n, const Setup& setup, const std::function<void(adi::Device&)>& body) {
  RMQ_CHECK(!setup.inproc);
  const test::ForkedJob job(n);
  RankExits exits;
  for (const int status : test::run_forked(
           n, [&](int rank) { return be_rank(*job.join(rank), setup, body); }, 280)) {
    exits.code.push_back(WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
  }
  return exits;
}

Errc send(adi::Device& device, int to, int tag, const Buffer& data) {
  Request* r = device.MPID_Request_create(RequestKind::send);
  r->peer = to;
  r->match = {1, device.rank(), tag};
  r->view = data.view();
  r->layout = data.layout();
  device.MPID_Isend(r);
  device.MPID_Wait(r);
  const Errc error = r->status.error;
  device.MPID_Request_free(r);
  return error;
}

Errc receive(adi::Device& device, int from, int tag, Buffer& into) {
  Request* r = device.MPID_Request_create(RequestKind::recv);
  r->peer = from == kAnySource ? kNoRank : from;
  r->match = {1, from, tag};
  r->view = into.view();
  r->layout = into.layout();
  device.MPID_Irecv(r);
  device.MPID_Wait(r);
  const Errc error = r->status.error;
  device.MPID_Request_free(r);
  return error;
}

}  // namespace rmq::testing
