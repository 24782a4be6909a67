// SPDX-License-Identifier: BSD-3-Clause
// Where steps write their calls, once: the face either makes a call, with the objects that the operands name, or prints
// it as C.
#pragma once

#include <array>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "content.hpp"
#include "tries.hpp"
#include "worlds.hpp"

// A function with its name, for Face::call and Face::does.
#define TORTURE_CALL(function) #function, function
// The same of one that takes a count: some steps call the form for large counts. An MPI before 4.0 has none.
#if MPI_VERSION >= 4
#define TORTURE_COUNTED(function)                     \
  torture::Counted {                                  \
#function, function, #function "_c", function##_c \
  }
#else
#define TORTURE_COUNTED(function)            \
  torture::Counted {                         \
#function, function, #function, function \
  }
#endif
// A constant with its name.
#define TORTURE_NAMED(constant) torture::named(constant, #constant)

namespace torture {

inline constexpr int kMost = 1024;      // objects of a kind in a program
inline constexpr int kMostThreads = 4;  // programs of their own beside it

// clang-format off
struct Buf { int index; int at = 0; };  // word `at` of a buffer
struct BufByte { int index; int at; };   // its byte `at`
struct BufRef { int index; };           // the buffer's pointer
struct Layout { int index; };           // -1: contiguous
struct Comm { int index; };             // 0: MPI_COMM_WORLD
struct CommRef { int index; };
struct Type { int index; };             // -1: MPI_UNSIGNED
struct TypeRef { int index; };
struct OpIn { int index; };
struct OpRef { int index; };
struct Types { int index; };            // an array of datatypes
struct TypesRef { int index; };
struct Req { int index; };              // its address
struct ReqIn { int index; };            // the request itself
struct Handle { int index; };           // a matched message's address
struct Stat { int index; };             // its address
struct Win { int index; };
struct WinRef { int index; };
struct Grp { int index; };
struct GrpRef { int index; };
struct Info { int index; };             // -1: MPI_INFO_NULL
struct InfoRef { int index; };
struct Aints { int index; };            // the pointer to an array of addresses
struct Size { long bytes; };
struct Count { long value; };           // an MPI_Count
struct Source { int rank; };           // -1: MPI_ANY_SOURCE
struct Key { unsigned value; };
struct Text { const char* text; };
struct Longs { const std::vector<long>* list; };  // as MPI_Aint; both live as long as the step
struct Ints { const std::vector<int>* list; };
struct Counts { const std::vector<int>* list; const std::vector<MPI_Count>* large; };  // `large` for the form for those
struct Displs { const std::vector<int>* list; const std::vector<MPI_Aint>* large; };
struct LargeCounts { const std::vector<MPI_Count>* list; };
struct LargeDispls { const std::vector<MPI_Aint>* list; };
// clang-format on
/// An operand as the form for large counts takes it.
template <class T>
T as_large(T operand) {
  return operand;
}
#if MPI_VERSION >= 4
inline LargeCounts as_large(Counts list) {
  return {list.large};
}
inline LargeDispls as_large(Displs list) {
  return {list.large};
}
#endif
/// A displacement in a window: units from its begin or, in a dynamic one, bytes from the address that `target` has
/// told.
struct Disp {
  long units;
  int addresses = -1;
  int target = 0;
};
template <class T>
struct Named {
  T value;
  const char* name;
};
template <class T>
Named<T> named(T value, const char* name) {
  return {value, name};
}

template <class F, class G>
struct Counted {
  const char* name;
  F function;
  const char* large_name;
  G large;
};

class Face {
 public:
  /// `old`: calls that MPI 3.1 has only.
  Face(bool prints, bool old) : prints_(prints), old_(old) { comms_[0] = MPI_COMM_WORLD; }

  bool old() const { return old_; }

  int step = 0;  // whose calls these are

