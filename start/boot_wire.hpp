// SPDX-License-Identifier: BSD-3-Clause
// The frames between a rank and the connection server: one stream socket per rank, little-endian.
//
//    0        4      5         8
//   +--------+------+---------+------------------+
//   | length | kind | 0  0  0 | body …           |      length: bytes of the body
//   +--------+------+---------+------------------+
//
// Text and values are the rest of the body; a key is preceded by its length in one byte where a value follows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace rmq::boot {

enum class FrameKind : std::uint8_t {
  hello = 1,     // rank → server  u32 version, u32 rank: MPI is initialised here; no answer
  put = 2,       // rank → server  u8 key length, key, value; no answer
  get = 3,       // rank → server  key; answered by `value` as soon as there is one
  fence = 4,     // rank → server  (empty), or "1" or "0"; answered by `fence_done` when all ranks have sent theirs
  abort = 5,     // rank → server  i32 exit code, text: end the job
  finalize = 6,  // rank → server  (empty): I leave properly; no answer
  join = 7,      // rmqboot → server, first frame of a rank's TCP connection: u32 rank, 32 bytes nonce, 32 bytes mark;
                 // answered by `challenge` (start/boot_ticket.hpp)
  mind = 8,      // the same for the connection of the rank's minder (tools/boot/minder.hpp)
  died = 9,      // minder → server: i32 wait status, program: how the rank ended; no answer
  leaving = 15,  // minder → server: "1" while the rank is on its way out, else (empty): the answer to `look`
  clock = 10,    // rank → server  (empty); answered by `time`
  answer = 11,   // rank → server: u32 number of the question, 0 for one by a signal; JSON: what the rank is in
  value = 16,    // server → rank  u8 key length, key, the value asked for
  fence_done = 17,  // server → rank  "1" when any of them was that, else (empty)
  refused = 18,     // server → rank  text: a request broke the rules; the rank's calls fail from then on
  end = 19,         // server → rank  i32 exit code, text: the job is over; exit with this code
  joined = 20,      // server → rmqboot  (empty): the proof is good
  time = 21,        // server → rank  u64 nanoseconds of the server's CLOCK_MONOTONIC
  ask = 22,         // server → rank  u32 number, u32 1: all there is to tell, 0: progress only; answered by `answer`
  look = 25,        // server → minder (empty): whether the rank is on its way out; answered by `leaving`
  challenge = 23,   // server → rmqboot  32 bytes nonce, 32 bytes proof; answered by `proof`
  proof = 12,       // rmqboot → server  32 bytes; answered by `joined`
  wish = 40,  // rank → server  u8 length, what; text: asks the launcher for something; an answer comes unasked, as a
              // `value` of the key that the text names ("answer.…"), to this rank alone
  wish_part = 41,  // rank → server  text, ahead of that of the next wish
  lost = 13,       // rank → server  as abort, but only because another rank is gone: how that one ended is the cause
  accuse = 14,  // rank → server  i32 rank, u8 length, jobs, text: this one cannot be reached any more and should be
                // ended: --ft. As below
  gone = 24,  // server → rank  i32 rank (-1: all), u8 length, jobs (empty: that of the rank; with -1 one or several,
              // separated by spaces), text: its process has ended, and the job goes on: --ft
};

inline constexpr std::uint32_t wire_version = 7;
inline constexpr std::size_t header_bytes = 8;
inline constexpr std::size_t max_body = 66 * 1024;  // a put with the longest key and value fits
inline constexpr std::size_t max_text = 1024;       // longer reasons are cut
inline constexpr std::size_t ticket_bytes = 32;
inline constexpr std::string_view answer_prefix = "answer.";  // of keys of answers to wishes

struct Frame {
  FrameKind kind;
  std::string_view body;  // valid until the reader is next touched
};

/// A whole frame, ready to send. The body must not exceed max_body.
std::string encode(FrameKind kind, std::string_view body = {});
std::string encode_hello(int rank);
std::string encode_put(std::string_view key, std::string_view value);
/// One frame or several.
std::string encode_wish(std::string_view what, std::string_view text);
std::string encode_value(std::string_view key, std::string_view value);
std::string encode_join(FrameKind join_or_mind, int rank, std::string_view nonce, std::string_view mark);
std::string encode_ask(std::uint32_t number, bool all);
/// Header and number of an answer whose text, of so many bytes, follows. Allocates nothing.
std::array<char, header_bytes + 4> encode_answer(std::uint32_t number, std::size_t text_bytes);
/// abort, lost, end or died; `text` is cut at max_text.
std::string encode_code(FrameKind kind, int code, std::string_view text);
/// accuse or gone; likewise.
std::string encode_fate(FrameKind kind, std::string_view jobs, int rank, std::string_view text);
/// Takes a word and the space behind it from the front.
std::string_view next_word(std::string_view& words);

/// Reads a body field by field; every read fails softly at the end of the body, which `ok` remembers.
class BodyReader {
 public:
  explicit BodyReader(std::string_view body) : rest_(body) {}
  std::uint32_t u32();
  std::string_view bytes(std::size_t count);
  std::string_view short_text();  // preceded by its length in one byte
  std::string_view rest();        // all that remains
  bool ok() const { return ok_; }
  bool done() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

/// Cuts a byte stream into frames. Nothing of the peer is trusted: Errc::protocol for a body longer than `most` or an
/// unknown header, after which the stream is useless. Who has proven nothing is to have a small `most`: so much of a
/// frame that is never completed is kept.
class FrameReader {
 public:
  explicit FrameReader(std::size_t most = max_body) : most_(most) {}
  /// Room for at least `count` bytes of input; `commit` says how many arrived. Ends the life of earlier frames.
  char* reserve(std::size_t count);
  void commit(std::size_t count) { end_ += count; }

  /// The next complete frame, or nothing while it is incomplete.
  Result<std::optional<Frame>> next();

 private:
  std::size_t most_;
  std::string buffer_;
  std::size_t begin_ = 0, end_ = 0;  // unread bytes are [begin_, end_)
};

}  // namespace rmq::boot
