// SPDX-License-Identifier: BSD-3-Clause
#include "adi/relay.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <chrono>
#include <sstream>

#include "base/os/fd.hpp"

namespace rmq::adi {

using methods::Landing;

void Lifeline::say_goodbye() {
  if (!line_) return;
  line_->say("good-bye");
  static_cast<void>(line_->flush());
}

void Lifeline::say_death(std::span<const std::uint64_t> jobs, int rank) {
  std::string word;
  for (const std::uint64_t job : jobs)
    if (!is_beyond(job)) word += fmt::format(" {}", job);
  if (!line_ || word.empty()) return;
  line_->say(fmt::format("dead {}{}", rank, word));
  static_cast<void>(line_->flush());
}

Lifeline::News Lifeline::look() {
  if (!line_) return {};
  const auto word = line_->hear();
  if (word && !*word) return {};
  News news;
  if (word) {
    std::istringstream words(**word);
    std::string dead;
    words >> dead >> news.rank;
    for (std::uint64_t job; words >> job;) news.dead_of.push_back(job);
    if (dead == "dead" && news.rank >= -1 && !news.dead_of.empty()) return news;
  }
  news = {.broken = !word && parting_ != Parting::agreed, .dead_of = {}};
  line_.reset();
  return news;
}

bool Lifeline::has_come() const {
  return line_ && os::wait_for(fd(), POLLIN, std::chrono::milliseconds(0));
}

Relay::Relay(Shared shared) : shared_(shared) {
  sink_.device = this;
  sink_.on_packet.fill(&Relay::on_packet);
  sink_.on_arriving = &Relay::on_arriving;
  sink_.on_landed = &Relay::on_landed;
  sink_.on_sent = &Relay::on_sent;
  sink_.on_room = &Relay::on_room;
  sink_.on_moved = &Relay::on_moved;
  sink_.on_peer_lost = &Relay::on_peer_lost;
}

bool Relay::reaches(Rank rank) const {
  return shared_.numbers.met_here.contains(rank) && inner_->reaches(in(rank));
}

// All of the other side's jobs are lost to this process: for their launchers, or nobody, end them. Of its own job it
// hears by its own launcher.
int Relay::look_after() {
  const auto& members = shared_.facts.members;
  Lifeline::News news = shared_.lifeline.look();
  int deaths = 0;
  for (; !news.dead_of.empty(); news = shared_.lifeline.look(), ++deaths) {
    std::erase(news.dead_of, members[static_cast<std::size_t>(shared_.facts.me)].job);
    if (shared_.parted && shared_.deaths_are_told && !news.dead_of.empty())
      shared_.parted(news.dead_of, news.rank, false);
  }
  if (!news.broken) return deaths;
  while (inner_->poll() > 0) continue;  // what it had to say before
  for (int m = 0; m < static_cast<int>(members.size()) && !shared_.deaths_are_told; ++m) {
    if (shared_.lifeline.is_beyond(members[static_cast<std::size_t>(m)].job))
      on_peer_lost(this, m, {Errc::peer_lost, "its job has ended without MPI_Finalize or MPI_Comm_disconnect"});
  }
  // While the two are parting the call that does so says what has become of it; where deaths are told it waits to be
  // told of this one.
  const Lifeline::Parting parting = shared_.lifeline.parting();
  if (shared_.parted && !shared_.lifeline.beyond().empty() &&
      (parting == Lifeline::Parting::no || (parting == Lifeline::Parting::asked && shared_.deaths_are_told)))
    shared_.parted(shared_.lifeline.beyond(), -1, true);
  return 1;
}

void Relay::disarm() {
  inner_->disarm();
  shared_.bell.clear();
}

// The highest bit is that of the inner method; its offsets in a segment are far from those below.
std::uint64_t Relay::mem_token(const void* memory, std::uint64_t bytes) const {
  const std::uint64_t token = inner_->mem_token(memory, bytes);
  return token == 0 || party_of(token) != 0 ? 0 : token | tag() << kTagAt;
}

std::byte* Relay::mem_map(Rank owner, std::uint64_t token, std::uint64_t bytes) const {
  if (party_of(token) != tag() || !knows(owner)) return nullptr;
  return inner_->mem_map(in(owner), token & ~(kTagMask << kTagAt), bytes);
}

void Relay::on_packet(void* relay, Rank from, const Packet& packet, const std::byte* payload) {
  const auto& r = *static_cast<Relay*>(relay);
  const methods::Sink& up = r.shared_.up;
  up.on_packet[static_cast<std::uint8_t>(packet.kind)](up.device, r.out(from), packet, payload);
}

Landing Relay::on_arriving(void* relay, Rank from, const Packet& packet) {
  const auto& r = *static_cast<Relay*>(relay);
  return r.shared_.up.on_arriving(r.shared_.up.device, r.out(from), packet);
}

void Relay::on_landed(void* relay, Rank from, const Packet& packet, const Landing& landing, Errc error) {
  const auto& r = *static_cast<Relay*>(relay);
  r.shared_.up.on_landed(r.shared_.up.device, r.out(from), packet, landing, error);
}

void Relay::on_room(void* relay, Rank rank) {
  const auto& r = *static_cast<Relay*>(relay);
  r.shared_.up.on_room(r.shared_.up.device, r.out(rank));
}

void Relay::on_sent(void* relay, Request* owner, Errc error) {
  const auto& r = *static_cast<Relay*>(relay);
  r.shared_.up.on_sent(r.shared_.up.device, owner, error);
}

void Relay::on_moved(void* relay, Request* owner, std::uint64_t bytes, Errc error) {
  const auto& r = *static_cast<Relay*>(relay);
  r.shared_.up.on_moved(r.shared_.up.device, owner, bytes, error);
}

// A member that is reached in another way is that method's to miss.
void Relay::on_peer_lost(void* relay, Rank rank, const Error& error) {
  const auto& r = *static_cast<Relay*>(relay);
  const Rank number = r.out(rank);
  if (!r.shared_.numbers.met_here.contains(number)) return;
  const Process& who = r.shared_.facts.members[static_cast<std::size_t>(rank)];
  r.shared_.up.on_peer_lost(r.shared_.up.device, number,
                            {error.code, fmt::format("rank {} of job {} (number {} here): {}", who.rank,
                                                     job_name(who.job), number, error.what)});
}

}  // namespace rmq::adi
