// SPDX-License-Identifier: BSD-3-Clause
// PEs of one host, as OpenSHMEM has them: whole devices above the method of shared memory, which sleep for ever, and
// who waits for its memory.
#pragma once

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "adi/device.hpp"
#include "shm/method.hpp"
#include "shmem/waiters.hpp"
#include "tests/explore/host.hpp"

namespace rmq::explore {

/// Made anew for each schedule, outside of its threads.
class Pes {
 public:
  static constexpr int kMost = 3;

  /// `threads`: each PE may have several.
  explicit Pes(int pes, bool threads = false, bool asymmetric = true) : host_(pes), asymmetric_(asymmetric) {
    seams() = {};
    seams().bells = std::vector<Bell>(static_cast<std::size_t>(pes));
    for (std::size_t pe = 0; pe < host_.boots.size(); ++pe) {
      adi::DeviceOptions options;
      options.config = host_.config;
      options.config.wait = "sleep";
      options.threads = threads;
      options.sleep_for_ever = true;
      options.methods.push_back([&, pe](const methods::MethodContext& c) -> Result<std::unique_ptr<methods::Method>> {
        return std::make_unique<shm::ShmMethod>(
            c, std::make_unique<const std::uint64_t>(0),
            std::make_unique<const shm::Directory>(std::move(host_.directories[pe])));
      });
      devices_.push_back(std::move(adi::Device::MPID_Init(std::move(options), *host_.boots[pe]).value()));
    }
  }

  adi::Device& device(int pe) { return *devices_[static_cast<std::size_t>(pe)]; }

  /// As shmem::changed: PE `me` has stored to memory of `pe`.
  void changed(int me, int pe) {
    if (!control(pe).has_waiters(asymmetric_)) return;
    const adi::Device::Entry entry(device(me));
    device(me).wake(pe);
  }
  /// As shmem::await, which looks a while before.
  template <class Done>
  void await(int me, Done&& done) {
    if (done()) return;
    const adi::Device::Entry entry(device(me));
    shmem::wait_for_stores(device(me), control(me), asymmetric_, {}, done);
  }

 private:
  shmem::Control& control(int pe) { return controls_[static_cast<std::size_t>(pe)]; }

  Host host_;
  const bool asymmetric_;
  std::vector<std::unique_ptr<adi::Device>> devices_;
  std::array<shmem::Control, kMost> controls_;
};

}  // namespace rmq::explore
