// SPDX-License-Identifier: BSD-3-Clause
// A room of one's own: namespaces in which whatever is left behind is ours, and where a disk of any size can be had.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace rmq::test {

class Room {
 public:
  /// Moves this process into namespaces of its own for mounts, System V memory and network, where the system lets it;
  /// and makes a folder, which goes with the room.
  Room();
  ~Room();
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  /// Whether there are such namespaces; else only processes and files are looked for.
  bool own() const { return own_; }

  /// Where jobs run: empty at the beginning of each.
  const std::string& folder() const { return folder_; }

  /// What is left of finished jobs, in words: files, segments, sockets.
  std::vector<std::string> leftovers() const;
  /// Removes the files among it.
  void sweep() const;

  /// A disk of this size at this place, for its lifetime.
  class Disk {
   public:
    Disk(std::string place, std::uint64_t bytes);
    ~Disk();
    Disk(const Disk&) = delete;
    Disk& operator=(const Disk&) = delete;

   private:
    std::string place_;
  };

 private:
  std::vector<std::filesystem::path> files() const;

  bool own_ = false;
  std::string folder_;
};

}  // namespace rmq::test
