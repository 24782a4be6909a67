#include "base/request.hpp"

#include <array>

namespace rmq {
namespace {

struct StepText {
  std::string_view name, meaning;
};

constexpr StepText kSteps[] = {
#define RMQ_STEP(name, kind, what) {#name, what},
#define RMQ_STEP_MOVE(from, KIND, to)
#include "base/request_step.def"
#undef RMQ_STEP
#undef RMQ_STEP_MOVE
};

constexpr StepMove kMoves[] = {
#define RMQ_STEP(name, kind, what)
#define RMQ_STEP_MOVE(from, KIND, to) {Step::from, Kind::KIND, Step::to},
#include "base/request_step.def"
#undef RMQ_STEP
#undef RMQ_STEP_MOVE
};

}  // namespace

std::string_view step_name(Step s) {
  return kSteps[static_cast<std::size_t>(s)].name;
}
std::string_view step_meaning(Step s) {
  return kSteps[static_cast<std::size_t>(s)].meaning;
}
std::span<const StepMove> step_moves() {
  return kMoves;
}

}  // namespace rmq
