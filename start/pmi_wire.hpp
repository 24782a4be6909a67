// SPDX-License-Identifier: BSD-3-Clause
// PMI-1, versions 1.1 and 1.2: what a process says to the launcher that started it, as MPICH's Hydra and Slurm's
// mpi/pmi2 plug-in serve it and `rmqrun --pmi` does. Lines of text on one stream socket:
//
//   cmd=init pmi_version=1 pmi_subversion=1      →  cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0
//   cmd=get_maxes                                →  cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024
//   cmd=get_my_kvsname                           →  cmd=my_kvsname kvsname=NAME
//   cmd=put kvsname=NAME key=K value=V           →  cmd=put_result rc=0 msg=success
//   cmd=barrier_in                               →  cmd=barrier_out, when all have said so; then their puts are known
//   cmd=get kvsname=NAME key=K                   →  cmd=get_result rc=0 value=V
//   cmd=finalize                                 →  cmd=finalize_ack
//   cmd=abort exitcode=N                         no answer: the launcher ends the job
//   mcmd=spawn … endcmd, several lines           →  cmd=spawn_result rc=…
//
// A field ends at a space, so values have none. Source of the format: what the launchers named above send and take.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace rmq::pmi {

/// The value of `key` in a line, up to the next space; nothing where it has no such field.
std::optional<std::string_view> field(std::string_view line, std::string_view key);
/// The same as a number; nothing unless all of it is one.
std::optional<int> number(std::string_view line, std::string_view key);

/// "cmd=abort exitcode=…\n".
std::string abort_line(int code);

/// Longest line that is taken, in bytes: far more than any launcher's own limit.
inline constexpr std::size_t max_line = 16 * 1024;

/// Cuts a byte stream into lines. Nothing of the peer is trusted.
class LineReader {
 public:
  void add(std::string_view bytes) { text_.append(bytes); }
  /// The next line without its end; nothing while it is incomplete. Errc::protocol for one that is too long, after
  /// which the stream is useless.
  Result<std::optional<std::string>> next();

 private:
  std::string text_;
};

}  // namespace rmq::pmi
