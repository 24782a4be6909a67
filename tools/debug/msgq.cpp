// SPDX-License-Identifier: BSD-3-Clause
// Reads the message queues of a stopped rank for a debugger. What it looks at is copied in one go: communicators when
// their list is asked for, requests when a queue of one is. base/record/debug_root.hpp says where everything is.
#include "tools/debug/msgq.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/packet/request.hpp"
#include "base/record/debug_root.hpp"

namespace {

using rmq::DebugRoot;

const mqs_basic_callbacks* debugger;

constexpr int kUnreadable = mqs_first_user_code, kNoRoot = mqs_first_user_code + 1;
constexpr mqs_tword_t kAny = -1;
constexpr std::size_t kMostRanks = 1 << 20, kMostSlabs = 1 << 18;  // more is no array of ours

struct Comm {
  std::uint32_t context = 0, recv_context = 0;
  int rank = 0;
  std::vector<std::int32_t> world, remote;  // world ranks of the members; of the other group of an inter-communicator
  std::string name;
  const std::vector<std::int32_t>& others() const { return remote.empty() ? world : remote; }
};

struct Image {
  const mqs_image_callbacks* calls;
};

struct Process {
  const mqs_process_callbacks* calls;
  DebugRoot root{};
  std::vector<Comm> comms;
  std::size_t comm = 0;                           // the current one
  std::vector<mqs_pending_operation> operations;  // of the current queue
  std::size_t operation = 0;
};

Image* info_of(mqs_image* i) {
  return reinterpret_cast<Image*>(debugger->mqs_get_image_info_fp(i));
}
Process* info_of(mqs_process* p) {
  return reinterpret_cast<Process*>(debugger->mqs_get_process_info_fp(p));
}

// The program's memory.
class Reader {
 public:
  Reader(mqs_process* process, const Process& p) : process_(process), calls_(*p.calls) {}
  bool bytes(std::uint64_t at, void* to, std::size_t n) const {
    return n == 0 || calls_.mqs_fetch_data_fp(process_, at, static_cast<int>(n), to) == mqs_ok;
  }
  template <class T>
  T value(std::uint64_t at) const {
    T out{};
    bytes(at, &out, sizeof out);
    return out;
  }
  // What lies between two pointers, of which `at` is the address.
  template <class T>
  std::vector<T> array(std::uint64_t at, std::size_t most) const {
    const auto begin = value<std::uint64_t>(at), end = value<std::uint64_t>(at + sizeof begin);
    if (begin == 0 || end < begin || (end - begin) / sizeof(T) > most) return {};
    std::vector<T> out((end - begin) / sizeof(T));
    if (!bytes(begin, out.data(), out.size() * sizeof(T))) out.clear();
    return out;
  }

 private:
  mqs_process* process_;
  const mqs_process_callbacks& calls_;
};

std::vector<std::int32_t> ranks_of(const Reader& r, const DebugRoot& d, std::uint64_t group) {
  const auto list = r.value<std::uint64_t>(group + d.comm.ranks_list);
  const auto first = r.value<std::int32_t>(group + d.comm.ranks_first);
  const auto stride = r.value<std::int32_t>(group + d.comm.ranks_stride);
  const auto size = r.value<std::int32_t>(group + d.comm.ranks_size);
  if (size < 0 || static_cast<std::size_t>(size) > kMostRanks) return {};
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(size));
  if (list != 0) {
    if (!r.bytes(list, ranks.data(), ranks.size() * sizeof ranks[0])) ranks.clear();
  } else {
    for (std::int32_t i = 0; i < size; ++i) ranks[static_cast<std::size_t>(i)] = first + i * stride;
  }
  return ranks;
}

void read_comm(const Reader& r, const DebugRoot& d, std::uint64_t at, Process& p) {
  if (at == 0) return;
  Comm c;
  c.context = r.value<std::uint32_t>(at + d.comm.context);
  c.recv_context = r.value<std::uint32_t>(at + d.comm.recv_context);
  c.rank = r.value<std::int32_t>(at + d.comm.rank);
  const auto group = r.value<std::uint64_t>(at + d.comm.group), remote = r.value<std::uint64_t>(at + d.comm.remote);
  if (group) c.world = ranks_of(r, d, group);
  if (remote) c.remote = ranks_of(r, d, remote);
  const auto text = r.value<std::uint64_t>(at + d.comm.name),
             length = r.value<std::uint64_t>(at + d.comm.name + sizeof text);
  c.name.resize(std::min<std::uint64_t>(length, sizeof mqs_communicator::name - 1));
  if (!r.bytes(text, c.name.data(), c.name.size())) c.name.clear();
  if (c.name.empty()) c.name = "context " + std::to_string(c.context);
  p.comms.push_back(std::move(c));
}

int local_rank(const Comm& c, int world) {
  const auto& ranks = c.others();
  const auto at = std::find(ranks.begin(), ranks.end(), world);
  return at == ranks.end() ? -1 : static_cast<int>(at - ranks.begin());
}

