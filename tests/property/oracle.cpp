// SPDX-License-Identifier: BSD-3-Clause
#include "property/oracle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "conformance/buffer.hpp"

namespace rmq::testing {
namespace {

bool fits(const Match& pattern, const SentMessage& m) {
  return pattern.context == m.context && (pattern.source == kAnySource || pattern.source == m.from) &&
         (pattern.tag == kAnyTag || pattern.tag == m.tag);
}

std::string text(const SentMessage& m) {
  return fmt::format("message {} ({}->{} context {} tag {} {} bytes{})", m.id, m.from, m.to, m.context, m.tag, m.bytes,
                     m.synchronous ? " sync" : "");
}

std::string text(const Receive& r) {
  return fmt::format("receive at {} of step {} (context {} source {} tag {} room {})", r.at, r.posted,
                     r.pattern.context, r.pattern.source, r.pattern.tag, r.capacity);
}

class Judge {
 public:
  explicit Judge(History& h) : h_(h) {}

  std::vector<std::string> run() {
    std::sort(h_.receives.begin(), h_.receives.end(),
              [](const Receive& a, const Receive& b) { return a.posted < b.posted; });
    find_unknown();
    identify();
    check_messages();
    check_order();
    check_probes();
    return std::move(violations_);
  }

 private:
  template <class... Args>
  void violation(fmt::format_string<Args...> format, Args&&... args) {
    if (violations_.size() < 10) violations_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  bool dead(int rank) const { return std::find(h_.dead.begin(), h_.dead.end(), rank) != h_.dead.end(); }

  // Of two ranks of which one has died: a receive may have taken a message and not told, a cancel may have succeeded.
  // Which message it was, nobody knows where later ones look the same: so their fate is unknown too.
  void find_unknown() {
    std::set<std::tuple<int, int, std::uint32_t, int, std::size_t>> unknown;
    for (SentMessage& m : h_.messages) {
      m.fate_unknown |= dead(m.to) || (dead(m.from) && std::ranges::any_of(h_.receives, [&](const Receive& r) {
                                         return r.lost_peer && r.at == m.to && fits(r.pattern, m);
                                       }));
      const auto look = std::tuple(m.from, m.to, m.context, m.tag, m.bytes);
      m.fate_unknown |= unknown.contains(look);
      if (m.fate_unknown) unknown.insert(look);
    }
  }

  // Finds out which message each receive got. Messages that cannot be told apart (too short) are given out in order:
  // every receive that got one of them fits all of them, so any other order would be the forbidden one.
  void identify() {
    for (std::size_t i = 0; i < h_.receives.size(); ++i) {
      Receive& r = h_.receives[i];
      if (r.completed == kNever) {
        violation("{} never ended", text(r));
        continue;
      }
      if (!r.guards_held) violation("{} has written outside of its buffer", text(r));
      if (r.cancelled || r.lost_peer) continue;
      const auto m = std::find_if(h_.messages.begin(), h_.messages.end(),
                                  [&](const SentMessage& x) { return x.receive < 0 && could_be(r, x); });
      if (m == h_.messages.end()) {
        violation("{} got {} bytes from {} with tag {} (error {}) that nobody sent so", text(r), r.status.bytes,
                  r.status.source, r.status.tag, static_cast<int>(r.status.error));
        continue;
      }
      m->receive = static_cast<std::ptrdiff_t>(i);
      r.message = m - h_.messages.begin();
    }
  }

  static bool could_be(const Receive& r, const SentMessage& m) {
    if (m.to != r.at || m.from != r.status.source || m.tag != r.status.tag || !fits(r.pattern, m)) return false;
    if (m.cancelled || m.started > r.completed) return false;
    const bool truncated = m.bytes > r.capacity;
    if (r.status.error != (truncated ? Errc::truncate : Errc::ok)) return false;
    if (r.status.bytes != std::min(m.bytes, r.capacity)) return false;
    const std::vector<std::byte> whole = message_bytes(m.id, m.bytes);
    return std::equal(r.data.begin(), r.data.end(), whole.begin());
  }

  void check_messages() {
    for (const SentMessage& m : h_.messages) {
      if (dead(m.from) || dead(m.to)) continue;
      if (m.completed == kNever) violation("the send of {} never completed", text(m));
      if (m.cancelled) continue;
      if (m.receive < 0) {
        violation("{} was lost", text(m));
        continue;
      }
      const Receive& r = h_.receives[static_cast<std::size_t>(m.receive)];
      if (m.synchronous && m.completed < r.posted) {
        violation("the send of {} completed in step {}, before its {}", text(m), m.completed, text(r));
      }
    }
  }

  // For a receive `a` that was posted before `b`, where b's message fits a too.
  void check_order() {
    for (std::size_t i = 0; i < h_.receives.size(); ++i) {
      const Receive& a = h_.receives[i];
      if (a.completed == kNever || a.lost_peer) continue;
      for (std::size_t k = i + 1; k < h_.receives.size(); ++k) {
        const Receive& b = h_.receives[k];
        if (b.at != a.at || b.message < 0) continue;
        const SentMessage& of_b = h_.messages[static_cast<std::size_t>(b.message)];
        if (!fits(a.pattern, of_b)) continue;
        if (a.cancelled) {
          if (a.at_rest && b.posted > a.completed) violation("{} starved though {} was there", text(a), text(of_b));
          if (b.completed < a.completed) violation("{} was served though the older {} waited", text(b), text(a));
          continue;
        }
        if (a.message < 0) continue;
        const SentMessage& of_a = h_.messages[static_cast<std::size_t>(a.message)];
        if (of_a.from == of_b.from && b.message < a.message && !of_b.fate_unknown) {
          violation("{} (taken by {}) overtook {} (taken by {})", text(of_a), text(a), text(of_b), text(b));
        }
        if (b.completed < of_a.started) {
          violation("{} was served with {} though the older {} waited until {}", text(b), text(of_b), text(a),
                    text(of_a));
        }
      }
    }
  }

  void check_probes() {
    for (const ProbeHit& p : h_.probes) {
      const auto seen = [&](const SentMessage& m) {
        return m.from == p.source && m.tag == p.tag && m.bytes == p.bytes;
      };
      // The one it saw: still there, or cancelled later on.
      const auto there = std::find_if(h_.messages.begin(), h_.messages.end(), [&](const SentMessage& m) {
        if (m.to != p.at || !fits(p.pattern, m) || !seen(m) || m.started > p.when) return false;
        return m.receive < 0 || h_.receives[static_cast<std::size_t>(m.receive)].completed > p.when;
      });
      if (there == h_.messages.end()) {
        violation("a probe at {} in step {} saw {} bytes from {} with tag {} that were not there", p.at, p.when,
                  p.bytes, p.source, p.tag);
        continue;
      }
      for (auto m = h_.messages.begin(); m != there; ++m) {
        if (m->to != p.at || m->from != p.source || !fits(p.pattern, *m) || seen(*m) || m->receive < 0) continue;
        if (m->fate_unknown) continue;  // if it was taken back, its receive had a later one of the same content
        if (h_.receives[static_cast<std::size_t>(m->receive)].posted > p.when) {
          violation("a probe at {} in step {} saw {} instead of {}", p.at, p.when, text(*there), text(*m));
        }
      }
    }
  }

  History& h_;
  std::vector<std::string> violations_;
};

}  // namespace

std::vector<std::string> check(History& history) {
  return Judge(history).run();
}

}  // namespace rmq::testing
