#include "conformance/ranks.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace rmq::testing {
namespace {

// The board: published values and the fence, in memory that all ranks share. Robust mutex, so that a killed rank does
// not take the others with it.
struct Board {
  static constexpr std::size_t kEntries = 512, kKey = 128, kValue = 4096;
  struct Entry {
    char key[kKey];
    std::uint32_t bytes;
    char value[kValue];
  };
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  std::uint32_t entries = 0;
  int arrived = 0;
  std::uint32_t round = 0;
  Entry entry[kEntries];

  static Board* make() {
    void* memory = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    RMQ_CHECK(memory != MAP_FAILED);
    auto* board = new (memory) Board;
    pthread_mutexattr_t ma;
    pthread_mutexattr_init(&ma);
    pthread_mutexattr_setpshared(&ma, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&ma, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&board->mutex, &ma);
    pthread_condattr_t ca;
    pthread_condattr_init(&ca);
    pthread_condattr_setpshared(&ca, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&board->changed, &ca);
    return board;
  }
};

class Locked {
 public:
  explicit Locked(Board& b) : board_(b) {
    if (pthread_mutex_lock(&board_.mutex) == EOWNERDEAD) pthread_mutex_consistent(&board_.mutex);
  }
  ~Locked() { pthread_mutex_unlock(&board_.mutex); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
  void wait() {
    if (pthread_cond_wait(&board_.changed, &board_.mutex) == EOWNERDEAD) pthread_mutex_consistent(&board_.mutex);
  }

 private:
  Board& board_;
};

class SharedBootstrap final : public Bootstrap {
 public:
  SharedBootstrap(Board& board, JobInfo job) : board_(board), job_(std::move(job)) {}
  const JobInfo& job() const override { return job_; }

  Result<void> put(std::string_view key, std::string_view value) override {
    if (key.size() >= Board::kKey || value.size() > Board::kValue) return fail(Errc::argument, "key or value too long");
    const Locked lock(board_);
    if (board_.entries == Board::kEntries) return fail(Errc::no_memory, "the test's board is full");
    Board::Entry& e = board_.entry[board_.entries];
    std::memcpy(e.key, key.data(), key.size());
    e.key[key.size()] = 0;
    std::memcpy(e.value, value.data(), value.size());
    e.bytes = static_cast<std::uint32_t>(value.size());
    ++board_.entries;
    pthread_cond_broadcast(&board_.changed);
    return {};
  }

  Result<std::string> get(std::string_view key) override {
    Locked lock(board_);
    for (;;) {
      for (std::uint32_t i = 0; i < board_.entries; ++i) {
        if (key == board_.entry[i].key) return std::string(board_.entry[i].value, board_.entry[i].bytes);
      }
      lock.wait();
    }
  }

  Result<void> fence() override {
    Locked lock(board_);
    const std::uint32_t round = board_.round;
    if (++board_.arrived == job_.size) {
      board_.arrived = 0;
      ++board_.round;
      pthread_cond_broadcast(&board_.changed);
    }
    while (board_.round == round) lock.wait();
    return {};
  }

  void abort(int code, std::string_view) override { ::_exit(code == 0 ? 1 : code); }
  Result<void> finalize() override { return {}; }

 private:
  Board& board_;
  JobInfo job_;
};

JobInfo job_info(int rank, int n) {
  static int runs = 0;
  if (rank < 0) ++runs;  // once for each run, before the fork
  JobInfo job;
  job.job =
      fmt::format("{:08x}{:08x}", static_cast<unsigned>(::getppid() * 31 + ::getpid()), static_cast<unsigned>(runs));
  job.rank = std::max(rank, 0);
  job.size = n;
  job.host_of_rank.assign(static_cast<std::size_t>(n), 0);
  job.host_rank = job.rank;
  job.host_size = n;
  job.universe_size = n;
  job.host_name = "here";
  job.secret.fill(std::byte{0x5a});
  return job;
}

[[noreturn]] void be_rank(Board& board, JobInfo job, const Setup& setup,
                          const std::function<void(adi::Device&)>& body) {
  SharedBootstrap bootstrap(board, std::move(job));
  adi::DeviceOptions options;
  if (auto c = Config::from_environment()) options.config = *c;
  options.config.shm_heap = 1 << 20;
  options.config.methods = setup.method;
  if (setup.adjust) setup.adjust(options.config);
  {
    auto device = adi::Device::MPID_Init(std::move(options), bootstrap);
    if (!device) {
      ADD_FAILURE() << "rank " << bootstrap.job().rank << " did not start: " << device.error().what;
    } else {
      body(**device);
      EXPECT_TRUE((*device)->MPID_Finalize());
    }
  }
  std::fflush(nullptr);
  ::_exit(::testing::Test::HasFailure() ? 1 : 0);
}

}  // namespace

bool RankExits::all_well() const {
  return std::all_of(code.begin(), code.end(), [](int c) { return c == 0; });
}

RankExits run_ranks(int n, const Setup& setup, const std::function<void(adi::Device&)>& body) {
  RMQ_CHECK(!setup.inproc);
  Board* board = Board::make();
  const JobInfo base = job_info(-1, n);
  std::fflush(nullptr);
  std::vector<pid_t> children;
  for (int r = 0; r < n; ++r) {
    const pid_t child = ::fork();
    RMQ_CHECK(child >= 0);
    if (child == 0) {
      JobInfo job = base;
      job.rank = job.host_rank = r;
      be_rank(*board, std::move(job), setup, body);
    }
    children.push_back(child);
  }
  RankExits exits;
  for (pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    exits.code.push_back(WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status));
  }
  ::munmap(board, sizeof(Board));
  return exits;
}

Errc send(adi::Device& device, int to, int tag, const Buffer& data) {
  Request* r = device.MPID_Request_create(RequestKind::send);
  r->peer = to;
  r->match = {1, device.rank(), tag};
  r->view = data.view();
  r->layout = data.layout();
  device.MPID_Isend(r);
  device.MPID_Wait(r);
  const Errc error = r->status.error;
  device.MPID_Request_free(r);
  return error;
}

Errc receive(adi::Device& device, int from, int tag, Buffer& into) {
  Request* r = device.MPID_Request_create(RequestKind::recv);
  r->peer = from == kAnySource ? kNoRank : from;
  r->match = {1, from, tag};
  r->view = into.view();
  r->layout = into.layout();
  device.MPID_Irecv(r);
  device.MPID_Wait(r);
  const Errc error = r->status.error;
  device.MPID_Request_free(r);
  return error;
}

}  // namespace rmq::testing
