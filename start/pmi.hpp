// SPDX-License-Identifier: BSD-3-Clause
// A launcher that is not ours, as seen by a process that it has started: it says who the process is, carries one value
// of rank 0 to all ranks, and wants to hear of the proper end or of an abort. Nothing else is asked of it: with that
// one value the ranks meet at a connection server of our own (start/pmi_start.hpp).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/os/fd.hpp"

namespace rmq::pmi {

class Launcher {
 public:
  struct Place {
    int rank = 0, size = 1;
    int app_num = 0;
    int universe_size = 1;  // at least `size`
  };

  virtual ~Launcher() = default;

  const Place& place() const { return place_; }
  /// For people: "a PMI-1 launcher".
  virtual const char* name() const = 0;

  /// Every rank learns what rank 0 has given; collective, once. Without spaces, at most max_value bytes. May wait for
  /// all ranks to call it, for ever.
  virtual Result<std::string> spread(const std::string& value) = 0;
  /// Wants the whole job ended with this code. Returns when the launcher can't be told. Any thread.
  virtual void abort(int code, const std::string& why) = 0;
  /// This rank leaves properly: its end means nothing to the job from then on.
  virtual Result<void> finalize() = 0;
  /// The descriptor of a PMI-1 connection, on which whoever has it may say cmd=abort; -1 where there is none.
  virtual int descriptor() const { return -1; }

 protected:
  Place place_;
};

/// Slurm reads lines of 1024 bytes; key, names and the rest of the line take some.
inline constexpr std::size_t max_value = 880;

using GetEnv = std::function<const char*(const char* name)>;

/// The launcher that has started this process as one of several, from its variables: PMI_FD, PMIX_*, PMI_PORT. nullptr
/// when there is none, or the process is the only one. Takes the variables that lead to it out of the environment:
/// what a rank starts is no rank. Errc::config, Errc::protocol, Errc::peer_lost name the launcher and the remedy.
Result<std::unique_ptr<Launcher>> find_launcher(const GetEnv& get);

/// PMI-1 over a connected socket, whose launcher has said rank and size in variables. pmi_client.cpp
Result<std::unique_ptr<Launcher>> meet_pmi(os::UniqueFd socket, int rank, int size);
/// The same over "HOST:PORT", to which `id` (PMI_ID) tells who we are.
Result<std::unique_ptr<Launcher>> meet_pmi_port(const std::string& address, const std::string& id);
/// PMIx through `library`. pmix_client.cpp
Result<std::unique_ptr<Launcher>> meet_pmix(const char* library);

}  // namespace rmq::pmi
