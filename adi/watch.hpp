// SPDX-License-Identifier: BSD-3-Clause
// What calls wait for in memory that others change, who call wake() then: no packet tells of it, so a rank that is
// about to sleep looks.
#pragma once

#include <algorithm>
#include <vector>

namespace rmq::adi {

class Watch;
using Watches = std::vector<const Watch*>;  // of all calls of a rank that wait

/// While this lives, the rank does not fall asleep once `come()` is true. It is called with the device held, and
/// outlives this.
class Watch {
 public:
  template <class Come>
  Watch(Watches& all, Come& come)
      : all_(all),
        come_(&come),
        ask_([](const void* c) -> bool { return (*static_cast<Come*>(const_cast<void*>(c)))(); }) {
    all_.push_back(this);
  }
  ~Watch() { std::erase(all_, this); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  bool has_come() const { return ask_(come_); }

 private:
  Watches& all_;
  const void* come_;
  bool (*ask_)(const void*);
};

}  // namespace rmq::adi
