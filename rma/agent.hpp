// The agent: a thread that serves this rank's windows by packets while the program computes.
#pragma once

#include <memory>
#include <thread>

#include "adi/device.hpp"

namespace rmq::rma {

class Agent {
 public:
  /// Needs the device held, by the only thread that uses it or by one of several.
  static std::unique_ptr<Agent> start(adi::Device& device);
  /// Needs the device held.
  ~Agent();

 private:
  explicit Agent(adi::Device& device) : device_(device) {}

  adi::Device& device_;
};

}  // namespace rmq::rma
