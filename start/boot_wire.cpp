// SPDX-License-Identifier: BSD-3-Clause
#include "start/boot_wire.hpp"

#include <fmt/format.h>

#include <cstring>

namespace rmq::boot {

namespace {

void append_u32(std::string& out, std::uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>((value >> shift) & 0xff));
}

void write_u32(char* at, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) at[i] = static_cast<char>((value >> 8 * i) & 0xff);
}

std::uint32_t read_u32(const char* at) {
  std::uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<unsigned char>(at[i]);
  return value;
}

bool is_known(std::uint8_t kind) {
  return (kind >= 1 && kind <= 25) || kind == 40 || kind == 41;
}

std::string encode_pair(FrameKind kind, std::string_view key, std::string_view value) {
  std::string body;
  body.reserve(1 + key.size() + value.size());
  body.push_back(static_cast<char>(key.size()));
  body.append(key);
  body.append(value);
  return encode(kind, body);
}

}  // namespace

std::string encode(FrameKind kind, std::string_view body) {
  RMQ_CHECK(body.size() <= max_body);
  std::string out;
  out.reserve(header_bytes + body.size());
  append_u32(out, static_cast<std::uint32_t>(body.size()));
  out.push_back(static_cast<char>(kind));
  out.append(3, '\0');
  out.append(body);
  return out;
}

std::string encode_hello(int rank) {
  std::string body;
  append_u32(body, wire_version);
  append_u32(body, static_cast<std::uint32_t>(rank));
  return encode(FrameKind::hello, body);
}

std::string encode_put(std::string_view key, std::string_view value) {
  return encode_pair(FrameKind::put, key, value);
}

std::string encode_wish(std::string_view what, std::string_view text) {
  constexpr std::size_t kPart = 64 * 1024;
  std::string out;
  for (; text.size() > kPart; text.remove_prefix(kPart)) out += encode(FrameKind::wish_part, text.substr(0, kPart));
  return out + encode_pair(FrameKind::wish, what, text);
}

std::string encode_value(std::string_view key, std::string_view value) {
  return encode_pair(FrameKind::value, key, value);
}

std::string encode_join(FrameKind join_or_mind, int rank, std::string_view nonce, std::string_view mark) {
  std::string body;
  append_u32(body, static_cast<std::uint32_t>(rank));
  body.append(nonce);
  body.append(mark);
  return encode(join_or_mind, body);
}

std::string encode_code(FrameKind kind, int code, std::string_view text) {
  std::string body;
  append_u32(body, static_cast<std::uint32_t>(code));
  body.append(text.substr(0, max_text));
  return encode(kind, body);
}

std::string encode_fate(FrameKind kind, std::string_view jobs, int rank, std::string_view text) {
  std::string body;
  append_u32(body, static_cast<std::uint32_t>(rank));
  body.push_back(static_cast<char>(jobs.size()));
  body.append(jobs);
  body.append(text.substr(0, max_text));
  return encode(kind, body);
}

std::string_view next_word(std::string_view& words) {
  const std::string_view word = words.substr(0, words.find(' '));
  words.remove_prefix(std::min(words.size(), word.size() + 1));
  return word;
}

std::string encode_ask(std::uint32_t number, bool all) {
  std::string body;
  append_u32(body, number);
  append_u32(body, all ? 1 : 0);
  return encode(FrameKind::ask, body);
}

std::array<char, header_bytes + 4> encode_answer(std::uint32_t number, std::size_t text_bytes) {
  RMQ_CHECK(text_bytes + 4 <= max_body);
  std::array<char, header_bytes + 4> out{};
  write_u32(out.data(), static_cast<std::uint32_t>(text_bytes + 4));
  out[4] = static_cast<char>(FrameKind::answer);
  write_u32(out.data() + header_bytes, number);
  return out;
}

std::uint32_t BodyReader::u32() {
  const std::string_view field = bytes(4);
  return ok_ ? read_u32(field.data()) : 0;
}

std::string_view BodyReader::bytes(std::size_t count) {
  if (!ok_ || rest_.size() < count) {
    ok_ = false;
    return {};
  }
  const std::string_view field = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return field;
}

std::string_view BodyReader::short_text() {
  const std::string_view length = bytes(1);
  return ok_ ? bytes(static_cast<unsigned char>(length[0])) : std::string_view{};
}

std::string_view BodyReader::rest() {
  const std::string_view field = ok_ ? rest_ : std::string_view{};
  rest_ = {};
  return field;
}

char* FrameReader::reserve(std::size_t count) {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() < end_ + count) buffer_.resize(end_ + count);
  return buffer_.data() + end_;
}

Result<std::optional<Frame>> FrameReader::next() {
  if (end_ - begin_ < header_bytes) return std::nullopt;
  const char* header = buffer_.data() + begin_;
  const std::size_t length = read_u32(header);
  const auto kind = static_cast<std::uint8_t>(header[4]);
  if (length > most_) return fail(Errc::protocol, fmt::format("a start-up frame claims {} bytes", length));
  if (!is_known(kind) || header[5] != 0 || header[6] != 0 || header[7] != 0)
    return fail(Errc::protocol, fmt::format("a start-up frame has the unknown kind {}", kind));
  if (end_ - begin_ < header_bytes + length) return std::nullopt;
  begin_ += header_bytes + length;
  return Frame{static_cast<FrameKind>(kind), {header + header_bytes, length}};
}

}  // namespace rmq::boot
