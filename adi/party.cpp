// SPDX-License-Identifier: BSD-3-Clause
#include "adi/party.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rmq::adi {

Party::Party(PartyFacts facts, const Config& config, const methods::Sink& up, std::vector<MethodMaker> makers,
             bool silent, void (*parted)(std::span<const std::uint64_t>, int, bool), bool deaths_are_told)
    : facts_(std::move(facts)),
      config_([&] {
        Config own = config;
        own.tcp_port = 0;
        return own;
      }()),
      bootstrap_(facts_),
      up_(up),
      silent_(silent),
      parted_(parted),
      deaths_are_told_(deaths_are_told),
      makers_(std::move(makers)),
      made_(makers_.size()),
      postponed_(makers_.size()) {
  numbers_.number.assign(facts_.members.size(), kNoRank);
}

void Party::on_death(Rank number) {
  if (numbers_.inner(number) < 0) return;
  dead_.push_back(number);
  if (number == lifeline_.root()) end_with_root();
}

void Party::end_with_root() {
  if (parted_ && !lifeline_.beyond().empty() && lifeline_.parting() != Lifeline::Parting::agreed)
    parted_(lifeline_.beyond(), -1, true);
}

void Party::tie(std::unique_ptr<Line> line, std::vector<std::uint64_t> beyond) {
  static_cast<void>(bell_->watch(line->fd()));  // else it is looked at now and then
  lifeline_.tie(std::move(line), std::move(beyond));
  for (const Rank number : dead_) {
    const Process& who = facts_.members[static_cast<std::size_t>(numbers_.inner(number))];
    lifeline_.say_death({&who.job, 1}, static_cast<int>(who.rank));
  }
}

void Party::set_root(Rank root, std::vector<std::uint64_t> beyond) {
  lifeline_.set_root(root, std::move(beyond));
  if (std::ranges::find(dead_, root) != dead_.end()) end_with_root();
}

bool Party::all_reached() const {
  for (int m = 0; m < size(); ++m) {
    if (m == facts_.me) continue;
    if (std::ranges::none_of(made_, [&](const auto& r) { return r && r->inner().reaches(m); })) return false;
  }
  return true;
}

// False: it waits for the card of another member.
Result<bool> Party::make(std::size_t candidate) {
  auto relay =
      std::make_unique<Relay>(Relay::Shared{facts_, numbers_, up_, *bell_, lifeline_, parted_, deaths_are_told_});
  const methods::MethodContext context{config_, bootstrap_, relay->sink(), trace_, *bell_};
  auto inner = makers_[candidate](context);
  if (!inner && bootstrap_.missed()) return false;
  if (!inner) return tl::unexpected(inner.error());
  if ((*inner)->reached() == 0) return true;  // it is of no use here
  relay->set_inner(std::move(*inner));
  made_[candidate] = std::move(relay);
  return true;
}

Result<void> Party::open() {
  if (silent_) {
    bell_ = Doorbell::silent();
  } else {
    auto bell = Doorbell::open(bootstrap_.job().job, facts_.me);
    if (!bell) return tl::unexpected(bell.error());
    bell_ = std::move(*bell);
  }
  for (std::size_t i = 0; i < makers_.size() && !all_reached(); ++i) {
    const auto made = make(i);
    if (!made) return tl::unexpected(made.error());
    postponed_[i] = !*made;
    // Only memory that is shared waits for a card, that of whoever makes it: on one host it serves all.
    if (postponed_[i] && bootstrap_.job().host_of_rank.is_one()) break;
  }
  return {};
}

Result<void> Party::join(std::span<const std::string> cards) {
  for (const std::string& text : cards) {
    if (auto ok = bootstrap_.add_cards(text); !ok) return ok;
  }
  bootstrap_.complete();
  for (std::size_t i = 0; i < makers_.size(); ++i) {
    if (!postponed_[i]) continue;
    if (const auto made = make(i); !made) return tl::unexpected(made.error());
  }
  if (all_reached()) return {};
  return fail(Errc::config, fmt::format("RMQ_METHODS='{}' has no method to all processes of party {} (add tcp)",
                                        config_.methods, bootstrap_.job().job));
}

}  // namespace rmq::adi
