// SPDX-License-Identifier: BSD-3-Clause
// The interleaving explorer: runs a model's threads, which are fibers, in one order after another, and lets their loads
// bring what memory.hpp allows.
//
// A schedule is a list of choices: which thread goes on before an access, which store a load reads. explore() takes all
// lists within the bounds, depth first, and then some drawn from seeds. A schedule fails when expect() does, when
// plain data is raced for, or when nobody can go on: that is how a lost wake-up shows.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace rmq::explore {

/// What the threads of one schedule do. Made anew for each, with the memory that they share.
struct Program {
  std::vector<std::function<void()>> threads;
  std::function<void()> after;  // when all have returned; may be empty
};
using Model = std::function<Program()>;

struct Bounds {
  int preemptions = 2;             // times that a thread is stopped which could go on
  int stale = 2;                   // loads that do not bring the newest store
  std::uint64_t most = 2'000'000;  // schedules, should there be more within the bounds
  std::uint64_t random = 0;        // schedules without bounds drawn after these, each from its number
};

/// What a mutation does to the accesses of one line.
enum class Change : std::uint8_t {
  relaxed,  // the order of the access, or of the fence, is relaxed
  skipped,  // a store or fence does not happen; a read-modify-write only reads
  torn,     // a read-modify-write is a load and, later, a store
  blind,    // a compare-exchange succeeds whatever it finds
};

/// A line of the explored sources, broken on purpose.
struct Mutant {
  std::string_view file;  // end of its path
  std::string_view line;  // what stands in that line and in no other of the file
  Change change = Change::relaxed;
};

struct Report {
  bool failed = false;
  bool complete = false;        // everything within the bounds was tried
  std::uint64_t schedules = 0;  // tried
  std::uint64_t number = 0;     // of the schedule that failed
  std::string why;
  std::string text;       // of the schedule that failed: one line an access
  bool mutated = false;   // the mutant's line was reached
  std::uint64_t cut = 0;  // schedules that were given up, because they took too many steps
};

/// Tries schedules until one fails or all have been tried.
Report explore(const Model& model, const Bounds& bounds, const Mutant* mutant = nullptr);
/// The schedule with this number again; numbers from kRandom on are seeds.
Report replay(const Model& model, const Bounds& bounds, std::uint64_t number, const Mutant* mutant = nullptr);
inline constexpr std::uint64_t kRandom = std::uint64_t{1} << 40;

// ---- for the threads of a model ----

/// The schedule fails unless `good`.
void expect(bool good, std::string_view what);
/// In a loop that waits: another thread has to go on. The newest stores become visible in time.
void pause();
/// A time-out: it may end at any time. Who has napped often while nobody else has stored anything waits for somebody
/// to, for time alone brings it no further.
void nap();
/// Waits until `ready`, which must look at no atomics, is true. Nobody may have to wait for ever.
void wait_until(std::function<bool()> ready);
/// Others may go on here.
void step(std::string_view what);
/// Plain data, an object at an address: nobody may write it while another may read or write it.
void plain_read(const void* at, std::string_view what);
void plain_write(const void* at, std::string_view what);
/// Number of the thread; -1 outside of threads.
int me();

/// What a rank sleeps on: rings that nobody has heard yet wait. Orders memory as a system call does.
class Bell {
 public:
  Bell();
  void ring();
  /// For ever, if nobody rings; or until `timed_out`, which must look at no atomics, is true.
  void wait(const std::function<bool()>& timed_out = {});

 private:
  struct Inside;
  std::shared_ptr<Inside> inside_;
};

/// A mutex. Who holds it outside of threads lets nobody in either.
class Mutex {
 public:
  Mutex();
  void lock();
  bool try_lock();
  void unlock();

 private:
  struct Inside;
  std::shared_ptr<Inside> inside_;
};

// ---- for explored_atomic.hpp ----

using Where = std::source_location;
enum class Update : std::uint8_t { exchange, add, subtract, bit_and, bit_or, bit_xor };

std::uint64_t load(const void* at, std::size_t bytes, std::memory_order order, const Where& where);
void store(void* at, std::size_t bytes, std::uint64_t value, std::memory_order order, const Where& where);
std::uint64_t update(void* at, std::size_t bytes, Update what, std::uint64_t operand, std::memory_order order,
                     const Where& where);
bool compare_exchange(void* at, std::size_t bytes, std::uint64_t& expected, std::uint64_t desired,
                      std::memory_order success, std::memory_order failure, const Where& where);
void fence(std::memory_order order, const Where& where);
void light_fence(const Where& where);
void heavy_fence(const Where& where = Where::current());

}  // namespace rmq::explore
