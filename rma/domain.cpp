#include "rma/domain.hpp"

namespace rmq::rma {

Domain::Domain(adi::Device& device) : device_(device) {}
Domain::~Domain() = default;

void Domain::forget(const Layout*) {}

}  // namespace rmq::rma
