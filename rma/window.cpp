// The life of a window: memory, the exchange of what members must know of each other, the loss of a member.
#include "rma/window.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "rma/active.hpp"
#include "rma/sender.hpp"
#include "rma/server.hpp"
#include "rma/window_lock.hpp"

namespace rmq::rma {
namespace {

// The words of a contribution. kUnit: above the unit's 32 bits, the shift of the regions.
enum Word : std::size_t { kFault, kSize, kUnit, kData, kControl, kMemory, kBytes, kTypeBytes };

// Where the data begins in the memory of a shared window's member: on a page, behind the control.
std::uint64_t data_at(std::size_t members) {
  constexpr std::uint64_t kPage = 4096;
  return (Control::bytes(members) + kPage - 1) / kPage * kPage;
}

}  // namespace

Window::Window(Domain& d, WindowOptions o)
    : WindowState(d, std::move(o)),
      lock_(std::make_unique<WindowLock>(state())),
      sender_(std::make_unique<Sender>(state())),
      active_(std::make_unique<Active>(state(), *sender_)),
      server_(std::make_unique<Server>(state(), *lock_, *active_)) {}

std::unique_ptr<Window> Window::prepare(Domain& domain, WindowOptions options) {
  std::unique_ptr<Window> w(new Window(domain, std::move(options)));
  w->take_memory();
  domain.add(*w);
  return w;
}

void Window::take_memory() {
  if (is_dynamic()) options.size = 0;
  if (options.flavor == Flavor::shared) {
    take_host_memory();
  } else {
    take_heap_memory();
  }
  // Packets may come before open(): whoever has the last contribution first begins.
  if (trouble_ == Fault::none) learn(options.me, contribution());
}

// A shared window: control and data in one piece of memory for each member; together, the first one's holds all data.
void Window::take_host_memory() {
  std::uint64_t bytes = options.size;
  if (!options.hints.noncontiguous) {
    bytes = 0;
    for (const std::uint64_t size : options.sizes) bytes += size;
    if (options.me != 0) bytes = 0;
  }
  const std::size_t n = options.ranks.size();
  shares = true;
  memory_.resize(n);
  HostMemory& mine = memory_[static_cast<std::size_t>(options.me)];
  mine = HostMemory::make(data_at(n) + bytes);
  if (!mine) {
    trouble_ = Fault::no_memory;
    return;
  }
  my_control = Control::make(mine.data(), n);
  my_memory = mine.data() + data_at(n);
}

void Window::take_heap_memory() {
  adi::Device& d = device();
  const std::size_t n = options.ranks.size();
  if (options.flavor == Flavor::create) my_memory = static_cast<std::byte*>(options.base);
  if (options.flavor == Flavor::allocate) {
    allocated_ = d.MPID_Mem_alloc(std::max<std::uint64_t>(options.size, kCacheLine));
    my_memory = static_cast<std::byte*>(allocated_);
    if (!allocated_) trouble_ = Fault::no_memory;
  }
  // The control lies where the data is: shared, or not. What holds no data is shared as a matter of course.
  shares = !is_dynamic() && (options.size == 0 || d.MPID_Mem_token(my_memory, options.size) != 0);
  void* memory = shares ? d.MPID_Mem_alloc(Control::bytes(n)) : nullptr;
  if (memory && d.MPID_Mem_token(memory, Control::bytes(n)) == 0) {
    d.MPID_Mem_free(memory);
    memory = nullptr;
  }
  shares = memory != nullptr;
  if (!shares) memory = std::aligned_alloc(kCacheLine, (Control::bytes(n) + kCacheLine - 1) / kCacheLine * kCacheLine);
  if (!memory) {
    trouble_ = Fault::no_memory;
    return;
  }
  my_control = Control::make(memory, n);
}

std::array<std::uint64_t, Window::kWords> Window::contribution() const {
  std::array<std::uint64_t, kWords> words{};
  const adi::Device& d = device();
  words[kFault] = static_cast<std::uint64_t>(trouble_);
  words[kSize] = options.size;
  const auto shift = Regions::shift_for(options.size, options.hints.granularity);
  words[kUnit] = static_cast<std::uint32_t>(options.disp_unit) | std::uint64_t{shift} << 32;
  words[kTypeBytes] = d.config().rma_type_bytes;
  if (!memory_.empty()) {
    const HostMemory& mine = memory_[static_cast<std::size_t>(options.me)];
    if (mine) words[kMemory] = mine.ticket();
    words[kBytes] = mine.bytes();
  } else if (shares) {
    words[kData] = my_memory ? d.MPID_Mem_token(my_memory, options.size) : 0;
    words[kControl] = d.MPID_Mem_token(my_control, Control::bytes(options.ranks.size()));
  }
  return words;
}

Result<void> Window::open(std::span<const std::uint64_t> all) {
  for (int i = 0; i < size(); ++i) {
    const auto words = all.subspan(static_cast<std::size_t>(i) * kWords, kWords);
    if (words[kFault] != 0) return fail(Errc::no_memory, fmt::format("rank {} has no memory for a window", world(i)));
    learn(i, words);
    sender_->know_type_bytes(words[kTypeBytes]);
  }
  if (options.flavor == Flavor::shared) {
    if (const int other = elsewhere(); other >= 0) {
      return fail(Errc::argument, fmt::format("ranks {} and {} are on different hosts: they cannot share memory",
                                              world(0), world(other)));
    }
    for (int i = 0; i < size(); ++i) {
      if (!at(i).direct) {
        return fail(Errc::no_memory,
                    fmt::format("rank {} cannot map the window memory of rank {}", world(me()), world(i)));
      }
    }
    place_shared();
  }
  for (int i = 0; i < size(); ++i) at(i).plain = at(i).direct && !is_dynamic();
  for (int i = 0; i < size(); ++i) {
    options.hints.same_size &= at(i).size == at(0).size;
    options.hints.same_disp_unit &= at(i).unit == at(0).unit;
  }
  bool served = false;
  for (int i = 0; i < size(); ++i) {
    served = served || !reaches_me(i);  // who cannot reach my memory sends packets
  }
  needs_agent_ = served && !options.hints.no_locks;
  if (needs_agent_) domain.need_agent(true);
  return {};
}

// Whether that member reaches my memory directly. I may have to send packets to it nevertheless, for its memory may be
// ordinary where mine is of the heap.
bool Window::reaches_me(int rank) const {
  return rank == me() || (shares && is_near(rank));
}

/// On my host.
bool Window::is_near(int rank) const {
  const std::vector<int>& host = device().job().host_of_rank;
  return host[static_cast<std::size_t>(world(rank))] == host[static_cast<std::size_t>(world(me()))];
}

void Window::learn(int rank, std::span<const std::uint64_t> words) {
  Reach& t = at(rank);
  t.size = words[kSize];
  t.unit = static_cast<std::uint32_t>(words[kUnit]);
  t.shift = static_cast<std::uint8_t>(words[kUnit] >> 32);
  if (rank == me()) {
    t.direct = t.near = true;
    t.base = is_dynamic() ? nullptr : my_memory;
    t.control = my_control;
    t.contended = shares;
    return;
  }
  const std::uint64_t bytes = Control::bytes(options.ranks.size());
  if (words[kMemory] != 0) {
    HostMemory& theirs = memory_[static_cast<std::size_t>(rank)];
    if (is_near(rank)) theirs = HostMemory::map(words[kMemory], words[kBytes]);
    if (!theirs || theirs.bytes() < data_at(options.ranks.size())) return;
    t.control = reinterpret_cast<Control*>(theirs.data());
    t.base = theirs.data() + data_at(options.ranks.size());
    t.direct = t.near = true;
    return;
  }
  auto* control = reinterpret_cast<Control*>(device().MPID_Mem_map(world(rank), words[kControl], bytes));
  if (!control) return;
  t.base = device().MPID_Mem_map(world(rank), words[kData], 0);
  if (!t.base && t.size != 0) return;
  t.control = control;
  t.direct = true;
  t.near = shares;
}

// A member on another host than the first one, or -1.
int Window::elsewhere() const {
  const std::vector<int>& host = device().job().host_of_rank;
  for (int i = 1; i < size(); ++i) {
    if (host[static_cast<std::size_t>(world(i))] != host[static_cast<std::size_t>(world(0))]) return i;
  }
  return -1;
}

void Window::place_shared() {
  if (options.hints.noncontiguous) return;
  // The first member has allocated for all: one behind the other.
  std::byte* next = at(0).base;
  for (int i = 0; i < size(); ++i) {
    at(i).base = next;
    next += at(i).size;
  }
  my_memory = at(me()).base;
}

Fault Window::may_close() {
  if (epochs.has(access::lock_all) || epochs.fenced() || !epochs.locked.empty() || epochs.accessing || epochs.exposed)
    return Fault::sync;
  sender_->finish_all();
  return Fault::none;
}

Window::~Window() {
  if (needs_agent_) domain.need_agent(false);
  domain.remove(*this);
  if (!memory_.empty()) return;
  if (my_control && shares)
    device().MPID_Mem_free(my_control);
  else
    std::free(my_control);
  if (allocated_) device().MPID_Mem_free(allocated_);
}

// ---- active target ----

Fault Window::fence(unsigned assertions) {
  return active_->fence(assertions);
}
Fault Window::post(std::span<const int> group, unsigned assertions) {
  return active_->post(group, assertions);
}
Fault Window::start(std::span<const int> group, unsigned assertions) {
  return active_->start(group, assertions);
}
Fault Window::complete() {
  return active_->complete();
}
Fault Window::wait() {
  return active_->wait();
}
Fault Window::test(bool& done) {
  return active_->test(done);
}

// ---- memory ----

Fault Window::attach(void* from, std::uint64_t bytes) {
  return is_dynamic() && attached.add(from, bytes) ? Fault::none : Fault::attach;
}

Fault Window::detach(void* from) {
  return attached.remove(from) ? Fault::none : Fault::attach;
}

Fault Window::shared_query(int rank, SharedMemory& memory) const {
  if (is_dynamic()) return Fault::shared;
  for (int i = 0; rank < 0 && i < size(); ++i) {
    if (at(i).direct && at(i).size > 0) rank = i;
  }
  memory = {};
  if (rank < 0) return Fault::none;
  const Reach& t = at(rank);
  memory.disp_unit = static_cast<int>(t.unit);
  if (!t.direct || t.size == 0) return Fault::none;
  memory.base = t.base;
  memory.size = t.size;
  return Fault::none;
}

void Window::peer_lost(Rank lost) {
  const int place = member(lost);
  if (place < 0) return;
  lost_members.push_back(place);
  const bool under_way = sender_->peer_lost(place);
  server_->peer_lost(place);
  if (under_way && options.on_lost) options.on_lost(lost);
}

}  // namespace rmq::rma
