// SPDX-License-Identifier: BSD-3-Clause
// Carries what ranks print to the launcher's own stdout and stderr, line by line, so that lines of different ranks
// never mix, with "[rank] " in front when asked for.
//
// A line is passed on when it is complete. A last line without an end is passed on when the rank ends; a line longer
// than 64 KiB in pieces, between which lines of others wait, up to 1 MiB of each, as long as it goes on. What the rank
// that reads our input leaves without an end is passed on when nothing more has come for a moment: it may be a
// question. When the reader of our output is slow, ranks are made to wait: at most 1 MiB is held back. What cannot be
// written, as on a full disk, is lost, and that is said once; when nobody reads it any more, ranks get SIGPIPE, on
// other hosts as well: their agents hear of it with the answer to what they pass. Where nothing could mix (one
// rank, a terminal, /dev/null) and no label is wanted, ranks write for themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/process/fd.hpp"
#include "tools/process/loop.hpp"

namespace rmq::launch {

class OutputRelay {
 public:
  /// `tag` puts a label before each line.
  OutputRelay(EventLoop& loop, bool tag);
  /// Of an agent: hands all to `pass`, as text for stdout (1) or stderr (2), so much at most at once that is not
  /// answered yet. `shared`: both are one file there.
  using Pass = std::function<void(int fd, std::string_view text)>;
  OutputRelay(EventLoop& loop, bool tag, bool shared, Pass pass);
  OutputRelay(const OutputRelay&) = delete;
  OutputRelay& operator=(const OutputRelay&) = delete;

  /// Where a new rank writes to: descriptors for its stdout and stderr, closed by the caller once it is started; not
  /// open where the rank inherits the launcher's own. Errc::system when descriptors run out.
  struct Ends {
    UniqueFd output, error;
    int stream = -1;  // for drain
  };
  /// `label` is put before its lines, as "[label] "; `ranks` of its job; `asks`: it reads the launcher's input.
  Result<Ends> connect(const std::string& label, int ranks, bool asks = false);

  /// Descriptors that each rank of a job of so many takes in this process.
  int descriptors_per_rank(int ranks) const;

  /// Reads what the rank of this `stream` has printed so far; to be called when it has ended.
  void drain(int stream);

  /// What the agent at `place` has passed (the body of Word::output): lines of its ranks with their labels, cut
  /// anywhere. `answer` is called with the body of Word::printed once not too much waits any more: at once, or from the
  /// event loop.
  using Answer = std::function<void(std::string_view printed)>;
  void accept(std::size_t place, std::string_view output, Answer answer);
  /// Of an agent: what is answered to what it has passed.
  void hear(std::string_view printed);

  /// Whether stdout and stderr are one file.
  bool is_shared() const { return shared_; }

  /// Puts a line of the launcher's own on stderr, in order with the ranks'. It may name what others have named: nothing
  /// of it is a command to the terminal.
  void say(std::string_view line);

  /// What goes to stdout could not be written.
  bool has_lost() const { return output_.has_failed; }
  /// All has been read and nothing waits to be written.
  bool is_idle() const;
  /// Called from the event loop each time something held back has been written.
  void on_written(std::function<void()> written) { written_ = std::move(written); }

 private:
  static constexpr int kNobody = -1;
  struct Sink {    // one of the launcher's own descriptors
    int fd = -1;   // where to write: `own`, or 1 or 2
    UniqueFd own;  // the same pipe or terminal, which does not block
    int number = -1;
    int owner = kNobody;      // number of the stream whose line is passed on in part
    std::string behind;       // whole lines that wait for the end of that one …
    bool is_patient = false;  // … for a moment
    bool has_failed = false;  // it has been said that something is lost
    bool terminal = false;    // or /dev/null: takes what several write line by line, or does not care
    bool plain_file = false;  // always ready, not to be waited for
    bool broken = false;      // its reader is gone, here or where the agent passes it
    bool waiting = false;     // the loop watches for room
    std::string held;         // what it has not taken yet
    std::vector<std::function<void(bool is_read)>> awaits_room;
  };
  static constexpr int kAgents = -1;
  struct Stream {       // one pipe from one rank, or what an agent passes
    int id;             // of the rank's streams, or kAgents
    std::string label;  // of an agent's: that of the line which is passed on in part
    Sink* sink;
    UniqueFd pipe;
    int number;  // unlike that of any other stream
    bool asks;
    bool in_line = false;     // a part of a line has been passed on
    std::string line{};       // the incomplete last line
    std::uint64_t reads = 0;  // so often something has come
    bool is_awaited = false;  // whether more of it comes
    bool paused = false;      // not read until the sink has taken something
  };

  bool relays(const Sink& sink, int ranks) const { return pass_ || tag_ || (ranks > 1 && !sink.terminal); }
  Result<UniqueFd> open_stream(const std::string& label, Sink& sink, bool asks);
  void set_up(Sink& sink, int fd);
  Stream& stream_of(std::size_t place, Sink& sink);
  bool read_some(Stream& stream);
  void pass_lines(Stream& stream, std::string_view text);
  void append(Stream& stream, std::string_view text);
  void await_more(Stream& stream);
  // A line of another is passed on in part.
  static bool is_behind(const Stream& stream) {
    return stream.sink->owner != kNobody && stream.sink->owner != stream.number;
  }
  void end_line(Sink& sink, bool breaks);
  void lose(Sink& sink, int error);
  void close(Stream& stream);
  void write_out(Sink& sink);
  void write_to_file(Sink& sink);
  void close_all(Sink& sink);
  void pass_on(Sink& sink);
  void resume(Sink& sink);

  EventLoop& loop_;
  Timers timers_;
  const bool tag_;
  const Pass pass_;
  std::size_t not_taken_ = 0;  // bytes that have been passed
  Sink output_, error_;
  bool shared_ = false;  // stdout and stderr are one file: one pipe keeps a rank's own order
  int streams_made_ = 0, pipes_made_ = 0;
  std::list<Stream> streams_;
  std::map<std::pair<std::size_t, int>, Stream*> of_agents_;  // by place and number of the sink
  std::function<void()> written_;
};

}  // namespace rmq::launch
