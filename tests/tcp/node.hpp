// SPDX-License-Identifier: BSD-3-Clause
// One rank of a tcp job with a hand-made device: a sink that writes down what it is told.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "start/bootstrap.hpp"
#include "tcp/method.hpp"

namespace rmq::tcp::test {

struct Received {
  Rank from;
  Packet packet;
  std::vector<std::byte> payload;  // empty when it has landed elsewhere
};

class Node {
 public:
  /// Opens the method; `bootstrap` must outlive the node. Fails the test (and leaves the node closed) when that fails.
  Node(Bootstrap& bootstrap, const Config& config);
  ~Node();

  TcpMethod& method() { return *method_; }
  Doorbell& doorbell() { return *doorbell_; }
  bool is_open() const { return method_ != nullptr; }
  const Error& open_error() const { return open_error_; }

  /// As Method::send, but that a send that was refused is not tried again before the method says so.
  methods::Outcome offer(Rank to, const Packet& packet, const Payload& payload, Request* owner);
  /// Retries until the packet is taken, polling `others` too. True unless the peer is lost.
  bool send(Rank to, const Packet& packet, const DataView& data, Request* owner = nullptr);
  /// One SHORT packet with a tag and text; polls until it is taken.
  bool say(Rank to, int tag, std::string_view text = {}, Request* owner = nullptr);

  // What the sink was told.
  std::vector<Received> received;
  std::vector<std::pair<Request*, Errc>> sent;
  std::vector<std::pair<methods::Landing, Errc>> landed;
  std::vector<std::pair<Rank, Error>> lost;
  // Whom offer() has been refused to, and the sink has not been told of room.
  std::set<Rank> refused;
  // Where an arriving payload goes; by default to fresh memory that ends up in `received`.
  std::function<methods::Landing(Rank, const Packet&)> arriving;
  // Called for each packet after it has been written down.
  std::function<void(const Received&)> on_packet;
  // Other nodes that send() polls while it waits.
  std::vector<Node*> others;

 private:
  static Node& of(void* device) { return *static_cast<Node*>(device); }
  Config config_;
  Trace trace_;
  methods::Sink sink_;
  std::unique_ptr<Doorbell> doorbell_;
  std::unique_ptr<TcpMethod> method_;
  std::vector<std::byte> arriving_;
  Error open_error_{Errc::ok, ""};
};

/// A job of `n` nodes in this process.
struct World {
  explicit World(int n, const Config& config = {}, const std::vector<int>& hosts = {});
  Node& operator[](int rank) { return *nodes[static_cast<std::size_t>(rank)]; }
  /// Polls all nodes until `done`; fails the test after 20 s.
  bool until(const std::function<bool()>& done, const char* what);
  /// Says one packet each way between ranks 0 and 1, so that they are connected.
  void connect();
  std::vector<std::unique_ptr<Bootstrap>> boots;
  std::vector<std::unique_ptr<Node>> nodes;
};

/// Bytes that depend on their position, so that misplaced ones show.
std::vector<std::byte> pattern(std::size_t bytes, unsigned seed);
std::string text_of(const Received& received);
Packet short_packet(int tag, std::size_t bytes);

}  // namespace rmq::tcp::test
