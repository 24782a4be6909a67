// SPDX-License-Identifier: BSD-3-Clause
// late_process, under rmqrun with two ranks: rank 1 opens late, and rank 0, which has begun with a message to it,
// sleeps until its address is known. Sleeps are for ever: rank 0 is woken by the answer of the connection server, or
// hangs.
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "adi/device.hpp"
#include "start/bootstrap.hpp"

namespace {

using namespace rmq;

void require(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "late_process: %s\n", what);
  std::_Exit(1);
}

// Milliseconds of processor time of this process.
long spent_ms() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec * 1000 + t.tv_nsec / 1'000'000;
}

void transfer(adi::Device& d, RequestKind kind, int peer, int tag) {
  char byte = 'x';
  const adi::Device::Entry entry(d);
  Request* r = d.MPID_Request_create(kind);
  r->peer = peer;
  r->match = {1, kind == RequestKind::send ? d.rank() : peer, tag};
  r->view = DataView::contiguous(&byte, 1);
  kind == RequestKind::send ? d.MPID_Isend(r) : d.MPID_Irecv(r);
  d.MPID_Wait(r);
  require(r->status.error == Errc::ok, "a transfer has failed");
  d.MPID_Request_free(r);
}

}  // namespace

int main() {
  constexpr long kLateMs = 1000;
  auto boot = connect_bootstrap();
  require(boot.has_value(), "no bootstrap");
  const int me = (*boot)->job().rank;
  if (me == 1) ::usleep(kLateMs * 1000);
  adi::DeviceOptions options;
  options.config = Config::from_environment().value();
  options.config.wait = "sleep";
  options.sleep_for_ever = true;
  auto device = adi::Device::MPID_Init(std::move(options), **boot);
  require(device.has_value(), "no device");
  const long before = spent_ms();
  if (me == 0) {
    transfer(**device, RequestKind::send, 1, 0);
    transfer(**device, RequestKind::recv, 1, 0);
    require((*device)->counters().sleeps > 0, "rank 0 has not slept");
    require(spent_ms() - before < kLateMs / 4, "rank 0 has not slept all the time");
  } else {
    transfer(**device, RequestKind::recv, 0, 0);
    transfer(**device, RequestKind::send, 0, 0);
  }
  require((*boot)->fence().has_value(), "fence of the job");
  require((*device)->MPID_Finalize().has_value(), "the device did not end");
  return (*boot)->finalize() ? 0 : 1;
}
