// SPDX-License-Identifier: BSD-3-Clause
#include "tools/launch/flight.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "start/bootstrap_env.hpp"

namespace rmq::launch {

namespace {

constexpr std::size_t kOfTheDead = 20, kOfOthers = 5;  // events
constexpr int kMostOthers = 8;

std::uint64_t bytes_for(int slots) {
  return static_cast<std::uint64_t>(slots) * Trace::kFlightSlot;
}

}  // namespace

FlightMemory::FlightMemory(int slots) : slots_(slots) {
  rlimit limit{};  // beyond it the kernel sends a deadly signal
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes_for(slots)) return;
  file_.reset(::memfd_create("rmq-flight", MFD_CLOEXEC));
  if (!file_.is_open()) return;
  void* memory = MAP_FAILED;
  if (::ftruncate(file_.get(), static_cast<off_t>(bytes_for(slots))) == 0)
    memory = ::mmap(nullptr, bytes_for(slots), PROT_READ, MAP_SHARED | MAP_NORESERVE, file_.get(), 0);
  if (memory == MAP_FAILED) {
    file_.reset();
    return;
  }
  memory_ = static_cast<const std::byte*>(memory);
}

FlightMemory::~FlightMemory() {
  if (memory_) ::munmap(const_cast<std::byte*>(memory_), bytes_for(slots_));
}

std::string FlightMemory::variable(int slot) const {
  return boot::format_flight(file_.get(), static_cast<std::uint64_t>(slot) * Trace::kFlightSlot);
}

std::optional<trace::View> FlightMemory::view(int slot) const {
  if (!memory_) return {};
  return trace::View::over(memory_ + static_cast<std::uint64_t>(slot) * Trace::kFlightSlot, Trace::kFlightSlot);
}

std::string FlightMemory::report_death(int slot, int rank) const {
  std::string text;
  if (slot >= 0) {
    const auto dead = view(slot);
    if (!dead || dead->written() == 0) return {};  // it has failed before it began
    text = dead->report(kOfTheDead);
  }
  int others = 0;
  for (int s = 0; s < slots_ && others < kMostOthers; ++s) {
    const auto other = s == slot ? std::nullopt : view(s);
    if (!other || other->finished() || other->waited_for() != rank) continue;
    text += other->report(kOfOthers);
    ++others;
  }
  return text;
}

}  // namespace rmq::launch
