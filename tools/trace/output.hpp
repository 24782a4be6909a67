// SPDX-License-Identifier: BSD-3-Clause
// Where a reader of traces writes: a file or standard output, in large pieces.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace rmq::trace {

class Output {
 public:
  /// Creates the file, or truncates it. Errc::system names it.
  static Result<Output> file(const std::string& path);
  static Output standard();
  Output(Output&& other) noexcept;
  Output& operator=(Output&&) = delete;
  ~Output();

  /// What is to be written: append to it, then call written() now and then.
  std::string& text() { return text_; }
  /// False when nothing more can be written; end() tells why.
  bool written() { return text_.size() < kPiece || flush(); }
  bool write(std::string_view bytes) {
    text_ += bytes;
    return written();
  }
  /// Writes the rest. Errc::system: something could not be written. A pipe that nobody reads any more is no error.
  Result<void> end();

 private:
  static constexpr std::size_t kPiece = 1 << 20;
  Output(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}
  bool flush();

  int fd_ = -1;
  std::string name_, text_;
  int error_ = 0;
};

}  // namespace rmq::trace
