// SPDX-License-Identifier: BSD-3-Clause
// PMI-1 as a client speaks it (start/pmi_wire.hpp).
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "start/pmi.hpp"
#include "start/pmi_wire.hpp"

namespace rmq::pmi {

namespace {

using std::chrono::seconds;

constexpr seconds answer_time{60};  // of a launcher on this machine, which waits for nobody
constexpr int max_ranks = 1 << 24;
constexpr const char* remedy = "start the program with 'mpiexec -n N rmqboot ./prog' or 'rmqrun -n N ./prog' instead";

class Pmi final : public Launcher {
 public:
  explicit Pmi(os::UniqueFd socket) : socket_(std::move(socket)) { ::fcntl(socket_.get(), F_SETFD, FD_CLOEXEC); }

  const char* name() const override { return "a PMI-1 launcher"; }
  int descriptor() const override { return socket_.get(); }

  Result<void> identify(const std::string& id) {
    const auto known = ask("cmd=initack pmiid=" + id, "initack");
    if (!known) return tl::make_unexpected(known.error());
    for (auto line = read_line(answer_time);; line = read_line(answer_time)) {
      if (!line) return tl::make_unexpected(line.error());
      if (const auto size = number(*line, "size")) place_.size = *size;
      if (const auto rank = number(*line, "rank")) place_.rank = *rank;
      if (field(*line, "debug")) return {};  // the last of them
      if (field(*line, "cmd") != "set") return unexpected_line(*line, "set");
    }
  }

  Result<void> start() {
    const auto hello = ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init");
    if (!hello) return tl::make_unexpected(hello.error());
    if (number(*hello, "pmi_version") != 1)
      return fail(Errc::protocol, fmt::format("the launcher speaks PMI version {}.{}, and not 1; {}",
                                              field(*hello, "pmi_version").value_or("?"),
                                              field(*hello, "pmi_subversion").value_or("?"), remedy));
    if (auto good = check_rc(*hello); !good) return good;
    if (place_.size < 1 || place_.size > max_ranks || place_.rank < 0 || place_.rank >= place_.size)
      return fail(Errc::protocol,
                  fmt::format("the launcher says that this is rank {} of {}", place_.rank, place_.size));
    const auto app = ask("cmd=get_appnum", "appnum");
    if (!app) return tl::make_unexpected(app.error());
    place_.app_num = std::max(0, number(*app, "appnum").value_or(0));
    const auto universe = ask("cmd=get_universe_size", "universe_size");
    if (!universe) return tl::make_unexpected(universe.error());
    place_.universe_size = std::max(place_.size, number(*universe, "size").value_or(0));
    const auto name = ask("cmd=get_my_kvsname", "my_kvsname");
    if (!name) return tl::make_unexpected(name.error());
    space_ = field(*name, "kvsname").value_or("");
    return {};
  }

  void say_place(int rank, int size) {
    place_.rank = rank;
    place_.size = size;
  }

  Result<std::string> spread(const std::string& value) override {
    if (place_.rank == 0) {
      const auto put = ask(fmt::format("cmd=put kvsname={} key={} value={}", space_, key, value), "put_result");
      if (!put) return tl::make_unexpected(put.error());
      if (auto good = check_rc(*put); !good) return tl::make_unexpected(good.error());
    }
    if (auto met = barrier(); !met) return tl::make_unexpected(met.error());
    const auto got = ask(fmt::format("cmd=get kvsname={} key={}", space_, key), "get_result");
    if (!got) return tl::make_unexpected(got.error());
    if (auto good = check_rc(*got); !good) return tl::make_unexpected(good.error());
    return std::string(field(*got, "value").value_or(""));
  }

  void abort(int code, const std::string&) override {
    // No answer. Not waiting to be killed leaves the code to the launchers that take it from us.
    static_cast<void>(send_text(abort_line(code)));
  }

  Result<void> finalize() override {
    return ask("cmd=finalize", "finalize_ack").map([](const std::string&) {});
  }

 private:
  static constexpr const char* key = "rmq_start";

