// SPDX-License-Identifier: BSD-3-Clause
// ranks: 4
// Active messages of all kinds and sizes among all ranks: each is handled once, in its sender's order, and brings what
// was sent; each request that wants one gets its reply.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <rmq/active_messages.hpp>
#include <string>
#include <vector>

#include "check.hpp"

namespace {

// Once: handlers may not call MPI.
int me() {
  static const int rank = check::rank();
  return rank;
}
int ranks() {
  static const int size = check::size();
  return size;
}

constexpr std::size_t kSlot = 300'000;  // each rank's part of everyone's attached memory
enum Handler { kRequest, kReply, kLongRequest, kLongReply };

struct Words {
  std::uint32_t number;  // from this sender to this target; or of the request that is answered
  std::uint32_t bytes;
  std::uint32_t wants;  // 0: nothing; 1: short; 2: with its data; 3: its data, put back
};

std::byte byte_of(int from, std::uint32_t number, std::size_t i) {
  return std::byte((std::size_t(from) * 131 + number * 17 + i * 7 + (i >> 8)) & 255);
}
bool is_whole(const void* data, int from, std::uint32_t number, std::size_t bytes) {
  const auto* at = static_cast<const std::byte*>(data);
  for (std::size_t i = 0; i < bytes; ++i)
    if (at[i] != byte_of(from, number, i)) return false;
  return true;
}

class Exchange {
 public:
  Exchange(rmq::ActiveMessages::Run run, unsigned seed)
      : memory_(kSlot * std::size_t(ranks()) * 2),
        came_(std::size_t(ranks())),
        next_(came_.size()),
        am_(MPI_COMM_WORLD,
            {[this](rmq::Message& m) { on_request(m, false); }, [this](rmq::Message& m) { on_reply(m, false); },
             [this](rmq::Message& m) { on_request(m, true); }, [this](rmq::Message& m) { on_reply(m, true); }},
            run),
        random_(seed + unsigned(me()) * 1000) {
    am_.attach(memory_.data(), memory_.size());
  }

  void run(int rounds) {
    static constexpr std::uint32_t kSizes[] = {0,    1,    8,    16,   19,    20,    28,    29,     100,    2047,
                                               2048, 8191, 8192, 8193, 32768, 65000, 65536, 100000, 299999, 300000};
    std::vector<std::byte> data(kSlot);
    const int n = ranks();
    for (int i = 0; i < rounds; ++i) {
      const int to = int(random_() % unsigned(n));
      Words w{next_[std::size_t(to)]++, kSizes[random_() % std::size(kSizes)], unsigned(random_() % 4)};
      if (w.wants == 3 && w.bytes > RMQ_AM_DATA_MOST && random_() % 4) w.wants = 0;
      const bool is_long = w.bytes > RMQ_AM_DATA_MOST || random_() % 3 == 0;
      if (w.wants == 2 && w.bytes > RMQ_AM_DATA_MOST) w.wants = 3;
      for (std::size_t k = 0; k < w.bytes; ++k) data[k] = byte_of(me(), w.number, k);
      if (w.wants) ++wanted_;
      if (is_long) {
        // One message at a time has the place.
        am_.flush();
        CHECK(am_.request_long(to, kLongRequest, w, data.data(), w.bytes, place(to, me())) == MPI_SUCCESS);
      } else {
        CHECK(am_.request(to, kRequest, w, data.data(), w.bytes) == MPI_SUCCESS);
      }
      std::memset(data.data(), 0xee, w.bytes);  // it may be changed
      if (random_() % 8 == 0) am_.poll();
    }
    am_.flush();
    CHECK(answered_ == wanted_);
    MPI_Barrier(MPI_COMM_WORLD);
    std::vector<unsigned> sent(came_.size());
    MPI_Alltoall(next_.data(), 1, MPI_UNSIGNED, sent.data(), 1, MPI_UNSIGNED, MPI_COMM_WORLD);
    for (std::size_t r = 0; r < sent.size(); ++r) CHECK(sent[r] == came_[r]);
  }

 private:
  /// What `from` may put to in the memory of `rank`; behind all of those, what replies do.
  std::byte* place(int rank, int from, bool reply = false) {
    return static_cast<std::byte*>(am_.attached(rank)) +
           (std::size_t(from) + (reply ? std::size_t(ranks()) : 0)) * kSlot;
  }

