#include "mpi/internal/meeting_place.hpp"

#include <cstdint>
#include <map>

#include "mpi/ft/failures.hpp"

namespace rmq::mpi {
namespace {

// Apart from all contexts of communicators, and even, like these.
constexpr std::uint32_t kPlaces = 1u << 29;

/// How often this process has come to a place, by its hash. Touched with the device held.
std::uint32_t next_visit(std::uint64_t place) {
  static auto* const visits = new std::map<std::uint64_t, std::uint32_t>;
  return ++(*visits)[place];
}

}  // namespace

MeetingPlace::MeetingPlace(std::string_view text, const Ranks& members) {
  const adi::Device& device = *runtime().device;
  std::uint64_t h = 0xcbf29ce484222325u;
  const auto add = [&](std::uint64_t byte) { h = (h ^ byte) * 0x100000001b3u; };
  for (const char c : text) add(static_cast<unsigned char>(c));
  const auto add_word = [&](std::uint64_t word, int bits) {
    for (int shift = 0; shift < bits; shift += 8) add(word >> shift & 0xff);
  };
  for (const Rank r : members) {
    const Process who = device.MPID_Who(r);
    add_word(who.job, 64);
    add_word(who.rank, 32);
  }
  if (ft::may_fail()) add_word(next_visit(h), 32);
  const Comm& world = *runtime().world;
  comm_.context = comm_.recv_context = kPlaces | (static_cast<std::uint32_t>(h >> 32) & (kPlaces - 2));
  comm_.group = new_group(members);
  comm_.rank = comm_.group->rank;
  comm_.device = world.device;
  comm_.terms = world.terms;
  comm_.errhandler = &runtime().builtin_errhandlers[1];  // the call that made this place fails, where a message does
  tag_ = static_cast<int>(h & 0x7fffffff);
}

MeetingPlace::~MeetingPlace() {
  ft::leave_place(comm_);
  release(comm_.group);
}

}  // namespace rmq::mpi
