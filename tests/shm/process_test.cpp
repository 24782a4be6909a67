// SPDX-License-Identifier: BSD-3-Clause
// The method across real processes: stress, sleep and wake, death, and shortage.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <random>

#include "forked/forked.hpp"
#include "tests/shm/harness.hpp"

namespace rmq::test {
namespace {

using methods::Outcome;

// Runs `body(rank)` in n processes around one segment; every rank must return 0.
void expect_all(int n, const Config& config, const std::function<int(ShmRank&)>& body) {
  const ForkedJob job(n);
  const std::vector<int> statuses = run_forked(n, [&](int me) {
    const auto boot = job.join(me);
    ShmRank rank(*boot, config);
    if (!rank.method) {
      std::fprintf(stderr, "%s\n", rank.failure.c_str());
      return 99;
    }
    return body(rank);
  });
  for (int i = 0; i < n; ++i) EXPECT_EQ(statuses[static_cast<std::size_t>(i)], 0) << "rank " << i;
}

class OnEachKind : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(ShmProcesses, OnEachKind, testing::Values("memfd", "posix", "sysv"),
                         [](const auto& kind) { return std::string(kind.param); });

TEST_P(OnEachKind, StressAllPairsWithPayloadChecks) {
  Config config;
  config.shm_segment = GetParam();
  config.shm_cells = 32 * 64;
  config.shm_ring = 65536;
  constexpr std::uint32_t kMessages = 3000;
  expect_all(4, config, [](ShmRank& rank) {
    const int me = rank.bootstrap.job().rank;
    rank.keep = false;
    std::mt19937 random(static_cast<unsigned>(me));
    for (std::uint32_t msg = 0; msg < kMessages; ++msg) {
      for (Rank to = 0; to < 4; ++to) {
        if (to != me && !rank.send_pattern(to, msg, random() % 10 == 0 ? random() % 16000 : random() % 80)) return 1;
      }
    }
    if (!rank.poll_until([&] { return rank.packets == 3 * kMessages; })) return 2;
    if (rank.damaged != 0 || !rank.lost.empty()) return 3;
    if (!rank.bootstrap.fence()) return 4;
    rank.method->close();
    return 0;
  });
}

TEST_P(OnEachKind, LongTransfersByGetWithAHelpingOwner) {
  Config config;
  config.shm_segment = GetParam();
  expect_all(2, config, [](ShmRank& rank) {
    const int me = rank.bootstrap.job().rank;
    const std::size_t sizes[] = {200000, 1 << 20, (5 << 20) + 17};
    std::uint32_t round = 0;
    if (!rank.bootstrap.fence()) return 9;
    for (int repeat = 0; repeat < 20; ++repeat) {
      for (const std::size_t bytes : sizes) {
        std::vector<std::byte> data(bytes);
        if (me == 0) {
          for (std::size_t i = 0; i < bytes; ++i) data[i] = pattern(0, round, i);
          Packet packet(Kind::REQUEST_SEND);
          packet.request_send.address = rank.method->expose(1, DataView::contiguous(data.data(), bytes));
          if (packet.request_send.address == 0) return round == 0 ? 0 : 1;  // this kernel refuses
          while (rank.method->send(1, packet, {}, nullptr) != Outcome::done) rank.method->poll();
          if (!rank.poll_until([&] { return rank.packets == round + 1; })) return 2;
        } else {
          if (!rank.poll_until([&] { return rank.got.size() == round + 1 || !rank.lost.empty(); })) return 3;
          if (!rank.lost.empty()) return 0;
          Request owner;
          const std::uint64_t address = rank.got.back().packet.request_send.address;
          if (rank.method->get(0, address, DataView::contiguous(data.data(), bytes), bytes, &owner) != Outcome::queued)
            return 4;
          if (!rank.poll_until([&] { return rank.moved.size() == round + 1; })) return 5;
          for (std::size_t i = 0; i < bytes; ++i) {
            if (data[i] != pattern(0, round, i)) return 6;
          }
          if (!rank.send_pattern(0, round, 8)) return 7;
        }
        ++round;
      }
    }
    if (!rank.bootstrap.fence()) return 8;
    rank.method->close();
    return 0;
  });
}

// Both sleep whenever nothing is there: a lost wake-up is a hang, which the watchdog turns into a failure.
TEST(ShmProcesses, SleepersLoseNoWakeUp) {
  expect_all(2, Config(), [](ShmRank& rank) {
    const int me = rank.bootstrap.job().rank;
    rank.keep = false;
    std::mt19937 random(static_cast<unsigned>(me));
    std::uint64_t sleeps = 0;
    for (std::uint32_t msg = 0; msg < 20000; ++msg) {
      if (me == 0 && !rank.send_pattern(1, msg, 8)) return 1;
      while (rank.packets <= msg) {
        if (rank.method->poll() != 0) continue;
        for (unsigned spin = random() % 200; spin > 0; --spin) std::atomic_signal_fence(std::memory_order_seq_cst);
        if (rank.method->arm()) {
          ++sleeps;
          rank.bell->wait(-1);
        }
        rank.method->disarm();
      }
      if (me == 1 && !rank.send_pattern(0, msg, 8)) return 2;
    }
    if (sleeps == 0) return 3;
    if (!rank.bootstrap.fence()) return 4;
    rank.method->close();
    return 0;
  });
}

// The same for a full ring: the sender sleeps until the receiver has made room.
TEST(ShmProcesses, SleepersOnAFullRingLoseNoWakeUp) {
  Config config;
  config.shm_cells = 8 * 64;
  expect_all(2, config, [](ShmRank& rank) {
    const int me = rank.bootstrap.job().rank;
    constexpr std::uint32_t kMessages = 20000;
    const auto nap = [&] {
      if (rank.method->poll() != 0) return;
      if (rank.method->arm()) rank.bell->wait(-1);
      rank.method->disarm();
    };
    if (me == 0) {
      for (std::uint32_t msg = 0; msg < kMessages; ++msg) {
        while (rank.try_send(1, Kind::SHORT, msg, nullptr, 0) != Outcome::done) nap();
      }
    } else {
      rank.keep = false;
      while (rank.packets < kMessages) nap();
      if (rank.damaged != 0) return 1;
    }
    if (!rank.bootstrap.fence()) return 2;
    rank.method->close();
    return 0;
  });
}

// Makes these system calls fail with EPERM in this process from now on, as container sandboxes do.
bool forbid(std::initializer_list<long> calls) {
  std::vector<sock_filter> program = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const long call : calls) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST(ShmProcesses, WhatASandboxForbidsIsReplaced) {
  const ForkedJob job(2);
  const std::vector<int> statuses = run_forked(2, [&](int me) {
    if (!forbid({SYS_process_vm_readv, SYS_process_vm_writev, SYS_membarrier, SYS_pidfd_open})) return 77;
    const auto boot = job.join(me);
    ShmRank rank(*boot, Config());
    if (!rank.method) return 99;
    if (!boot->fence()) return 98;
    std::vector<std::byte> data(100000);
    if (rank.method->expose(1 - me, DataView::contiguous(data.data(), data.size())) != 0) return 1;
    if (rank.method->eager_max(1 - me) < 16384) return 2;
    for (std::uint32_t msg = 0; msg < 2000; ++msg) {  // sleeping by full fences
      if (me == 0 && !rank.send_pattern(1, msg, 8)) return 3;
      while (rank.packets <= msg) {
        if (rank.method->poll() != 0) continue;
        if (rank.method->arm()) rank.bell->wait(-1);
        rank.method->disarm();
      }
      if (me == 1 && !rank.send_pattern(0, msg, 8)) return 4;
    }
    if (!boot->fence()) return 5;
    rank.method->close();
    return 0;
  });
  if (WEXITSTATUS(statuses[0]) == 77) GTEST_SKIP() << "missing here: seccomp";
  EXPECT_EQ(statuses[0], 0);
  EXPECT_EQ(statuses[1], 0);
}

TEST(ShmProcesses, ADeadPeerIsReportedOnceAfterItsLastPacket) {
  for (const bool asleep : {false, true}) {
    const ForkedJob job(2);
    const std::vector<int> statuses = run_forked(2, [&](int me) {
      const auto boot = job.join(me);
      ShmRank rank(*boot, Config());
      if (!rank.method) return 99;
      if (me == 1) {
        rank.send_pattern(0, 0, 5000);
        rank.send_pattern(0, 1, 8);
        // Stays while the other one connects, so that both directions exist.
        if (!rank.poll_until([&] { return rank.packets == 1; })) return 98;
        rank.send_pattern(0, 2, 20);
        ::kill(::getpid(), SIGKILL);
      }
      rank.send_pattern(1, 0, 8);
      const std::uint64_t end = os::now_ns() + 30'000'000'000u;
      while (rank.lost.empty() && os::now_ns() < end) {
        if (rank.method->poll() != 0 || !asleep) continue;
        if (rank.method->arm()) rank.bell->wait(30'000'000'000);
        rank.method->disarm();
      }
      if (rank.lost.size() != 1 || rank.lost[0].first != 1 || rank.lost[0].second.code != Errc::peer_lost) return 1;
      if (rank.lost[0].second.what.find("rank 1 (process ") == std::string::npos) return 2;
      if (rank.packets != 3) return 3;
      if (rank.try_send(1, Kind::SHORT, 9, nullptr, 0) != Outcome::failed) return 4;
      for (int i = 0; i < 100000; ++i) rank.method->poll();
      return rank.lost.size() == 1 ? 0 : 5;
    });
    EXPECT_EQ(statuses[0], 0) << "asleep: " << asleep;
    EXPECT_TRUE(WIFSIGNALED(statuses[1]));
  }
}

TEST(ShmProcesses, APeerThatClosedIsNotLostWhenItEnds) {
  expect_all(2, Config(), [](ShmRank& rank) {
    const int me = rank.bootstrap.job().rank;
    if (!rank.send_pattern(1 - me, 0, 8)) return 1;
    if (!rank.poll_until([&] { return rank.packets == 1; })) return 2;
    if (me == 1) {
      rank.method->close();
      return 0;
    }
    for (int i = 0; i < 3; ++i) {
      for (const std::uint64_t end = os::now_ns() + 150'000'000u; os::now_ns() < end;) rank.method->poll();
      if (rank.method->arm()) rank.bell->wait(100'000'000);
      rank.method->disarm();
    }
    return rank.lost.empty() ? 0 : 3;
  });
}

TEST(ShmProcesses, MemoryFromMemAllocIsReachedDirectly) {
  expect_all(2, Config(), [](ShmRank& rank) {
    const int me = rank.bootstrap.job().rank;
    constexpr std::size_t kBytes = 3 << 20;
    auto* mine = static_cast<std::byte*>(rank.method->mem_alloc(kBytes));
    if (mine == nullptr) return 1;
    for (std::size_t i = 0; i < kBytes; ++i) mine[i] = pattern(me, 0, i);
    Packet packet(Kind::REQUEST_SEND);
    packet.request_send.address = rank.method->expose(1 - me, DataView::contiguous(mine, kBytes));
    while (rank.method->send(1 - me, packet, {}, nullptr) != Outcome::done) rank.method->poll();
    if (!rank.poll_until([&] { return rank.packets == 1; })) return 2;
    std::vector<std::byte> theirs(kBytes);
    Request owner;
    if (rank.method->get(1 - me, rank.got[0].packet.request_send.address, DataView::contiguous(theirs.data(), kBytes),
                         kBytes, &owner) != Outcome::queued) {
      return 3;
    }
    if (!rank.poll_until([&] { return rank.moved.size() == 1; })) return 4;
    for (std::size_t i = 0; i < kBytes; ++i) {
      if (theirs[i] != pattern(1 - me, 0, i)) return 5;
    }
    if (!rank.bootstrap.fence()) return 6;
    rank.method->close();
    return rank.method->mem_free(mine) ? 0 : 7;
  });
}

TEST(ShmProcesses, TooLittleDevShmStopsTheStartWithAClearMessage) {
  if (::geteuid() != 0) GTEST_SKIP() << "missing here: root, for a private mount";
  const ForkedJob job(2);
  const std::vector<int> statuses = run_forked(1, [&](int) {
    if (!private_dev_shm("2M")) return 77;
    const auto boot = job.join(0);
    Config config;
    config.shm_segment = "posix";
    ShmRank rank(*boot, config);
    if (rank.method) return 1;
    for (const char* part : {"rank 0", "the rings of 2 ranks", "/dev/shm", "remount"}) {
      if (rank.failure.find(part) == std::string::npos) return 2;
    }
    return 0;
  });
  if (WEXITSTATUS(statuses[0]) == 77) GTEST_SKIP() << "missing here: private mounts";
  EXPECT_EQ(statuses[0], 0);
}

// On hosts with an inbox for everyone: who ends between the claim of a cell and its packet keeps nobody from being
// heard.
TEST(ShmProcesses, ASenderThatEndsWithinItsPacketToAnInboxBlocksNobody) {
  constexpr int kPollsBeforeALook = 256;
  const ForkedJob job(20);
  const std::vector<int> statuses = run_forked(3, [&](int me) {
    const auto boot = job.join(me);
    if (me == 1) {
      const std::uint64_t probe = 0;
      const auto directory = shm::Directory::open(Config{}, *boot, probe);
      if (!directory) return 1;
      directory->inbox(0).put(1, [&](shm::Cell&) {
        if (boot->put("claimed", "")) ::_exit(0);
      });
      return 2;
    }
    ShmRank rank(*boot, Config{});
    if (!rank.method) return 3;
    if (me == 2) {
      if (!boot->get("claimed")) return 4;
      for (std::uint32_t msg = 0; msg < 5; ++msg) {
        if (!rank.send_pattern(0, msg, 8)) return 5;
      }
      if (!boot->put("sent", "")) return 8;
      rank.method->close();
      return 0;
    }
    rank.keep = false;
    if (!boot->get("sent")) return 9;
    while (!rank.method->gone(1)) ::sched_yield();
    // In one of these polls it passes the dead rank's cell: from then on it has something to do, and may not sleep.
    for (int poll = 0; poll < kPollsBeforeALook; ++poll) rank.method->poll();
    if (rank.packets == 0 && rank.method->arm()) return 10;
    rank.method->disarm();
    if (!rank.poll_until([&] { return rank.packets == 5; }) || rank.damaged != 0) return 6;
    if (!rank.poll_until([&] { return !rank.lost.empty(); }) || rank.lost[0].first != 1) return 7;
    rank.method->close();
    return 0;
  });
  for (const int status : statuses) EXPECT_EQ(status, 0);
}

// Beyond 16 ranks rings are taken one by one: a shortage then costs the connection, not the process.
TEST(ShmProcesses, AShortageOnConnectLosesThatPeerWithAClearMessage) {
  if (::geteuid() != 0) GTEST_SKIP() << "missing here: root, for a private mount";
  const ForkedJob job(20);
  const std::vector<int> statuses = run_forked(1, [&](int) {
    if (!private_dev_shm("100k")) return 77;
    const auto boot = job.join(0);
    Config config;
    config.shm_segment = "posix";
    ShmRank rank(*boot, config);
    if (!rank.method) return 1;
    const std::vector<std::byte> data(100);  // too long for an inbox
    Rank refused = kNoRank;
    for (Rank to = 1; to < 20 && refused == kNoRank; ++to) {
      if (rank.try_send(to, Kind::SHORT, 0, data.data(), data.size()) == Outcome::failed) refused = to;
    }
    if (refused < 2) return 2;
    rank.method->poll();
    if (rank.lost.size() != 1 || rank.lost[0].first != refused || rank.lost[0].second.code != Errc::no_memory) return 3;
    if (rank.lost[0].second.what.find("remount") == std::string::npos) return 4;
    // What needs no ring goes on without one, however much there is.
    const Rank to = refused == 19 ? 18 : 19;
    for (int i = 0; i < 40; ++i) {
      if (rank.try_send(to, Kind::SHORT, 0, data.data(), 8) == Outcome::failed) return 5;
    }
    rank.method->poll();
    return rank.lost.size() != 1 ? 6 : 0;
  });
  if (WEXITSTATUS(statuses[0]) == 77) GTEST_SKIP() << "missing here: private mounts";
  EXPECT_EQ(statuses[0], 0);
}

// A ring that cannot have all that it wants takes what there is; where that carries no payload of this length, the
// sender says so in its own name, and its receiver, which lives on, learns that nothing will come.
TEST(ShmProcesses, AShortageWhileARingGrowsCostsTheLinkOnlyWhenTheSmallestSizeIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "missing here: root, for a private mount";
  const ForkedJob job(20);
  const std::vector<int> statuses = run_forked(1, [&](int) {
    if (!private_dev_shm("1M")) return 77;
    const auto boot = job.join(0), other = job.join(1);
    Config config;
    config.shm_segment = "posix";
    config.shm_ring = 1 << 20;
    ShmRank rank(*boot, config), peer(*other, config);
    if (!rank.method || !peer.method) return 1;
    const std::vector<std::byte> data(8192);
    if (rank.try_send(1, Kind::SHORT, 0, data.data(), 64) != Outcome::done) return 2;
    // All of the ring is more than there is, half of it is not.
    std::uint32_t sent = 1;
    while (rank.try_send(1, Kind::SHORT, sent, data.data(), 4096) == Outcome::done) ++sent;
    if (sent < 20 || !rank.lost.empty()) return 3;
    // Other ranks' first rings take the rest; those that have one may not lose it.
    Rank refused = kNoRank;
    for (Rank to = 2; to < 20 && refused == kNoRank; ++to) {
      Outcome o = Outcome::done;
      for (int i = 0; i < 3 && o == Outcome::done; ++i) o = rank.try_send(to, Kind::SHORT, 0, data.data(), 8192);
      if (o == Outcome::failed) refused = to;
    }
    if (refused == kNoRank) return 4;
    rank.method->poll();
    if (rank.lost.size() != 1 || rank.lost[0].first != refused || rank.lost[0].second.code != Errc::no_memory) return 5;
    if (rank.lost[0].second.what.find(fmt::format("rank 0 cannot send to rank {}", refused)) == std::string::npos)
      return 6;
    // The first link still stands, with all that it took; and its receiver learns of its end.
    rank.method->drop(1, {Errc::protocol, "test"});
    peer.poll_until([&] { return !peer.lost.empty(); });
    if (peer.packets != sent || peer.lost.size() != 1 || peer.lost[0].first != 0) return 7;
    return peer.lost[0].second.what.find("given up") == std::string::npos ? 8 : 0;
  });
  if (WEXITSTATUS(statuses[0]) == 77) GTEST_SKIP() << "missing here: private mounts";
  EXPECT_EQ(statuses[0], 0);
}

}  // namespace
}  // namespace rmq::test