  void on_request(rmq::Message& m, bool is_long) {
    const Words w = m.args<Words>();
    const auto from = std::size_t(m.source());
    CHECK(w.number == came_[from]++);
    CHECK(m.bytes() == w.bytes && m.may_reply());
    CHECK(!is_long || m.data() == memory_.data() + from * kSlot);
    CHECK(is_long || w.bytes == 0 || reinterpret_cast<std::uintptr_t>(m.data()) % alignof(std::max_align_t) == 0);
    CHECK(is_whole(m.data(), m.source(), w.number, w.bytes));
    const std::size_t back = w.wants == 1 ? 0 : w.bytes;
    if (w.wants == 3) {
      // The asker has room behind what others put: at its own rank's place for this one.
      std::byte* const there = bases_[from] + (std::size_t(ranks()) + std::size_t(me())) * kSlot;
      CHECK(m.reply_long(kLongReply, w, m.data(), back, there) == MPI_SUCCESS);
    } else if (w.wants) {
      CHECK(m.reply(kReply, w, m.data(), back) == MPI_SUCCESS);
    }
    CHECK(!w.wants || !m.may_reply());
    if (w.wants) CHECK(m.reply(kReply, w) == MPI_ERR_OTHER);
  }

  void on_reply(rmq::Message& m, bool is_long) {
    const Words w = m.args<Words>();
    CHECK(!m.may_reply() && m.reply(kReply, w) == MPI_ERR_OTHER);
    CHECK(m.bytes() == (w.wants == 1 ? 0 : w.bytes));
    CHECK(!is_long || m.data() == memory_.data() + (std::size_t(ranks()) + std::size_t(m.source())) * kSlot);
    CHECK(is_whole(m.data(), me(), w.number, m.bytes()));
    ++answered_;
  }

 public:
  /// Handlers may not ask where others have attached.
  void learn() {
    for (int r = 0; r < ranks(); ++r) bases_.push_back(static_cast<std::byte*>(am_.attached(r)));
    MPI_Barrier(MPI_COMM_WORLD);
  }

