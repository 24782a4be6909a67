// SPDX-License-Identifier: BSD-3-Clause
#include "engine/object/attributes.hpp"

#include <algorithm>

#include "engine/object/runtime.hpp"

extern "C" int MPIR_Dup_fn(MPI_Comm, int, void*, void* in, void* out, int* flag) {
  *static_cast<void**>(out) = in;
  *flag = 1;
  return MPI_SUCCESS;
}

namespace rmq::mpi {
namespace {

void release(Keyval& k) {
  if (--k.refs == 0) runtime().keyvals.remove(&k);
}

/// The keyval behind an attribute that is set: it lives as long as the attribute does.
Keyval& keyval_of(const Attribute& a) {
  return *runtime().keyvals.find(a.keyval);
}

int call_destroy(const Keyval& k, int object, const Attribute& a) {
  if (!k.destroy) return MPI_SUCCESS;
  const auto destroy = k.destroy;
  const int handle = k.handle;
  const auto proxy = k.destroy_proxy;
  void *extra = k.extra, *value = a.value;
  const auto form = a.integer ? Attribute::Form::address_integer : Attribute::Form::pointer;
  const Released released;
  return proxy ? proxy(destroy, object, handle, form, value, extra) : destroy(object, handle, value, extra);
}

int call_copy(const Keyval& k, int object, const Attribute& a, void*& copied, int& wanted) {
  wanted = 0;
  if (!k.copy) return MPI_SUCCESS;
  const auto copy = k.copy;
  const int handle = k.handle;
  const auto proxy = k.copy_proxy;
  void *extra = k.extra, *value = a.value;
  const auto form = a.integer ? Attribute::Form::address_integer : Attribute::Form::pointer;
  const Released released;
  return proxy ? proxy(copy, object, handle, extra, form, value, &copied, &wanted)
               : copy(object, handle, extra, value, &copied, &wanted);
}

std::shared_ptr<void*> integer_of(void* value, Attribute::Form form) {
  return form == Attribute::Form::pointer ? nullptr : std::make_shared<void*>(value);
}

Attributes::iterator position(Attributes& list, int keyval) {
  return std::find_if(list.begin(), list.end(), [&](const Attribute& a) { return a.keyval == keyval; });
}

}  // namespace

int make_keyval(Keyval::For what, MPI_Comm_copy_attr_function* copy, MPI_Comm_delete_attr_function* destroy,
                void* extra) {
  auto k = std::make_unique<Keyval>();
  k->what = what;
  k->copy = copy;
  k->destroy = destroy;
  k->extra = extra;
  return runtime().keyvals.add(std::move(k))->handle;
}

void free_keyval(Keyval& k) {
  if (k.freed) return;
  k.freed = true;
  release(k);
}

const Attribute* find_attribute(const Attributes& list, int keyval) {
  for (const Attribute& a : list) {
    if (a.keyval == keyval) return &a;
  }
  return nullptr;
}

void* value_of(const Attribute& a, Attribute::Form form) {
  return form == Attribute::Form::pointer && a.integer ? a.integer.get() : a.value;
}

int set_attribute(Attributes& list, int object, Keyval& key, void* value, Attribute::Form form) {
  if (const Attribute* old = find_attribute(list, key.handle)) {
    if (const int code = call_destroy(key, object, *old); code != MPI_SUCCESS) return code;
    if (const auto at = position(list, key.handle); at != list.end()) {
      at->value = value;
      at->integer = integer_of(value, form);
      return MPI_SUCCESS;
    }
  }
  list.push_back({key.handle, value, integer_of(value, form)});
  ++key.refs;
  return MPI_SUCCESS;
}

int delete_attribute(Attributes& list, int object, Keyval& key) {
  const Attribute* a = find_attribute(list, key.handle);
  if (!a) return MPI_SUCCESS;
  const int handle = key.handle;
  if (const int code = call_destroy(key, object, *a); code != MPI_SUCCESS) return code;
  if (const auto at = position(list, handle); at != list.end()) {
    list.erase(at);
    release(key);
  }
  return MPI_SUCCESS;
}

int delete_all_attributes(Attributes& list, int object) {
  while (!list.empty()) {
    if (const int code = delete_attribute(list, object, keyval_of(list.back())); code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

int copy_attributes(Attributes& to, const Attributes& from, int object) {
  const Attributes all = from;  // callbacks may change the original
  for (const Attribute& a : all) {
    if (!find_attribute(from, a.keyval)) continue;
    Keyval& k = keyval_of(a);
    void* copied = nullptr;
    int wanted = 0;
    if (const int code = call_copy(k, object, a, copied, wanted); code != MPI_SUCCESS) return code;
    if (!wanted) continue;
    to.push_back({a.keyval, copied, a.integer ? std::make_shared<void*>(copied) : nullptr});
    ++k.refs;
  }
  return MPI_SUCCESS;
}

}  // namespace rmq::mpi
