// SPDX-License-Identifier: BSD-3-Clause
// Two roots of different jobs meet: a port that one opens, and the line between them that a caller gets who knows the
// port's name. The name carries addresses and a random key; either side proves to the other that it knows it:
//
//   caller                              port
//     | "RMQ-LINE" nonce C               |
//     |--------------------------------->|
//     | nonce S, HMAC(key, "port" C S)   |      once somebody looks at the port
//     |<---------------------------------|
//     | HMAC(key, "caller" C S)          |
//     |--------------------------------->|
//     | a zero                           |      when the call is taken: the caller waits until then
//     |<---------------------------------|
//
// HMAC-SHA-256. Both ends then share HMAC(key, "secret" C S), which has not travelled. Behind that come messages: their
// length, 8 bytes, and themselves. Nothing here waits: step() and the functions of a line go on when poll() would tell
// of something at fd(). One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace rmq {

using Secret = std::array<std::byte, 32>;

/// HMAC-SHA-256 of the text under this key: what a secret is turned into that is to be known by more.
Secret derive(const Secret& key, std::string_view text);

class Line {
 public:
  /// Takes the descriptor over. The side of the port, or the caller's: then the first words are sent.
  static std::unique_ptr<Line> answer(int fd, const Secret& key);
  static std::unique_ptr<Line> call(int fd, const Secret& key);
  /// Both ends are proven already, as a user's socket that MPI_Comm_join brings: each greets and sends a public key
  /// (X25519), so that they share a secret that has not travelled. Once open, `first` says which of the two ends this
  /// is. Reads not a byte more than that, and than a message that is waited for.
  static std::unique_ptr<Line> join(int fd);
  bool first() const { return first_; }
  ~Line();
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  int fd() const { return fd_; }
  /// Whether this is the side of the port.
  bool answered() const { return answered_; }
  /// Goes on with the proof; true: the line is open. Errc::peer_lost: the other side has hung up, or knows no key.
  Result<bool> step();
  const Secret& secret() const { return secret_; }

  /// A message for the other end; leaves with flush().
  void say(std::string_view message);
  /// True: all has left.
  Result<bool> flush();
  /// The next message, once it is here whole.
  Result<std::optional<std::string>> hear();
  /// Whether the other end is gone: it has hung up, or its process or machine has died. A message that is here comes
  /// first.
  bool ended();
  /// The side of the port, once open: lets the caller know that it has been chosen.
  void take_call();

 private:
  enum class State : std::uint8_t { calls, rings, is_called, waits_for_proof, joins, open };
  Line(int fd, const Secret& key, State state) : fd_(fd), key_(key), state_(state) {}
  Result<void> read_some();
  bool take(std::size_t bytes, std::string& into);
  std::size_t wanted() const;
  std::size_t room() const;  // bytes that may be read now
  std::string proof(std::string_view role) const;

  int fd_;
  Secret key_;
  State state_;
  Secret secret_{};
  Secret private_{};    // of join
  std::string nonces_;  // the caller's, the port's
  std::string in_, out_;
  bool joins_ = false;
  bool answered_ = false;
  bool first_ = false;
  bool ended_ = false;
};

class Port {
 public:
  enum class Callers : std::uint8_t { anywhere, on_this_machine };
  /// Listens on the loopback and on the other interfaces that are up, or on `interface` alone (a name or an address);
  /// for callers on this machine on the loopback alone, if there is one. With a key of its own; or with one that
  /// callers have, and that is not in the name.
  static Result<std::unique_ptr<Port>> open(std::string_view interface, const Secret* key = nullptr,
                                            Callers callers = Callers::anywhere);
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  /// "rmq1:<key>@127.0.0.1:4711,10.0.0.1:4711,[fd00::1]:4711"
  const std::string& name() const { return name_; }
  int fd() const { return epoll_; }
  /// A caller that has proved itself, and is still there; nothing yet. Others who have done so wait for the next call.
  std::unique_ptr<Line> accept();

 private:
  Port() = default;
  Secret key_{};
  std::string name_;
  int epoll_ = -1;
  std::vector<int> listeners_;
  struct Caller {
    std::unique_ptr<Line> line;
    std::uint64_t since;  // os::now_ns()
  };
  void let_in();
  std::list<Caller> callers_;                // whose proof is not there
  std::list<std::unique_ptr<Line>> proven_;  // the first of them first
};

/// A call to a port, which goes from one of its addresses to the next.
class Call {
 public:
  /// Errc::argument: this is no name of a port.
  static Result<std::unique_ptr<Call>> to(std::string_view port_name, const Secret* key = nullptr);
  ~Call();
  /// What to wait for at this moment; -1: step() at once.
  int fd() const;
  bool is_connecting() const { return !line_; }  // until it can be written
  /// The line once it is open; nothing yet. Errc::peer_lost: nobody is there, or the port is closed.
  Result<std::unique_ptr<Line>> step();

 private:
  Call() = default;
  bool dial();
  Secret key_{};
  std::vector<std::pair<std::string, std::uint16_t>> addresses_;
  std::size_t next_ = 0;
  std::string trouble_;
  int connecting_ = -1;
  std::unique_ptr<Line> line_;
};

}  // namespace rmq
