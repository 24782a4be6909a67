// SPDX-License-Identifier: BSD-3-Clause
// What a launcher that is not ours sends: lines of PMI-1, and the value that rank 0 has spread through it; and what the
// library of another MPI sends to rmqrun --pmi.
#include <sys/socket.h>

#include <array>
#include <memory>
#include <string>

#include "fuzz/fuzz.hpp"
#include "start/pmi_start.hpp"
#include "start/pmi_wire.hpp"
#include "tools/launch/pmi.hpp"

namespace rmq::fuzz {
namespace {

std::string some(Reader& in) {
  const auto bytes = in.bytes(in.u8());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void read_lines(Reader& in) {
  pmi::LineReader reader;
  std::string sent, seen;
  while (!in.done()) {
    const std::string piece = some(in);
    sent += piece;
    reader.add(piece);
    for (auto line = reader.next(); line && *line; line = reader.next()) {
      require((*line)->find('\n') == std::string::npos, "a line has no end in it");
      seen += **line + "\n";
      for (const char* key : {"cmd", "rc", "value", "size"})
        if (const auto value = pmi::field(**line, key))
          require((*line)->find(std::string(key) + "=" + std::string(*value)) != std::string::npos,
                  "a field is a part of its line");
    }
  }
  require(sent.starts_with(seen), "lines are what was sent");
}

void read_announcement(Reader& in) {
  std::string text = in.pick(2) == 0 ? some(in) : "rmq1,0123456789abcdef," + std::string(64, 'a') + "," + some(in);
  const auto news = pmi::parse_announcement(text);
  if (!news) return;
  const auto again = pmi::parse_announcement(pmi::format_announcement(*news));
  require(again && again->job == news->job && again->key == news->key, "an announcement survives its text");
}

// Words that a library may say, with anything in between.
std::string line(Reader& in) {
  static constexpr const char* words[] = {"cmd=init pmi_version=1 pmi_subversion=1",
                                          "cmd=get_maxes",
                                          "cmd=get_appnum",
                                          "cmd=get_universe_size",
                                          "cmd=get_my_kvsname",
                                          "cmd=barrier_in",
                                          "cmd=finalize",
                                          "cmd=abort exitcode=",
                                          "cmd=put kvsname=rmq_j key=",
                                          "cmd=get kvsname=rmq_j key=",
                                          "cmd=publish_name service=",
                                          "cmd=lookup_name service=",
                                          "cmd=unpublish_name service=",
                                          "mcmd=spawn",
                                          "endcmd"};
  const std::size_t which = in.pick(std::size(words) + 1);
  return (which < std::size(words) ? words[which] : "") + (in.pick(2) == 0 ? std::string() : some(in)) + "\n";
}

void serve(Reader& in) {
  static const std::unique_ptr<launch::EventLoop> loop = std::move(*launch::EventLoop::create());
  JobInfo job;
  job.job = "j";
  launch::PmiBoard board(*loop, job, [](const std::string& what) { require(!what.empty(), "a complaint says what"); });
  std::array<int, 2> frames{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, frames.data()) != 0) return;
  const launch::UniqueFd server(frames[0]);
  const auto rank = board.translate(0, 0, launch::UniqueFd(frames[1]));
  if (!rank) return;
  boot::FrameReader reader;
  while (!in.done()) {
    const std::string text = line(in);
    ::send(rank->get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    board.drain(0);
    ssize_t got = 0;
    while ((got = ::recv(server.get(), reader.reserve(4096), 4096, MSG_DONTWAIT)) > 0)
      reader.commit(static_cast<std::size_t>(got));
    for (auto frame = reader.next();; frame = reader.next()) {
      require(frame.has_value(), "the connection server hears only frames");
      if (!*frame) break;
    }
    std::array<char, 4096> answers;
    while (::recv(rank->get(), answers.data(), answers.size(), MSG_DONTWAIT) > 0) continue;
  }
}

}  // namespace

std::vector<Script> seeds() {
  std::vector<Script> all;
  Writer lines, news;
  lines.u8(0);
  for (const std::string_view text : {"cmd=get_res", "ult rc=0 value=x\ncmd=barrier", "_out\n\n"})
    lines.u8(text.size()).text(text);
  all.push_back(lines.script);
  const std::string_view addresses = "4711,10.0.0.1,::1";
  news.u8(1).u8(1).u8(addresses.size()).text(addresses);
  all.push_back(news.script);
  Writer whole;  // a rank's whole life, and a word more
  whole.u8(2);
  for (std::size_t word : {0, 1, 2, 3, 4, 8, 5, 9, 10, 11, 12, 13, 14, 6, 7, 15}) {
    whole.u8(word).u8(1);
    const std::string_view rest = word == 8 ? "k value=v" : "k";
    whole.u8(rest.size()).text(rest);
  }
  all.push_back(whole.script);
  for (std::size_t word = 0; word < 16; ++word) {
    Writer w;
    w.u8(2).u8(0).u8(0).u8(word).u8(0).u8(word).u8(1).u8(3).text("a=b");
    all.push_back(w.script);
  }
  return all;
}

}  // namespace rmq::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  rmq::fuzz::Reader in(data, bytes);
  switch (in.pick(3)) {
    case 0:
      rmq::fuzz::read_lines(in);
      break;
    case 1:
      rmq::fuzz::read_announcement(in);
      break;
    default:
      rmq::fuzz::serve(in);
  }
  return 0;
}
