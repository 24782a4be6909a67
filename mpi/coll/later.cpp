#include "mpi/coll/later.hpp"

#include <fmt/format.h>

namespace rmq::mpi::coll {

// ---- arguments ----

Kept::~Kept() {
  for (Datatype* type : types_) type_release(*type);
  if (op_) op_release(*op_);
}

void Kept::retain(const Datatype& type) {
  if (type.predefined) return;
  auto& t = const_cast<Datatype&>(type);
  types_.push_back(&t);
  type_retain(t);
}

Numbers Kept::copy(const Numbers& n, int ranks) {
  if (n.has_rule()) return n;
  auto& array = numbers_.emplace_back(std::make_unique<MPI_Count[]>(static_cast<std::size_t>(ranks)));
  for (int i = 0; i < ranks; ++i) array[static_cast<std::size_t>(i)] = n[i];
  return Numbers(array.get());
}

Buffer Kept::keep(const Comm&, const Buffer& b) {
  retain(*b.type);
  return b;
}

Blocks Kept::keep(const Comm& c, const Blocks& b) {
  const int ranks = c.remote_size();
  const Datatype* const* types = b.types();
  if (types) {
    types = type_lists_.emplace_back(types, types + ranks).data();
    for (const Datatype* type : type_lists_.back()) retain(*type);
  } else {
    retain(*b.type());
  }
  return b.with(copy(b.counts(), ranks), copy(b.displacements(), ranks), types);
}

Reduction Kept::keep(const Comm&, const Reduction& r) {
  retain(r.type);
  op_ = const_cast<Op*>(&r.op);
  op_retain(*op_);
  return r;
}

// ---- requests ----

Collective::Collective(Comm& c, bool persistent)
    : Activity(&c), Task(persistent ? new_repeated_tag(c) : -1), persistent_(persistent), active_(!persistent) {}

int Collective::peek(MPI_Status* status) {
  set_empty_status(status);
  return active_ ? result() : MPI_SUCCESS;
}

int Collective::finish(MPI_Status* status) {
  const int code = peek(status);
  if (persistent_) active_ = false;
  return code;
}

void Collective::start() {
  if (!persistent_) refuse("is not persistent");
  if (active_) refuse("is active already");
  run();
  active_ = true;
}

void Collective::cancel() {
  refuse("is a collective's, which cannot be cancelled");
}

void Collective::abandon(Request* place) {
  if (active_) refuse("is a collective's that is not over, which cannot be freed");
  Activity::abandon(place);
}

void Collective::refuse(const char* what) {
  throw Failure{MPI_ERR_REQUEST, fmt::format("argument request {}", what), comm()->handle};
}

int Later::begin(std::unique_ptr<Collective> collective) const {
  Collective& c = *collective;
  const MPI_Request handle = new_activity_request(std::move(collective));
  try {
    c.begin();
  } catch (...) {
    Request* const place = find_request(handle);
    delete &c;
    runtime().device->MPID_Request_free(place);
    throw;
  }
  *request = handle;
  return MPI_SUCCESS;
}

}  // namespace rmq::mpi::coll