  Result<void> barrier() {
    if (auto sent = send("cmd=barrier_in"); !sent) return sent;
    auto line = read_line(std::nullopt);
    if (!line) return tl::make_unexpected(line.error());
    if (field(*line, "cmd") != "barrier_out") return unexpected_line(*line, "barrier_out");
    return check_rc(*line);
  }

  Result<std::string> ask(const std::string& request, std::string_view answer) {
    if (auto sent = send(request); !sent) return tl::make_unexpected(sent.error());
    auto line = read_line(answer_time);
    if (line && field(*line, "cmd") != answer) return unexpected_line(*line, answer);
    return line;
  }

  static tl::unexpected<Error> unexpected_line(std::string_view line, std::string_view wanted) {
    return fail(Errc::protocol, fmt::format("the launcher's PMI server sent '{}' where '{}' was due; {}",
                                            line.substr(0, 80), wanted, remedy));
  }

  static Result<void> check_rc(std::string_view line) {
    const auto rc = field(line, "rc");
    if (!rc || *rc == "0") return {};
    return fail(Errc::protocol,
                fmt::format("the launcher's PMI server refuses: '{}'; {}", line.substr(0, 160), remedy));
  }

  tl::unexpected<Error> gone(const char* how) const {
    return fail(Errc::peer_lost,
                fmt::format("rank {}: the launcher's PMI server {}; has the launcher ended?", place_.rank, how));
  }

  Result<void> send(const std::string& line) { return send_text(line + '\n'); }

  Result<void> send_text(const std::string& text) {
    for (std::string_view rest = text; !rest.empty();) {
      const ssize_t sent = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) return gone("does not listen any more");
      rest.remove_prefix(static_cast<std::size_t>(sent));
    }
    return {};
  }

  Result<std::string> read_line(std::optional<seconds> patience) {
    std::array<char, 2048> chunk;
    while (true) {
      auto line = reader_.next();
      if (!line) return tl::make_unexpected(line.error());
      if (*line) return std::move(**line);
      if (patience && !os::wait_for(socket_.get(), POLLIN, *patience)) return gone("does not answer");
      const ssize_t got = ::recv(socket_.get(), chunk.data(), chunk.size(), 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return gone("has closed the connection");
      reader_.add({chunk.data(), static_cast<std::size_t>(got)});
    }
  }

  os::UniqueFd socket_;
  LineReader reader_;
  std::string space_;  // name of the key-value space
};

Result<os::UniqueFd> connect_to(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = colon == std::string::npos ? EAI_NONAME
                                               : ::getaddrinfo(address.substr(0, colon).c_str(),
                                                               address.substr(colon + 1).c_str(), &hints, &found);
  if (error != 0) return fail(Errc::config, fmt::format("PMI_PORT={}: {}; {}", address, ::gai_strerror(error), remedy));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    os::UniqueFd socket(::socket(entry->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (socket.is_open() && ::connect(socket.get(), entry->ai_addr, entry->ai_addrlen) == 0) return socket;
  }
  return fail(Errc::peer_lost, fmt::format("PMI_PORT={}: {}; {}", address, std::strerror(errno), remedy));
}

}  // namespace

Result<std::unique_ptr<Launcher>> meet_pmi(os::UniqueFd socket, int rank, int size) {
  auto pmi = std::make_unique<Pmi>(std::move(socket));
  pmi->say_place(rank, size);
  if (auto started = pmi->start(); !started) return tl::make_unexpected(started.error());
  return pmi;
}

Result<std::unique_ptr<Launcher>> meet_pmi_port(const std::string& address, const std::string& id) {
  auto socket = connect_to(address);
  if (!socket) return tl::make_unexpected(socket.error());
  auto pmi = std::make_unique<Pmi>(std::move(*socket));
  if (auto known = pmi->identify(id); !known) return tl::make_unexpected(known.error());
  if (auto started = pmi->start(); !started) return tl::make_unexpected(started.error());
  return pmi;
}

}  // namespace rmq::pmi
