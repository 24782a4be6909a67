// SPDX-License-Identifier: BSD-3-Clause
// Chapter 15.3.9: categories: one for all, which has the others in it, and each variable is in one of these.
#include <array>
#include <vector>

#include "base/config.hpp"
#include "mpi/define.hpp"
#include "mpi/tool/tool_events.hpp"
#include "mpi/tool/tool_pvars.hpp"

namespace rmq::mpi::tool {
namespace {

struct CategoryText {
  std::string_view name, meaning;
};
constexpr auto kCategories = std::to_array<CategoryText>({
    {"rmq", "all of RMQ"},
    {"rmq_messages", "messages: protocols, queues, flow control, collectives"},
    {"rmq_waiting", "how an idle rank waits"},
#define RMQ_METHOD(name, number, what) {"rmq_" #name, what},
#define RMQ_OTHER_METHOD(name, number)
#include "methods/methods.def"
#undef RMQ_METHOD
#undef RMQ_OTHER_METHOD
    {"rmq_rma", "windows"},
    {"rmq_tracing", "what is recorded, and debuggers"},
});

Category category_of(const ConfigVariable& v) {
  const auto is = [&](std::string_view prefix) { return v.member.starts_with(prefix); };
#define RMQ_METHOD(name, number, what) \
  if (is(#name "_")) return Category::name;
#define RMQ_OTHER_METHOD(name, number)
#include "methods/methods.def"
#undef RMQ_METHOD
#undef RMQ_OTHER_METHOD
  if (is("rma_")) return Category::rma;
  if (is("spin") || is("yield") || is("wait")) return Category::waiting;
  if (is("trace") || is("flight") || is("debug")) return Category::tracing;
  return Category::messages;
}
Category category_of(const PerformanceVariable& v) {
  return v.category;
}

Category category_of(const EventKind& e) {
  const auto is = [&](std::string_view prefix) { return e.name.starts_with(prefix); };
  if (is("win_") || is("lock_") || is("type_")) return Category::rma;
  if (e.event == Event::sleep || e.event == Event::wake) return Category::waiting;
  if (is("call_")) return Category::tracing;
  return Category::messages;
}

template <class Variables>
std::vector<int> members(int category, const Variables& variables) {
  at(kCategories, category);
  std::vector<int> indices;
  int i = 0;
  for (const auto& v : variables) {
    if (static_cast<int>(category_of(v)) + 1 == category) indices.push_back(i);
    ++i;
  }
  return indices;
}

std::vector<int> subcategories(int category) {
  at(kCategories, category);
  std::vector<int> indices;
  for (int i = 1; category == 0 && i < std::ssize(kCategories); ++i) indices.push_back(i);
  return indices;
}

int store(const std::vector<int>& from, int len, int* to) {
  if (len < 0) return MPI_T_ERR_INVALID;
  for (std::size_t i = 0; i < std::min(from.size(), static_cast<std::size_t>(len)); ++i) needed(to)[i] = from[i];
  return MPI_SUCCESS;
}

}  // namespace

RMQ_MPI(int, T_category_get_num, (int* num_cat)) {
  return enter([&] {
    *needed(num_cat) = static_cast<int>(kCategories.size());
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, T_category_get_info,
        (int cat_index, char* name, int* name_len, char* desc, int* desc_len, int* num_cvars, int* num_pvars,
         int* num_categories)) {
  return enter([&] {
    const CategoryText& c = at(kCategories, cat_index);
    put_text(name, name_len, c.name);
    put_text(desc, desc_len, c.meaning);
    put(num_cvars, static_cast<int>(members(cat_index, config_variables()).size()));
    put(num_pvars, static_cast<int>(members(cat_index, performance_variables()).size()));
    put(num_categories, static_cast<int>(subcategories(cat_index).size()));
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, T_category_get_index, (const char* name, int* cat_index)) {
  return enter([&] {
    *needed(cat_index) = index_of(kCategories, name, [](const auto&) { return true; });
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, T_category_get_cvars, (int cat_index, int len, int indices[])) {
  return enter([&] { return store(members(cat_index, config_variables()), len, indices); });
}

RMQ_MPI(int, T_category_get_pvars, (int cat_index, int len, int indices[])) {
  return enter([&] { return store(members(cat_index, performance_variables()), len, indices); });
}

RMQ_MPI(int, T_category_get_categories, (int cat_index, int len, int indices[])) {
  return enter([&] { return store(subcategories(cat_index), len, indices); });
}

RMQ_MPI(int, T_category_get_num_events, (int cat_index, int* num_events)) {
  return enter([&] {
    *needed(num_events) = static_cast<int>(members(cat_index, event_kinds()).size());
    return MPI_SUCCESS;
  });
}

RMQ_MPI(int, T_category_get_events, (int cat_index, int len, int indices[])) {
  return enter([&] { return store(members(cat_index, event_kinds()), len, indices); });
}

// Nothing ever changes.
RMQ_MPI(int, T_category_changed, (int* update_number)) {
  return enter([&] {
    *needed(update_number) = 0;
    return MPI_SUCCESS;
  });
}

}  // namespace rmq::mpi::tool