int world_rank(const Comm& c, int local) {
  const auto& ranks = c.others();
  return local >= 0 && static_cast<std::size_t>(local) < ranks.size() ? ranks[static_cast<std::size_t>(local)] : -1;
}

// A request as its bytes have it.
class RequestView {
 public:
  RequestView(const DebugRoot& d, const std::byte* at) : d_(d), at_(at) {}
  template <class T>
  T get(std::uint32_t offset) const {
    T out;
    std::memcpy(&out, at_ + offset, sizeof out);
    return out;
  }
  bool alive() const { return (get<std::uint32_t>(d_.request.generation) & 1) != 0; }
  rmq::RequestKind kind() const { return get<rmq::RequestKind>(d_.request.kind); }
  bool complete() const { return get<std::int32_t>(d_.request.incomplete) == 0; }
  rmq::Step step() const { return get<rmq::Step>(d_.request.step); }
  std::uint8_t flags() const { return get<std::uint8_t>(d_.request.flags); }
  rmq::Match match() const { return get<rmq::Match>(d_.request.match); }
  std::uint64_t stamp() const { return get<std::uint64_t>(d_.request.stamp); }
  std::int32_t peer() const { return get<std::int32_t>(d_.request.peer); }
  std::uint64_t base() const { return get<std::uint64_t>(d_.request.base); }
  std::uint64_t bytes() const { return get<std::uint64_t>(d_.request.view_bytes); }
  std::uint64_t owned() const { return get<std::uint64_t>(d_.request.owned); }
  std::uint64_t owned_bytes() const { return get<std::uint64_t>(d_.request.owned_bytes); }
  rmq::Packet packet() const {
    rmq::Packet p;
    std::memcpy(static_cast<void*>(&p), at_ + d_.request.packet, sizeof p);
    return p;
  }

 private:
  const DebugRoot& d_;
  const std::byte* at_;
};

rmq::RequestKind kind_of(int op_class) {
  return op_class == mqs_pending_sends      ? rmq::RequestKind::send
         : op_class == mqs_pending_receives ? rmq::RequestKind::recv
                                            : rmq::RequestKind::message;
}

mqs_pending_operation describe(const RequestView& r, const Comm& c, int op_class) {
  mqs_pending_operation o{};
  const rmq::Match m = r.match();
  const bool send = op_class == mqs_pending_sends, matched = rmq::is_matched(r.step());
  const int local = send ? local_rank(c, r.peer()) : m.source == rmq::kAnySource ? -1 : m.source;
  o.status = matched ? mqs_st_matched : mqs_st_pending;
  o.desired_local_rank = local < 0 ? kAny : local;
  o.desired_global_rank = send ? r.peer() : world_rank(c, local);
  o.tag_wild = m.tag == rmq::kAnyTag;
  o.desired_tag = m.tag;
  o.desired_length = static_cast<mqs_tword_t>(r.bytes());
  o.buffer = r.base();
  if (op_class == mqs_unexpected_messages) {
    const rmq::Packet p = r.packet();
    o.system_buffer = 1;
    o.buffer = r.owned();
    o.desired_length =
        static_cast<mqs_tword_t>(p.kind == rmq::Kind::REQUEST_SEND ? p.request_send.size : r.owned_bytes());
    if (p.kind == rmq::Kind::REQUEST_SEND)
      std::snprintf(o.extra_text[1], sizeof o.extra_text[1], "its data is with the sender");
  }
  o.actual_local_rank = o.desired_local_rank;
  o.actual_global_rank = o.desired_global_rank;
  o.actual_tag = o.desired_tag;
  o.actual_length = o.desired_length;
  const bool collective = (m.context & 1) != 0;
  std::snprintf(o.extra_text[0], sizeof o.extra_text[0], "%s%s", collective ? "of a collective operation" : "",
                r.step() == rmq::Step::queued ? "waits in the pending queue" : "");
  return o;
}

// Both contexts of a communicator: messages of the program, and of collective operations.
bool belongs(const rmq::Match& m, const Comm& c, int op_class) {
  const std::uint32_t context = op_class == mqs_pending_sends ? c.context : c.recv_context;
  return (m.context & ~1u) == (context & ~1u);
}

void read_queue(const Reader& reader, Process& p, int op_class) {
  struct Found {
    std::uint64_t stamp;
    mqs_pending_operation operation;
  };
  std::vector<Found> found;
  const DebugRoot& d = p.root;
  const Comm& c = p.comms[p.comm];
  std::vector<std::byte> slab(std::size_t{d.slab_requests} * d.request_bytes);
  for (const std::uint64_t at : reader.array<std::uint64_t>(d.slabs, kMostSlabs)) {
    if (!reader.bytes(at, slab.data(), slab.size())) continue;
    for (std::uint32_t i = 0; i < d.slab_requests; ++i) {
      const RequestView r(d, slab.data() + std::size_t{i} * d.request_bytes);
      if (!r.alive() || r.kind() != kind_of(op_class) || !belongs(r.match(), c, op_class)) continue;
      if (op_class != mqs_unexpected_messages && (r.complete() || (r.flags() & rmq::request_flag::staged) != 0))
        continue;
      found.push_back({r.stamp(), describe(r, c, op_class)});
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.stamp < b.stamp; });
  p.operations.clear();
  for (const Found& f : found) p.operations.push_back(f.operation);
  p.operation = 0;
}