 private:
  std::vector<std::byte> memory_;
  std::vector<std::byte*> bases_;
  std::vector<unsigned> came_, next_;
  std::atomic<unsigned> answered_{0};
  unsigned wanted_ = 0;
  rmq::ActiveMessages am_;  // last: handlers use the rest
  std::mt19937 random_;
};

void exchange(rmq::ActiveMessages::Run run, int rounds) {
  Exchange e(run, 7);
  e.learn();
  e.run(rounds);
}

/// A rank that computes: only another thread can handle what comes.
void target_computes() {
  std::atomic<int> come{0};
  rmq::ActiveMessages am(MPI_COMM_WORLD,
                         {[&](rmq::Message& m) {
                            ++come;
                            m.reply(1, 0);
                          },
                          [](rmq::Message&) {}},
                         rmq::ActiveMessages::Run::any_time);
  if (me() != 0) {
    am.request(0, 0, 1);
    am.flush();
  } else {
    const std::time_t begin = std::time(nullptr);
    while (come < ranks() - 1 && std::time(nullptr) - begin < 60) {
    }
    CHECK(come == ranks() - 1);
  }
}

void errors() {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const rmq_am_handler handler = [](rmq_am_message*, void*) {};
  rmq_am am = nullptr;
  CHECK_CLASS(rmq_am_create(comm, 2, 0, nullptr, nullptr, &am), MPI_ERR_ARG);
  CHECK_CLASS(rmq_am_create(comm, 0, 257, &handler, nullptr, &am), MPI_ERR_ARG);
  CHECK_CLASS(rmq_am_create(comm, 0, 1, nullptr, nullptr, &am), MPI_ERR_ARG);
  CHECK_CLASS(rmq_am_create(comm, me() == 0 ? 0 : RMQ_AM_AGENT, 0, nullptr, nullptr, &am), MPI_ERR_ARG);
  CHECK(rmq_am_create(comm, 0, 1, &handler, nullptr, &am) == MPI_SUCCESS);
  static char memory[64];
  CHECK(rmq_am_attach(am, memory, sizeof memory) == MPI_SUCCESS);
  void* base = nullptr;
  std::size_t bytes = 0;
  CHECK(rmq_am_attached(am, 1, &base, &bytes) == MPI_SUCCESS && bytes == 64);
  char* const there = static_cast<char*>(base);
  CHECK_CLASS(rmq_am_request(am, ranks(), 0, nullptr, 0, nullptr, 0), MPI_ERR_RANK);
  CHECK_CLASS(rmq_am_request(am, 1, 256, nullptr, 0, nullptr, 0), MPI_ERR_ARG);
  CHECK_CLASS(rmq_am_request(am, 1, 0, memory, 129, nullptr, 0), MPI_ERR_ARG);
  CHECK_CLASS(rmq_am_request(am, 1, 0, nullptr, 1, nullptr, 0), MPI_ERR_ARG);
  CHECK_CLASS(rmq_am_request(am, 1, 0, nullptr, 0, nullptr, 1), MPI_ERR_ARG);
  CHECK_CLASS(rmq_am_request(am, 1, 0, nullptr, 0, memory, 65537), MPI_ERR_ARG);
  CHECK_CLASS(rmq_am_request_long(am, 1, 0, nullptr, 0, memory, 2, there + 63), MPI_ERR_RMA_RANGE);
  CHECK_CLASS(rmq_am_request_long(am, 1, 0, nullptr, 0, memory, 2, there - 1), MPI_ERR_RMA_RANGE);
  CHECK_CLASS(rmq_am_request_long(am, 1, 0, nullptr, 0, memory, 2, nullptr), MPI_ERR_RMA_RANGE);
  CHECK(rmq_am_request(am, 1, 0, nullptr, 0, nullptr, 0) == MPI_SUCCESS);
  CHECK(rmq_am_flush(am, 1) == MPI_SUCCESS);
  MPI_Barrier(comm);
  CHECK_CLASS(rmq_am_request(am, me(), 1, nullptr, 0, nullptr, 0), MPI_ERR_ARG);
  CHECK_CLASS(rmq_am_attach(am, memory, SIZE_MAX), MPI_ERR_ARG);
  CHECK_CLASS(rmq_am_poll(nullptr), MPI_ERR_ARG);
  CHECK(rmq_am_free(&am) == MPI_SUCCESS && am == nullptr);
  MPI_Comm_free(&comm);
}

/// Long messages to one place, one behind the other, to a target that is not looking: the last one stays, whichever
/// ways they go. And what has been attached may be used as soon as the call returns.
void same_place() {
  constexpr std::size_t kMost = 1 << 20;
  std::vector<char> memory(kMost), data(kMost);
  int handled = 0;
  rmq::ActiveMessages am(MPI_COMM_WORLD, {[&](rmq::Message&) { ++handled; }});
  for (const std::size_t first : {std::size_t{1000}, std::size_t{5000}, std::size_t{20000}}) {
    am.attach(memory.data(), memory.size());
    const int to = (me() + 1) % ranks();
    std::fill(data.begin(), data.end(), 'a');
    am.request_long(to, 0, 0, data.data(), first, am.attached(to));
    std::fill(data.begin(), data.end(), 'b');
    am.request_long(to, 0, 0, data.data(), kMost, am.attached(to));
    am.flush();
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(std::count(memory.begin(), memory.end(), 'b') == long(kMost));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK(handled == 6);
}

/// One rank floods another that does not look: it waits, and loses nothing.
void flood() {
  unsigned next = 0;
  rmq::ActiveMessages am(MPI_COMM_WORLD, {[&](rmq::Message& m) { CHECK(m.args<unsigned>() == next++); }});
  constexpr unsigned kMany = 20'000;
  if (me() == 1)
    for (unsigned i = 0; i < kMany; ++i) am.request(0, 0, i);
  if (me() == 0) am.wait([&] { return next == kMany; });
}

}  // namespace

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 400;
  exchange(rmq::ActiveMessages::Run::in_calls, rounds);
  exchange(rmq::ActiveMessages::Run::any_time, rounds);
  target_computes();
  same_place();
  flood();
  errors();
  return check::finish();
}
