// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/branch.hpp"

#include <algorithm>
#include <utility>

namespace rmq::launch {

using boot::FrameKind;

void Branch::add(int rank, UniqueFd socket) {
  lines_.try_emplace(rank, loop_)
      .first->second.open(
          std::move(socket), [this, rank](const boot::Frame& frame) { hear(rank, frame); },
          [this, rank](const std::string& damage) {
            const auto number = static_cast<std::uint32_t>(rank);
            if (damage.empty()) return upcalls_.up(Word::left, Fields().number(number));
            upcalls_.up(Word::broke, Fields().number(number).rest(damage));
          });
}

void Branch::drain(int rank) {
  if (const auto line = lines_.find(rank); line != lines_.end()) line->second.drain();
}

// What the launcher would refuse, of calls that it does not hear of (Server::handle).
bool Branch::refuses(int rank, const boot::Frame& frame) {
  if (frame.kind != FrameKind::get && (frame.kind != FrameKind::fence || !frame.body.empty())) return false;
  const char* why = nullptr;
  if (const auto known = in_mpi_.find(rank); known == in_mpi_.end() || !known->second)
    why = "a start-up call outside of MPI_Init … MPI_Finalize";
  else if (frame.kind == FrameKind::fence && !fenced_.insert(rank).second)
    why = "two fences of one rank at once";
  if (why != nullptr) to_rank(rank, boot::encode(FrameKind::refused, why));
  return why != nullptr;
}

void Branch::hear(int rank, const boot::Frame& frame) {
  if (refuses(rank, frame)) return;
  const std::string whole = boot::encode(frame.kind, frame.body);
  switch (frame.kind) {
    case FrameKind::get: {
      Entry& entry = values_[std::string(frame.body)];
      if (entry.published) return to_rank(rank, boot::encode_value(frame.body, entry.value));
      entry.waiting.push_back(rank);
      return ask(entry, frame.body);
    }
    case FrameKind::fence:
      if (frame.body.empty()) return hear_fence(1);
      break;  // of a job that goes on when ranks die: the launcher knows who lives
    case FrameKind::put: {
      boot::BodyReader body(frame.body);
      const std::string_view key = body.short_text();
      // What the launcher refuses it will tell.
      if (body.ok() && !key.empty() && !values_[std::string(key)].published) value(key, body.rest());
      break;
    }
    case FrameKind::hello: {
      RankLine& line = lines_.at(rank);
      upcalls_.on_join(rank, line.sender());
      line.forget_senders();
      in_mpi_.try_emplace(rank, true);
      break;
    }
    case FrameKind::finalize:
      in_mpi_[rank] = false;
      upcalls_.up(Word::from_rank, Fields().number(static_cast<std::uint32_t>(rank)).rest(whole));
      return depart(rank);
    default:
      break;
  }
  upcalls_.up(Word::from_rank, Fields().number(static_cast<std::uint32_t>(rank)).rest(whole));
}

void Branch::ask(Entry& entry, std::string_view key) {
  if (!std::exchange(entry.asked, true)) upcalls_.up(Word::get, key);
}

void Branch::hear_get(std::size_t place, std::string_view key) {
  Entry& entry = values_[std::string(key)];
  if (entry.published) return upcalls_.down(place, Word::value, Fields().text(key).rest(entry.value));
  entry.places.push_back(place);
  ask(entry, key);
}

void Branch::value(std::string_view key, std::string_view value) {
  Entry& entry = values_[std::string(key)];
  if (entry.published) return;
  entry.published = true;
  entry.value = value;
  for (const int rank : std::exchange(entry.waiting, {})) to_rank(rank, boot::encode_value(key, entry.value));
  for (const std::size_t place : std::exchange(entry.places, {}))
    upcalls_.down(place, Word::value, Fields().text(key).rest(entry.value));
}

void Branch::hear_fence(int ranks) {
  in_fence_ += ranks;
  if (in_fence_ < ranks_) return check_fence();
  upcalls_.up(Word::fence, Fields().number(static_cast<std::uint32_t>(std::exchange(in_fence_, 0))));
}

void Branch::depart(int rank) {
  left_ = rank;
  check_fence();
}

// The launcher hears of a fence only when all have come.
void Branch::check_fence() {
  if (in_fence_ == 0 || left_ < 0) return;
  upcalls_.up(Word::broke, Fields()
                               .number(static_cast<std::uint32_t>(left_))
                               .rest("it left while other ranks wait for it in MPI_Init or MPI_Finalize"));
  left_ = -1;
}

void Branch::fence_done(std::size_t below) {
  const std::string frame = boot::encode(FrameKind::fence_done);
  fenced_.clear();
  for (auto& [rank, line] : lines_) line.send(frame);
  for (std::size_t place = 0; place < below; ++place) upcalls_.down(place, Word::fence_done, {});
}

void Branch::forget(std::size_t place) {
  for (auto& [key, entry] : values_) std::erase(entry.places, place);
}

void Branch::to_rank(int rank, std::string_view frame) {
  if (const auto line = lines_.find(rank); line != lines_.end()) line->second.send(frame);
}

}  // namespace rmq::launch