char* text(const char* t) {
  return const_cast<char*>(t);
}

}  // namespace

void mqs_setup_basic_callbacks(const mqs_basic_callbacks* calls) {
  debugger = calls;
}
char* mqs_version_string() {
  return text("RMQ message queues " RMQ_VERSION);
}
int mqs_version_compatibility() {
  return 2;
}
int mqs_dll_taddr_width() {
  return sizeof(mqs_taddr_t);
}

char* mqs_dll_error_string(int code) {
  switch (code) {
    case kUnreadable:
      return text("the program's memory cannot be read");
    case kNoRoot:
      return text("the program has no RMQ library, or has not come through MPI_Init yet");
    default:
      return text("unknown error of the RMQ message queue library");
  }
}

int mqs_setup_image(mqs_image* image, const mqs_image_callbacks* calls) {
  debugger->mqs_put_image_info_fp(image, reinterpret_cast<mqs_image_info*>(new Image{calls}));
  return mqs_ok;
}

// The library may be loaded later than the debugger asks: each process tells.
int mqs_image_has_queues(mqs_image*, char** message) {
  if (message) *message = nullptr;
  return mqs_ok;
}

void mqs_destroy_image_info(mqs_image_info* info) {
  delete reinterpret_cast<Image*>(info);
}

int mqs_setup_process(mqs_process* process, const mqs_process_callbacks* calls) {
  auto* p = new Process{};
  p->calls = calls;
  debugger->mqs_put_process_info_fp(process, reinterpret_cast<mqs_process_info*>(p));
  return mqs_ok;
}

int mqs_process_has_queues(mqs_process* process, char** message) {
  if (message) *message = nullptr;
  Process& p = *info_of(process);
  mqs_image* image = p.calls->mqs_get_image_fp(process);
  mqs_taddr_t at = 0;
  if (info_of(image)->calls->mqs_find_symbol_fp(image, text("rmq_debug_root"), &at) != mqs_ok) return kNoRoot;
  if (!Reader(process, p).bytes(at, &p.root, sizeof p.root)) return kUnreadable;
  const bool known =
      std::memcmp(p.root.magic, DebugRoot::kMagic, sizeof p.root.magic) == 0 && p.root.bytes == sizeof p.root;
  return known && p.root.slab_requests <= 4096 && p.root.request_bytes <= 4096 ? int{mqs_ok} : kNoRoot;
}

void mqs_destroy_process_info(mqs_process_info* info) {
  delete reinterpret_cast<Process*>(info);
}

int mqs_update_communicator_list(mqs_process* process) {
  Process& p = *info_of(process);
  const Reader r(process, p);
  p.comms.clear();
  read_comm(r, p.root, p.root.world, p);
  read_comm(r, p.root, p.root.self, p);
  for (const std::uint64_t at : r.array<std::uint64_t>(p.root.comms, kMostRanks)) read_comm(r, p.root, at, p);
  p.comm = 0;
  return mqs_ok;
}

int mqs_setup_communicator_iterator(mqs_process* process) {
  Process& p = *info_of(process);
  p.comm = 0;
  return p.comms.empty() ? mqs_end_of_list : mqs_ok;
}

int mqs_get_communicator(mqs_process* process, mqs_communicator* to) {
  const Process& p = *info_of(process);
  if (p.comm >= p.comms.size()) return mqs_end_of_list;
  const Comm& c = p.comms[p.comm];
  *to = {};
  to->unique_id = c.context;
  to->local_rank = c.rank;
  to->size = static_cast<mqs_tword_t>(c.world.size());
  std::snprintf(to->name, sizeof to->name, "%s", c.name.c_str());
  return mqs_ok;
}

int mqs_get_comm_group(mqs_process* process, int* to) {
  const Process& p = *info_of(process);
  if (p.comm >= p.comms.size()) return mqs_end_of_list;
  std::copy(p.comms[p.comm].world.begin(), p.comms[p.comm].world.end(), to);
  return mqs_ok;
}

int mqs_next_communicator(mqs_process* process) {
  Process& p = *info_of(process);
  return ++p.comm < p.comms.size() ? mqs_ok : mqs_end_of_list;
}

int mqs_setup_operation_iterator(mqs_process* process, int op_class) {
  Process& p = *info_of(process);
  if (op_class < mqs_pending_sends || op_class > mqs_unexpected_messages) return mqs_no_information;
  if (p.comm >= p.comms.size()) return mqs_end_of_list;
  read_queue(Reader(process, p), p, op_class);
  return p.operations.empty() ? mqs_end_of_list : mqs_ok;
}

int mqs_next_operation(mqs_process* process, mqs_pending_operation* to) {
  Process& p = *info_of(process);
  if (p.operation >= p.operations.size()) return mqs_end_of_list;
  *to = p.operations[p.operation++];
  return mqs_ok;
}