  /// A call of MPI, which has to return MPI_SUCCESS.
  template <class F, class... A>
  void call(const char* name, F function, const A&... operands) {
    if (prints_) {
      text_ << "  must(";
      print(name, operands...);
      text_ << ", " << step << ", \"" << name << "\");\n";
    } else {
      ++calls_;
      must(function(value(operands)...), step, name);
    }
  }
  template <class F, class... A>
  void call(const Named<F>& function, const A&... operands) {
    call(function.name, function.value, operands...);
  }
  template <class F, class G, class... A>
  void call(const Counted<F, G>& either, const A&... operands) {
    if (!old_ && step % 4 == 1) return call(either.large_name, either.large, as_large(operands)...);
    call(either.name, either.function, operands...);
  }
  /// A function of content.hpp.
  template <class F, class... A>
  void does(const char* name, F function, const A&... operands) {
    if (prints_) {
      text_ << "  ";
      print(name, operands...);
      text_ << ";\n";
    } else {
      function(value(operands)...);
    }
  }

  void define(Layout layout, const std::vector<int>& words) {
    layouts_[index(layout.index)] = words;
    if (prints_) text_ << "  " << at("m", layout.index) << " = " << array("int", words) << ";\n";
  }

  /// Calls `body(face, i)` in a thread for each of these communicators, each with a face of its own whose world this
  /// is; waits for all.
  template <class Body>
  void threads(const std::vector<Comm>& worlds, const Body& body) {
    std::vector<std::unique_ptr<Face>> faces;
    for (std::size_t i = 0; i < worlds.size(); ++i) {
      faces.push_back(std::make_unique<Face>(prints_, old_));
      faces[i]->comms_[0] = value(worlds[i]);
    }
    if (prints_) return print_threads(faces, worlds, body);
    std::vector<std::thread> all;
    for (std::size_t i = 0; i < worlds.size(); ++i) all.emplace_back([&, i] { body(*faces[i], i); });
    for (std::thread& one : all) one.join();
    for (const auto& face : faces) calls_ += face->calls_;
  }

  /// What has been printed since the last time.
  std::string take() {
    std::string text = text_.str();
    text_.str("");
    return text;
  }
  /// The arrays that the printed text names.
  std::string arrays() const {
    std::string all;
    for (std::size_t i = 0; i < arrays_.size(); ++i)
      all += "static " + arrays_[i].first + " a" + std::to_string(i) + arrays_[i].second + "\n";
    return all;
  }
  /// The functions of threads that it names.
  const std::string& functions() const { return functions_; }
  long calls() const { return calls_; }

