#include "rma/agent.hpp"

namespace rmq::rma {

std::unique_ptr<Agent> Agent::start(adi::Device& device) {
  return std::unique_ptr<Agent>(new Agent(device));
}

Agent::~Agent() {
  static_cast<void>(device_);
}

}  // namespace rmq::rma
