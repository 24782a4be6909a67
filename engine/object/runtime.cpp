#include "engine/object/runtime.hpp"

namespace rmq::mpi {

constinit detail::Immortal detail::instance;

}  // namespace rmq::mpi