 private:
  template <class Body>
  void print_threads(const std::vector<std::unique_ptr<Face>>& faces, const std::vector<Comm>& worlds,
                     const Body& body) {
    const std::size_t n = worlds.size();
    std::string ends;
    text_ << "  pthread_t threads[" << n << "];\n";
    for (std::size_t i = 0; i < n; ++i) {
      Face& own = *faces[i];
      own.first_ = kMost * static_cast<int>(i + 1);
      own.world_ = shown(worlds[i]);
      own.arrays_.swap(arrays_);
      body(own, i);
      own.arrays_.swap(arrays_);
      const std::string name = "thread" + std::to_string(functions_printed_++), at = std::to_string(i);
      functions_ += "static void* " + name + "(void* none) {\n" + own.take() + "  return none;\n}\n\n";
      text_ << "  pthread_create(&threads[" << at << "], 0, " << name << ", 0);\n";
      ends += "  pthread_join(threads[" + at + "], 0);\n";
    }
    text_ << ends;
  }

  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  int value(int i) { return i; }
  int value(Source s) { return s.rank < 0 ? MPI_ANY_SOURCE : s.rank; }
  unsigned value(Key key) { return key.value; }
  unsigned* value(Buf b) { return buffers_[index(b.index)] + b.at; }
  unsigned char* value(BufByte b) { return reinterpret_cast<unsigned char*>(buffers_[index(b.index)]) + b.at; }
  unsigned** value(BufRef b) { return &buffers_[index(b.index)]; }
  const int* value(Layout l) { return l.index < 0 ? nullptr : layouts_[index(l.index)].data(); }
  MPI_Comm value(Comm c) { return comms_[index(c.index)]; }
  MPI_Comm* value(CommRef c) { return &comms_[index(c.index)]; }
  MPI_Datatype value(Type t) { return t.index < 0 ? MPI_UNSIGNED : types_[index(t.index)]; }
  MPI_Datatype* value(TypeRef t) { return &types_[index(t.index)]; }
  MPI_Op value(OpIn o) { return ops_[index(o.index)]; }
  MPI_Op* value(OpRef o) { return &ops_[index(o.index)]; }
  MPI_Datatype* value(Types t) { return type_lists_[index(t.index)]; }
  MPI_Datatype** value(TypesRef t) { return &type_lists_[index(t.index)]; }
  MPI_Request* value(Req r) { return &requests_[index(r.index)]; }
  MPI_Request value(ReqIn r) { return requests_[index(r.index)]; }
  MPI_Message* value(Handle h) { return &messages_[index(h.index)]; }
  MPI_Status* value(Stat s) { return &statuses_[index(s.index)]; }
  MPI_Win value(Win w) { return wins_[index(w.index)]; }
  MPI_Win* value(WinRef w) { return &wins_[index(w.index)]; }
  MPI_Group value(Grp g) { return groups_[index(g.index)]; }
  MPI_Group* value(GrpRef g) { return &groups_[index(g.index)]; }
  MPI_Info value(Info i) { return i.index < 0 ? MPI_INFO_NULL : infos_[index(i.index)]; }
  MPI_Info* value(InfoRef i) { return &infos_[index(i.index)]; }
  MPI_Aint** value(Aints d) { return &addresses_[index(d.index)]; }
  MPI_Aint value(Size s) { return s.bytes; }
  MPI_Count value(Count c) { return c.value; }
  MPI_Aint value(Disp d) {
    return d.addresses < 0 ? d.units : addresses_[index(d.addresses)][index(d.target)] + d.units;
  }
  const char* value(Text t) { return t.text; }
  MPI_Aint* value(Longs list) {
    static_assert(sizeof(long) == sizeof(MPI_Aint));
    return const_cast<long*>(list.list->data());
  }
  int* value(Ints list) { return const_cast<int*>(list.list->data()); }
  const int* value(Counts list) { return list.list->data(); }
  const int* value(Displs list) { return list.list->data(); }
  const MPI_Count* value(LargeCounts list) { return list.list->data(); }
  const MPI_Aint* value(LargeDispls list) { return list.list->data(); }
  template <class T>
  T value(Named<T> n) {
    return n.value;
  }

