// The life of a window: memory, the exchange of what members must know of each other, the loss of a member.
#include "rma/window.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "rma/apply.hpp"
#include "rma/window_state.hpp"

namespace rmq::rma {
namespace {

// The words of a contribution.
enum Word : std::size_t { kFault, kSize, kUnit, kData, kControl, kMemory, kBytes, kTypeBytes };

// Where the data begins in the memory of a shared window's member: on a page, behind the control.
std::uint64_t data_at(std::size_t members) {
  constexpr std::uint64_t kPage = 4096;
  return (Control::bytes(members) + kPage - 1) / kPage * kPage;
}

}  // namespace

Window::Window(Domain& domain, WindowOptions options) : domain_(domain), options_(std::move(options)) {}

std::unique_ptr<Window> Window::prepare(Domain& domain, WindowOptions options) {
  std::unique_ptr<Window> w(new Window(domain, std::move(options)));
  const std::size_t n = w->options_.ranks.size();
  w->members_ = static_cast<unsigned>(n);
  w->me_ = w->options_.me;
  w->reach_ = std::make_unique<Reach[]>(n);
  w->channels_.resize(n);
  w->origins_.resize(n);
  w->started_.resize(n);
  w->posted_.resize(n);
  w->member_of_.assign(static_cast<std::size_t>(domain.device().size()), -1);
  for (std::size_t i = 0; i < n; ++i)
    w->member_of_[static_cast<std::size_t>(w->options_.ranks[i])] = static_cast<int>(i);
  w->take_memory();
  domain.add(*w);
  return w;
}

void Window::take_memory() {
  if (options_.flavor == Flavor::dynamic) options_.size = 0;
  if (options_.flavor == Flavor::shared) {
    take_host_memory();
  } else {
    take_heap_memory();
  }
  // Packets may come before open(): whoever has the last contribution first begins.
  if (trouble_ == Fault::none) reach(options_.me, contribution());
}

// A shared window: control and data in one piece of memory for each member; together, the first one's holds all data.
void Window::take_host_memory() {
  std::uint64_t bytes = options_.size;
  if (!options_.hints.noncontiguous) {
    bytes = 0;
    for (const std::uint64_t size : options_.sizes) bytes += size;
    if (options_.me != 0) bytes = 0;
  }
  const std::size_t n = options_.ranks.size();
  shares_ = true;
  memory_.resize(n);
  HostMemory& mine = memory_[static_cast<std::size_t>(options_.me)];
  mine = HostMemory::make(data_at(n) + bytes);
  if (!mine) {
    trouble_ = Fault::no_memory;
    return;
  }
  control_ = Control::make(mine.data(), n);
  base_ = mine.data() + data_at(n);
}

void Window::take_heap_memory() {
  adi::Device& d = device();
  const std::size_t n = options_.ranks.size();
  if (options_.flavor == Flavor::create) base_ = static_cast<std::byte*>(options_.base);
  if (options_.flavor == Flavor::allocate) {
    allocated_ = d.MPID_Mem_alloc(std::max<std::uint64_t>(options_.size, kCacheLine));
    base_ = static_cast<std::byte*>(allocated_);
    if (!allocated_) trouble_ = Fault::no_memory;
  }
  // The control lies where the data is: shared, or not. What holds no data is shared as a matter of course.
  shares_ = options_.flavor != Flavor::dynamic && (options_.size == 0 || d.MPID_Mem_token(base_, options_.size) != 0);
  void* memory = shares_ ? d.MPID_Mem_alloc(Control::bytes(n)) : nullptr;
  if (memory && d.MPID_Mem_token(memory, Control::bytes(n)) == 0) {
    d.MPID_Mem_free(memory);
    memory = nullptr;
  }
  shares_ = memory != nullptr;
  if (!shares_) memory = std::aligned_alloc(kCacheLine, (Control::bytes(n) + kCacheLine - 1) / kCacheLine * kCacheLine);
  if (!memory) {
    trouble_ = Fault::no_memory;
    return;
  }
  control_ = Control::make(memory, n);
}

std::array<std::uint64_t, Window::kWords> Window::contribution() const {
  std::array<std::uint64_t, kWords> words{};
  const adi::Device& d = device();
  words[kFault] = static_cast<std::uint64_t>(trouble_);
  words[kSize] = options_.size;
  words[kUnit] = static_cast<std::uint64_t>(options_.disp_unit);
  words[kTypeBytes] = d.config().rma_type_bytes;
  if (!memory_.empty()) {
    const HostMemory& mine = memory_[static_cast<std::size_t>(options_.me)];
    if (mine) words[kMemory] = mine.ticket();
    words[kBytes] = mine.bytes();
  } else if (shares_) {
    words[kData] = base_ ? d.MPID_Mem_token(base_, options_.size) : 0;
    words[kControl] = d.MPID_Mem_token(control_, Control::bytes(options_.ranks.size()));
  }
  return words;
}

Result<void> Window::open(std::span<const std::uint64_t> all) {
  for (int i = 0; i < size(); ++i) {
    const auto words = all.subspan(static_cast<std::size_t>(i) * kWords, kWords);
    if (words[kFault] != 0) return fail(Errc::no_memory, fmt::format("rank {} has no memory for a window", world(i)));
    reach(i, words);
    type_bytes_.push_back(words[kTypeBytes]);
  }
  if (options_.flavor == Flavor::shared) {
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
  for (int i = 0; i < size(); ++i) at(i).plain = at(i).direct && flavor() != Flavor::dynamic;
  for (int i = 0; i < size(); ++i) {
    options_.hints.same_size &= at(i).size == at(0).size;
    options_.hints.same_disp_unit &= at(i).unit == at(0).unit;
  }
  bool served = false;
  for (int i = 0; i < size(); ++i) {
    served = served || !reaches_me(i);  // who cannot reach my memory sends packets
  }
  needs_agent_ = served && !options_.hints.no_locks;
  if (needs_agent_) domain_.need_agent(true);
  return {};
}

// Whether that member reaches my memory directly. I may have to send packets to it nevertheless, for its memory may be
// ordinary where mine is of the heap.
bool Window::reaches_me(int rank) const {
  return rank == me() || (shares_ && is_near(rank));
}

/// On my host.
bool Window::is_near(int rank) const {
  const std::vector<int>& host = device().job().host_of_rank;
  return host[static_cast<std::size_t>(world(rank))] == host[static_cast<std::size_t>(world(me()))];
}

void Window::reach(int rank, std::span<const std::uint64_t> words) {
  Reach& t = at(rank);
  t.size = words[kSize];
  t.unit = words[kUnit];
  t.shift = static_cast<std::uint8_t>(Regions::shift_for(t.size));
  if (rank == me()) {
    t.direct = t.near = true;
    t.base = options_.flavor == Flavor::dynamic ? nullptr : base_;
    t.control = control_;
    t.contended = shares_;
    return;
  }
  const std::uint64_t bytes = Control::bytes(options_.ranks.size());
  if (words[kMemory] != 0) {
    HostMemory& theirs = memory_[static_cast<std::size_t>(rank)];
    if (is_near(rank)) theirs = HostMemory::map(words[kMemory], words[kBytes]);
    if (!theirs || theirs.bytes() < data_at(options_.ranks.size())) return;
    t.control = reinterpret_cast<Control*>(theirs.data());
    t.base = theirs.data() + data_at(options_.ranks.size());
    t.direct = t.near = true;
    return;
  }
  auto* control = reinterpret_cast<Control*>(device().MPID_Mem_map(world(rank), words[kControl], bytes));
  if (!control) return;
  t.base = device().MPID_Mem_map(world(rank), words[kData], 0);
  if (!t.base && t.size != 0) return;
  t.control = control;
  t.direct = true;
  t.near = shares_;
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
  if (options_.hints.noncontiguous) return;
  // The first member has allocated for all: one behind the other.
  std::byte* next = at(0).base;
  for (int i = 0; i < size(); ++i) {
    at(i).base = next;
    next += at(i).size;
  }
  base_ = at(me()).base;
}

Fault Window::may_close() {
  const bool fenced = (all_ & kFence) != 0 && fence_used_;
  if ((all_ & kLockAll) != 0 || fenced || !locked_.empty() || accessing_ || exposed_) return Fault::sync;
  for (const auto& c : channels_) {
    if (c) wait_until({WaitFor::What::operations, c->rank}, [&] { return c->asks == 0 && !c->oldest; });
  }
  return Fault::none;
}

Window::~Window() {
  if (needs_agent_) domain_.need_agent(false);
  domain_.remove(*this);
  for (const auto& c : channels_) {
    if (c) release_types(*c, UINT64_MAX);
  }
  if (!memory_.empty()) return;
  if (control_ && shares_)
    device().MPID_Mem_free(control_);
  else
    std::free(control_);
  if (allocated_) device().MPID_Mem_free(allocated_);
}

// ---- memory ----

Fault Window::attach(void* memory, std::uint64_t bytes) {
  if (flavor() != Flavor::dynamic) return Fault::attach;
  const auto from = reinterpret_cast<std::uintptr_t>(memory);
  if (bytes == 0) {
    attached_empty_.insert(from);
    return Fault::none;
  }
  const auto above = attached_.upper_bound(from);
  if (above != attached_.end() && bytes > above->first - from) return Fault::attach;
  if (above != attached_.begin()) {
    const auto below = std::prev(above);
    if (below->first == from || from - below->first < below->second) return Fault::attach;
  }
  attached_.emplace(from, bytes);
  return Fault::none;
}

Fault Window::detach(void* memory) {
  const auto from = reinterpret_cast<std::uintptr_t>(memory);
  if (attached_.erase(from) == 1) return Fault::none;
  const auto empty = attached_empty_.find(from);
  if (empty == attached_empty_.end()) return Fault::attach;
  attached_empty_.erase(empty);
  return Fault::none;
}

bool Window::is_attached(std::uint64_t from, std::uint64_t bytes) const {
  if (bytes == 0) return true;
  // Neighbours that touch are one region to whoever accesses them.
  auto block = attached_.upper_bound(from);
  if (block == attached_.begin()) return false;
  std::uint64_t reached = from;
  for (--block; block != attached_.end() && block->first <= reached; ++block) {
    reached = std::max<std::uint64_t>(reached, block->first + block->second);
    if (reached - from >= bytes) return true;
  }
  return false;
}

/// `count` elements of `layout`, the first one's origin at that address.
bool Window::is_attached(const Layout& layout, std::uint64_t count, std::uint64_t origin) const {
  const Span span = span_of(layout, count);
  const auto low = span.low + origin;
  return span.length == 0 || (low >= 0 && low + span.length <= INT64_MAX &&
                              is_attached(static_cast<std::uint64_t>(low), static_cast<std::uint64_t>(span.length)));
}

Fault Window::shared_query(int rank, SharedMemory& memory) const {
  if (flavor() == Flavor::dynamic) return Fault::shared;
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

// ---- loss ----

bool Window::is_lost(int rank) const {
  return std::find(lost_members_.begin(), lost_members_.end(), rank) != lost_members_.end();
}

Fault Window::lost_because_of(int rank, const char* held) {
  lost_ = fmt::format("rank {} is lost{}: {}", world(rank), held, device().peer_error(world(rank)));
  return Fault::peer_lost;
}

void Window::peer_lost(Rank lost) {
  const int rank = member(lost);
  if (rank < 0) return;
  lost_members_.push_back(rank);
  bool under_way = false;
  if (auto& c = channels_[static_cast<std::size_t>(rank)]) {
    under_way = c->head != nullptr || c->oldest != nullptr || c->acked != c->sent;
    abandon(*c, Fault::peer_lost);
  }
  if (auto& o = origins_[static_cast<std::size_t>(rank)]) {
    o->lost = true;
    drop_all(*o);
    if (o->lock == Origin::Lock::held) unlock_for(*o);
  }
  if (under_way && options_.on_lost) options_.on_lost(lost);
}

}  // namespace rmq::rma
