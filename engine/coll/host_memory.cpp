// SPDX-License-Identifier: BSD-3-Clause
#include "engine/coll/host_memory.hpp"

#include <new>
#include <vector>

#include "adi/relay.hpp"
#include "engine/coll/stages.hpp"
#include "engine/message/p2p.hpp"

namespace rmq::mpi::coll {
namespace {

void* aligned(void* memory) {
  const auto at = reinterpret_cast<std::uintptr_t>(memory);
  return reinterpret_cast<void*>((at + kCacheLine - 1) / kCacheLine * kCacheLine);
}

}  // namespace

std::unique_ptr<HostMemory> HostMemory::share(Steps& tell, Steps& agree, std::size_t size,
                                              const std::function<void(void*)>& make) {
  const std::size_t bytes = sizeof(Guests) + size;
  Comm& comm = agree.comm();
  adi::Device& device = agree.device();
  std::unique_ptr<HostMemory> memory;
  std::uint64_t token = 0;
  try {
    memory.reset(new HostMemory(device, *comm.terms, agree.size()));
    if (agree.rank() == 0 && memory->take(bytes, make, comm.group->world))
      token = device.mem_token(memory->guests_, bytes);
  } catch (const std::bad_alloc&) {  // all go without
    memory.reset();
  }
  bcast_to(tell, raw(&token, sizeof token), 0);
  agree.note(tell.error());
  std::uint64_t mine = 0, all = 0;
  if (memory && token != 0 && agree.error() == MPI_SUCCESS) {
    if (agree.rank() != 0) memory->guests_ = reinterpret_cast<Guests*>(device.mem_map(agree.world_of(0), token, bytes));
    mine = memory->guests_ != nullptr ? 1 : 0;
  }
  allreduce_to(agree, {*find_op(MPI_MIN), *find_datatype(MPI_UINT64_T), 1, device}, &mine, &all);
  // After an error others may take it for agreed on: what they look at has to stay.
  if (memory && memory->guests_ != nullptr) memory->open_ = all == 1 || agree.error() != MPI_SUCCESS;
  return agree.error() == MPI_SUCCESS && all == 1 ? std::move(memory) : nullptr;
}

void HostMemory::forget(const Terms& terms, const adi::Relay& relay) {
  std::erase_if(terms.lent().abandoned, [&](const Lent::Memory& m) { return relay.mem_token(m.at, 1) != 0; });
}

bool HostMemory::take(std::size_t bytes, const std::function<void(void*)>& make, const Ranks& sharers) {
  Lent& lent = terms_.lent();
  std::erase_if(lent.abandoned, [](const Lent::Memory& m) {
    const bool gone = m.guests->have_left(m.users);
    if (gone) m.owner->MPID_Mem_free(m.at);
    return gone;
  });
  lent.abandoned.reserve(lent.abandoned.size() + lent.in_use + 1);
  owned_ = device_.MPID_Mem_alloc(bytes + kCacheLine, sharers);
  if (owned_ == nullptr) return false;
  ++lent.in_use;
  guests_ = new (aligned(owned_)) Guests;
  make(at());
  return true;
}

HostMemory::~HostMemory() {
  if (open_) guests_->leave();
  if (owned_ == nullptr) return;
  --terms_.lent().in_use;
  if (open_ && !guests_->have_left(users_)) {
    terms_.lent().abandoned.push_back({owned_, guests_, users_, &device_});  // there is room
  } else {
    device_.MPID_Mem_free(owned_);  // nobody looks any more, or has ever come
  }
}

void tell_awaited(const Comm& comm, int member, ReportText& to) {
  to.begin_object();
  to.field("kind", "recv");
  to.field("context", comm.recv_context + kCollective);
  to.field("source", member);
  to.field("tag", 0);
  to.field("peer", comm.world_of(member));
  to.field("bytes", 0);
  to.field("matched", false);
  to.end_object();
}

}  // namespace rmq::mpi::coll
