// SPDX-License-Identifier: BSD-3-Clause
// Where rmqps reaches a launcher: a stream socket in the abstract namespace, named after user and job. Nothing of it is
// in the file system, so nothing stays behind whoever is killed; /proc/net/unix lists the jobs of a host.
//
//   rmqps -> launcher   connects, which tells the launcher's process id; sends a byte
//   launcher -> rmqps   one JSON document (tools/diag/inquiry.hpp), then the end of the stream
//
// Only the user's own processes, and root's, get an answer.
#pragma once

#include <sys/types.h>

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "tools/process/acceptor.hpp"
#include "tools/process/fd.hpp"
#include "tools/process/loop.hpp"

namespace rmq::launch {

class Control {
 public:
  using Reply = std::function<void(std::string_view document)>;
  /// Called for each question; the reply may come later, but not after the Control's end.
  using Asked = std::function<void(Reply reply)>;

  /// nullptr when the socket cannot be had: the job then runs without being listed.
  static std::unique_ptr<Control> open(EventLoop& loop, const std::string& job, Asked asked);
  ~Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

 private:
  struct Client {
    UniqueFd socket;
    bool has_asked = false;
    std::string outgoing;
  };
  Control(EventLoop& loop, UniqueFd socket, Asked asked);
  void accept(UniqueFd socket);
  void on_ready(const std::shared_ptr<Client>& who);
  void drop(Client& client);

  EventLoop& loop_;
  const Asked asked_;
  std::list<std::shared_ptr<Client>> clients_;
  Acceptor acceptor_;
};

/// A job of this user on this host.
struct Running {
  std::string job;     // its id
  pid_t launcher = 0;  // the process that keeps it
};
/// Those whose launchers can be reached within half a second, all together.
std::vector<Running> list_jobs();
/// Asks a job's launcher; the whole document. Errc::argument when there is no such job, Errc::system when its launcher
/// is silent for 5 s.
Result<std::string> ask_job(const std::string& job);
}  // namespace rmq::launch
