// SPDX-License-Identifier: BSD-3-Clause
// The connection between a launcher and the agent of another host, or between two agents: frames both ways over the
// standard input and output of the command that has started the agent (ssh, say, which encrypts them). Nothing listens,
// so there is nobody to keep out.
//
//    0        4      5    6         8        12
//   +--------+------+----+---------+--------+----------------+
//   | length | kind | 0  | 0       | job    | body …         |   length: bytes of the body; job: its number
//   +--------+------+----+---------+--------+----------------+
//
// An agent's first word is a line of its own, behind whatever the other host's shell has printed before it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tools/process/fd.hpp"
#include "tools/process/loop.hpp"

namespace rmq::launch {

/// "down" goes to the agent, and through it to those that it has started itself; "up" comes from it.
enum class Word : std::uint8_t {
  setup = 1,     // down  what the agent is to be (Setup): the first frame
  plan,          // down  a part of a job's plan (plan_text)
  start,         // down  the plan is complete: start the ranks that are yours
  to_rank,       // down  u32 rank, frame of start/boot_wire.hpp
  value,         // down  u8 length, key, value: the answer to `get`
  fence_done,    // down  all ranks have come
  signal,        // down  u32 signal, for all ranks
  end,           // down  u32 rank to spare or 2^32 - 1: SIGTERM
  kill,          // down  SIGKILL; nothing more of the job is wanted
  prod,          // down  u32 rank: remind it of a question
  kill_one,      // down  u32 rank: SIGKILL to it alone
  look,          // down  answered by `facts` for each rank
  tell,          // down  u32 rank that ends the job, u32 1: its own events are known; answered by `events` of each host
  input,         // down  text for rank 0; empty: its end
  printed,       // down  u32 bytes of `output` that the launcher has taken, u32 1 or 2, u32 1: nobody reads it any more
  bye,           // down  end, once all output has been taken
  beat = 32,     // both  nothing: I live
  started = 33,  // up    u32 rank, u32 process, program: for debuggers
  failed,        // up    text: a rank cannot be started
  from_rank,     // up    u32 rank, frame of start/boot_wire.hpp
  get,           // up    key
  fence,         // up    u32 ranks that have come since the last
  left,          // up    u32 rank: its socket has ended
  broke,         // up    u32 rank, text: it broke the protocol
  exited,        // up    u32 rank, u32 status, text: its last events
  mpi_end,       // up    u32 rank: the process that called MPI_Init is gone
  facts,         // up    u32 rank, u32 process, u32 1: it is on its way out, text: state of the process
  events,        // up    text, empty where nobody waited
  output,        // up    u32 1: stdout, 2: stderr; text
  read,          // up    u32 bytes of `input` that the rank has taken
  lost,          // up    text why; u32 count, so many names of hosts: an agent below is gone, and all behind it
};

class Link {
 public:
  struct Frame {
    Word word;
    int job;
    std::string_view body;
  };
  /// From the event loop; may end the link.
  using Hear = std::function<void(const Frame& frame)>;
  /// The other side is gone, or is no agent; called once, and nothing is heard any more.
  using Lost = std::function<void(const std::string& why)>;

  /// Takes over the descriptors. `awaits_agent`: reads over all that comes before an agent's first word, for
  /// kStartPatience at most; else says that word. A side that is silent for `silence` is lost.
  Link(EventLoop& loop, UniqueFd input, UniqueFd output, bool awaits_agent, std::chrono::milliseconds silence,
       Hear hear, Lost lost);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  void send(Word word, int job, std::string_view body = {});
  /// From now on the other side may be silent for so long.
  void expect(std::chrono::milliseconds silence) { silence_ = silence; }
  bool is_up() const { return input_.is_open(); }
  bool has_answered() const { return !awaits_agent_; }
  bool is_idle() const { return outgoing_.empty(); }
  /// Nothing has been heard for so long.
  EventLoop::Clock::duration silent() const { return EventLoop::Clock::now() - heard_; }

  static constexpr std::size_t kMostBody = 512 * 1024;
  static constexpr std::chrono::seconds kStartPatience{60};
  static constexpr std::chrono::milliseconds kBeat{1000};  // between two words at least

 private:
  void on_readable();
  void read_over_greeting();
  void on_beat();
  void flush();
  void lose(const std::string& why);

  EventLoop& loop_;
  Timers timers_;
  UniqueFd input_, output_;
  bool awaits_agent_;
  std::chrono::milliseconds silence_;
  const Hear hear_;
  const Lost lost_;
  std::string incoming_, outgoing_;
  bool awaits_room_ = false;
  EventLoop::Clock::time_point heard_, beaten_;
  const std::shared_ptr<const char> alive_ = std::make_shared<const char>();  // as long as this object
};

/// A number as the field that it travels in.
constexpr std::uint32_t word_of(int number) {
  return static_cast<std::uint32_t>(number);
}

/// Writes and reads the fields of a body: numbers of 32 bits, texts behind their length.
class Fields {
 public:
  Fields& number(std::uint32_t value);
  Fields& text(std::string_view value);
  Fields& rest(std::string_view value) { return text_ += value, *this; }
  operator std::string_view() const { return text_; }
  const std::string& whole() const { return text_; }

 private:
  std::string text_;
};

class FieldReader {
 public:
  explicit FieldReader(std::string_view body) : rest_(body) {}
  std::uint32_t number();
  int rank() { return static_cast<int>(number()); }
  std::string text();
  std::string_view rest() { return std::exchange(rest_, {}); }
  bool ok() const { return ok_; }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace rmq::launch
