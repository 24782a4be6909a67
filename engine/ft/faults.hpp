// SPDX-License-Identifier: BSD-3-Clause
// The failures of a job that goes on when ranks die (rmqrun --ft): brings the FT_ packets and the deaths that the
// device hears of to the circles of this process.
//
// A packet may come for a communicator that is only being made here: it is kept until that is done. And it may come for
// one that has been freed here, and not everywhere: its circle lives on, and its contexts are not used again, until
// nothing more can come (circle.hpp).
//
// Used with the device held; lives no longer than it.
#pragma once

#include <memory>
#include <vector>

#include "adi/extension.hpp"
#include "engine/ft/circle.hpp"

namespace rmq::mpi::ft {

class Faults final : public adi::Extension {
 public:
  explicit Faults(adi::Device& device);
  ~Faults() override;
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;

  /// Of a communicator that begins. What has come for it already is still to be taken: begin().
  std::shared_ptr<Circle> make(std::uint32_t context, Members members);
  /// Its owner is ready: brings what has come for it.
  void begin(Circle& circle);
  /// Its communicator ends. Circle::on_over is called when that is so everywhere, at once or later.
  void end(const std::shared_ptr<Circle>& circle);
  /// In an agreement among its makings, which others are in: then its end() follows by itself.
  void refuse_once(const std::shared_ptr<Circle>& circle);
  /// Nobody but this process has ever known it.
  void forget(const std::shared_ptr<Circle>& circle);
  /// Whose processes have ended.
  const std::vector<Rank>& dead() const { return dead_; }
  /// Whether something has come for a communicator that is not known.
  bool has_early() const { return !early_.empty(); }
  /// Asked for the circle of a communicator of this process that has none yet, when something comes for it: with this
  /// context, and this member. It makes one, or says nullptr.
  Circle* (*look_up)(std::uint32_t context, Rank member) = nullptr;
  /// Of all circles: see there.
  bool (*refuse_in_group)(const Circle& circle, const GroupAgreement& agreement) = nullptr;

  void on_packet(Rank from, const Packet& packet, const std::byte* payload) override;
  methods::Landing on_arriving(Rank from, const Packet& packet) override;
  void on_landed(Rank from, const Packet& packet, const methods::Landing& landing, Errc error) override;
  void on_peer_lost(Rank) override {}
  void on_peer_dead(Rank rank) override;
  int advance() override { return 0; }
  bool may_sleep() override { return true; }

 private:
  struct Early {
    Rank from;
    Packet packet;
    std::vector<std::byte> payload;
  };
  Circle* find(std::uint32_t context, Rank from, int& place);
  void settle();

  adi::Device& device_;
  std::vector<std::shared_ptr<Circle>> circles_;
  std::vector<Rank> dead_;
  std::vector<Early> early_;
};

}  // namespace rmq::mpi::ft