  std::string at(const char* array, int i) const { return std::string(array) + "[" + std::to_string(first_ + i) + "]"; }
  std::string shown(int i) { return std::to_string(i); }
  std::string shown(Source s) { return s.rank < 0 ? "MPI_ANY_SOURCE" : std::to_string(s.rank); }
  std::string shown(Key key) { return std::to_string(key.value) + "u"; }
  std::string shown(Buf b) { return at("b", b.index) + (b.at != 0 ? " + " + std::to_string(b.at) : ""); }
  std::string shown(BufByte b) { return "(unsigned char*)" + at("b", b.index) + " + " + std::to_string(b.at); }
  std::string shown(BufRef b) { return "&" + at("b", b.index); }
  std::string shown(Layout l) { return l.index < 0 ? "0" : at("m", l.index); }
  std::string shown(Comm c) { return c.index == 0 ? world_ : at("c", c.index); }
  std::string shown(CommRef c) { return "&" + at("c", c.index); }
  std::string shown(Type t) { return t.index < 0 ? "MPI_UNSIGNED" : at("t", t.index); }
  std::string shown(TypeRef t) { return "&" + at("t", t.index); }
  std::string shown(OpIn o) { return at("o", o.index); }
  std::string shown(OpRef o) { return "&" + at("o", o.index); }
  std::string shown(Types t) { return at("y", t.index); }
  std::string shown(TypesRef t) { return "&" + at("y", t.index); }
  std::string shown(Req r) { return "&" + at("r", r.index); }
  std::string shown(ReqIn r) { return at("r", r.index); }
  std::string shown(Handle h) { return "&" + at("h", h.index); }
  std::string shown(Stat s) { return "&" + at("s", s.index); }
  std::string shown(Win w) { return at("w", w.index); }
  std::string shown(WinRef w) { return "&" + at("w", w.index); }
  std::string shown(Grp g) { return at("g", g.index); }
  std::string shown(GrpRef g) { return "&" + at("g", g.index); }
  std::string shown(Info i) { return i.index < 0 ? "MPI_INFO_NULL" : at("i", i.index); }
  std::string shown(InfoRef i) { return "&" + at("i", i.index); }
  std::string shown(Aints d) { return "&" + at("d", d.index); }
  std::string shown(Count c) { return std::to_string(c.value); }
  std::string shown(Size s) { return std::to_string(s.bytes); }
  std::string shown(Disp d) {
    const std::string base = d.addresses < 0 ? "" : at("d", d.addresses) + "[" + std::to_string(d.target) + "] + ";
    return base + std::to_string(d.units);
  }
  std::string shown(Text t) { return "\"" + std::string(t.text) + "\""; }
  std::string shown(Ints list) { return array("int", *list.list); }
  std::string shown(Counts list) { return array("int", *list.list); }
  std::string shown(Displs list) { return array("int", *list.list); }
  std::string shown(LargeCounts list) { return array("MPI_Count", *list.list); }
  std::string shown(LargeDispls list) { return array("MPI_Aint", *list.list); }
  std::string shown(Longs list) { return array("MPI_Aint", *list.list); }
  template <class T>
  std::string shown(Named<T> n) {
    return n.name;
  }
  /// The name of an array with these values.
  template <class T>
  std::string array(const char* type, const std::vector<T>& words) {
    std::string list;
    for (T w : words) list += (list.empty() ? "" : ", ") + std::to_string(w);
    const std::string text = std::string("[] = {") + (list.empty() ? "0" : list) + "};";
    for (std::size_t i = 0; i < arrays_.size(); ++i)
      if (arrays_[i].first == type && arrays_[i].second == text) return "a" + std::to_string(i);
    arrays_.emplace_back(type, text);
    return "a" + std::to_string(arrays_.size() - 1);
  }
  template <class... A>
  void print(const char* name, const A&... operands) {
    [[maybe_unused]] const char* comma = "";
    text_ << name << "(";
    ((text_ << comma << shown(operands), comma = ", "), ...);
    text_ << ")";
  }

  bool prints_, old_;
  long calls_ = 0;
  int first_ = 0;  // of the objects that it prints
  std::string world_ = "MPI_COMM_WORLD", functions_;
  int functions_printed_ = 0;
  std::ostringstream text_;
  std::vector<std::pair<std::string, std::string>> arrays_;  // type, and the rest of the definition
  std::array<unsigned*, kMost> buffers_{};
  std::array<std::vector<int>, kMost> layouts_;
  std::array<MPI_Comm, kMost> comms_{};
  std::array<MPI_Datatype, kMost> types_{};
  std::array<MPI_Request, kMost> requests_{};
  std::array<MPI_Message, kMost> messages_{};
  std::array<MPI_Status, kMost> statuses_{};
  std::array<MPI_Op, kMost> ops_{};
  std::array<MPI_Datatype*, kMost> type_lists_{};
  std::array<MPI_Win, kMost> wins_{};
  std::array<MPI_Group, kMost> groups_{};
  std::array<MPI_Info, kMost> infos_{};
  std::array<MPI_Aint*, kMost> addresses_{};
};

}  // namespace torture
