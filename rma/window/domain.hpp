// SPDX-License-Identifier: BSD-3-Clause
// All windows of one device: brings packets to the window that they are for, and answers to the operation that has
// asked, lets those go on who wait for a turn, and keeps the agent. What the windows' parts use of it is DomainCore.
//
// One a device, made before the first window and destroyed after the last, before the device's end. Everything needs
// the device held.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "adi/device.hpp"
#include "adi/extension.hpp"
#include "rma/core/domain_core.hpp"

namespace rmq::rma {

class Agent;
class Window;

class Domain final : public adi::Extension, public DomainCore {
 public:
  explicit Domain(adi::Device& device);
  ~Domain() override;

  using DomainCore::add;
  using DomainCore::remove;
  void add(Window& window);
  void remove(Window& window);
  /// Whether the window is served by packets, so that an agent has to be there while the program computes.
  void need_agent(bool need);
  /// Windows here that others reach by packets, and that an agent serves.
  int served() const { return agent_needs_; }

  // ---- adi::Extension ----
  void on_packet(Rank from, const Packet& packet, const std::byte* payload) override;
  methods::Landing on_arriving(Rank from, const Packet& packet) override;
  void on_landed(Rank from, const Packet& packet, const methods::Landing& landing, Errc error) override;
  void on_peer_lost(Rank rank) override;
  int advance() override;
  bool may_sleep() override;
  void tell(ReportText& to) const override;

 private:
  Window* find_window(Rank from, const Packet& p, int& member);
  Window* window_of(Rank from, const Packet& p, int& member);
  Op* find_asker(Rank from, const Packet& reply);
  void on_reply(Rank from, const Packet& p, const std::byte* payload);
  static bool is_known(std::uint32_t fault);
  void on_ack(Rank from, const Packet& p);
  void on_definition(Rank from, const Packet& p, const std::byte* payload);
  /// For a window, or from a window, that has ended: nobody waits for it.
  void stray(Rank from, const Packet& p);
  void stray_answer(Rank from, const Packet& p, std::uint32_t ticket);
  void feed();
  int resume_all();
  int push_all();

  std::unordered_map<std::uint32_t, Window*> windows_;
  std::unique_ptr<Agent> agent_;
  int agent_needs_ = 0;  // windows, and sets of active messages, that need it
};

}  // namespace rmq::rma
