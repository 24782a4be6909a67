// SPDX-License-Identifier: BSD-3-Clause
#include "engine/coll/later.hpp"

#include <fmt/format.h>

namespace rmq::mpi::coll {

namespace {

std::string truncated_text(const Comm& c, std::uint32_t number, const char* name = nullptr) {
  return fmt::format(
      "a message of this collective (call {} on {}{}) has not the length that this rank's arguments ask "
      "for: the ranks disagree on count or datatype, or call different collectives",
      number, c.name.empty() ? fmt::format("the communicator with context {}", c.context) : c.name,
      name ? fmt::format(", {}", name) : "");
}

}  // namespace

void fail_truncated(const Comm& c) {
  fail_call(MPI_ERR_TRUNCATE, truncated_text(c, c.calls));
}

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

Numbers Kept::copy(const Numbers& n, int count) {
  if (n.has_rule()) return n;
  auto& array = numbers_.emplace_back(std::make_unique<MPI_Count[]>(static_cast<std::size_t>(count)));
  for (int i = 0; i < count; ++i) array[static_cast<std::size_t>(i)] = n[i];
  return Numbers(array.get());
}

Buffer Kept::keep(const Comm&, const Buffer& b) {
  retain(*b.type);
  return b;
}

Blocks Kept::copy(const Blocks& b, int count) {
  const Datatype* const* types = b.types();
  if (types) {
    types = type_lists_.emplace_back(types, types + count).data();
    for (const Datatype* type : type_lists_.back()) retain(*type);
  } else {
    retain(*b.type());
  }
  return b.with(copy(b.counts(), count), copy(b.displacements(), count), types);
}

Reduction Kept::keep(const Comm&, const Reduction& r) {
  retain(r.type);
  op_ = const_cast<Op*>(&r.op);
  op_retain(*op_);
  return r;
}

// ---- requests ----

CollectiveRequest::CollectiveRequest(Comm& c, bool persistent)
    : Activity(&c),
      Task(*c.device, persistent ? new_repeated_tag(c) : -1, persistent ? &plan_ : nullptr),
      persistent_(persistent),
      active_(!persistent),
      name_(runtime().device->call_name()),
      number_(c.calls + 1) {}

int CollectiveRequest::peek(MPI_Status* status) {
  if (active_)
    set_sent_status(status);
  else
    set_empty_status(status);
  told_ = active_;
  return active_ ? result() : MPI_SUCCESS;
}

int CollectiveRequest::finish(MPI_Status* status) {
  const int code = peek(status);
  if (persistent_) active_ = false;
  return code;
}

void CollectiveRequest::start() {
  if (!persistent_) refuse("is not persistent");
  if (active_) refuse("is active already");
  plan_.begin();
  run();
  active_ = true;
  told_ = false;
}

void CollectiveRequest::cancel() {
  refuse("is a collective's, which cannot be cancelled");
}

int CollectiveRequest::abandon(Request* place) {
  if (active_ && !told_) refuse("is a collective's that is not over, which cannot be freed");
  return Activity::abandon(place);
}

void CollectiveRequest::tell(ReportText& to) const {
  to.begin_object();
  to.field("kind", "collective");
  to.field("call", name_);
  to.field("context", comm()->context);
  if (!persistent_) to.field("number", number_);
  to.begin_list("needs");
  if (asleep_on()) adi::tell_request(*asleep_on(), to);
  to.end_list();
  to.end_object();
}

Failure CollectiveRequest::failure() const {
  Failure f = Activity::failure();
  if (!running() && result() == MPI_ERR_TRUNCATE) f.what = truncated_text(*comm(), number_, name_);
  return f;
}

void CollectiveRequest::refuse(const char* what) {
  throw Failure{MPI_ERR_REQUEST, fmt::format("argument request {}", what), comm()->handle};
}

int Later::begin(std::unique_ptr<CollectiveRequest> collective) const {
  CollectiveRequest& c = *collective;
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
