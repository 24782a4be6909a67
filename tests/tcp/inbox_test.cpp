// SPDX-License-Identifier: BSD-3-Clause
// What the receiving side of a connection owes the other one.
#include "tcp/inbox.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <vector>

namespace rmq::tcp {
namespace {

std::vector<std::byte> packet_bytes(std::uint32_t number, std::uint32_t length) {
  Packet p(Kind::SHORT);
  p.link = number;
  p.length = length;
  const std::size_t head = wire_bytes(Kind::SHORT);
  std::vector<std::byte> bytes(head + length);
  std::memcpy(bytes.data(), &p, head);
  return bytes;
}

// The owner of such a payload waits for it: Outbox::kCopied.
TEST(Inbox, OwesAnAcknowledgementAtOnceForALongPayloadThatIsReadWithOthers) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const int room = 1 << 20;
  ::setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
  std::vector<std::byte> stream = packet_bytes(1, 8);
  const std::vector<std::byte> longer = packet_bytes(2, 64 * 1024 + 8);
  stream.insert(stream.end(), longer.begin(), longer.end());
  ASSERT_EQ(::send(ends[0], stream.data(), stream.size(), 0), static_cast<ssize_t>(stream.size()));

  Inbox inbox;
  methods::Sink sink;
  sink.device = &inbox;
  sink.on_packet.fill([](void* device, Rank, const Packet& packet, const std::byte*) {
    if (packet.link == 1) static_cast<Inbox*>(device)->tell();  // it is answered
  });
  while (inbox.received() != 2) ASSERT_EQ(inbox.receive(ends[1], 0, sink).trouble, nullptr);
  EXPECT_TRUE(inbox.ack_is_due());
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace rmq::tcp
