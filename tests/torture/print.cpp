// SPDX-License-Identifier: BSD-3-Clause
// Prints a plan as a C program that needs nothing of the generator: the functions of content.hpp that it calls, the
// arrays that it names, and each part of a step for the ranks that take part.
#include <algorithm>
#include <cctype>

#include "combine.hpp"
#include "plan.hpp"

namespace torture {
namespace {

bool names(const std::string& text, const std::string& name) {
  const auto part_of_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += name.size())
    if (at == 0 || !part_of_word(text[at - 1]))
      if (at + name.size() == text.size() || !part_of_word(text[at + name.size()])) return true;
  return false;
}

/// One line of C with a line for each statement.
std::string spread(const std::string& line) {
  std::string out;
  int parentheses = 0;
  std::size_t depth = 0;
  bool quoted = false;
  const auto new_line = [&] { out += "\n" + std::string(2 * depth, ' '); };
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"') quoted = !quoted;
    if (!quoted) parentheses += c == '(' ? 1 : c == ')' ? -1 : 0;
    const bool last = i + 1 == line.size();
    if (c == '}' && !quoted) {
      --depth;
      out.erase(out.find_last_not_of(' ') + 1);
      out += std::string(2 * depth, ' ');
    }
    out += c;
    if (quoted || parentheses > 0 || last || (c != ';' && c != '{' && c != '}')) continue;
    depth += c == '{' ? 1 : 0;
    new_line();
    if (line[i + 1] == ' ') ++i;
  }
  return out;
}

/// One definition of content.hpp, which is one line there.
struct Definition {
  std::string name, text;
  bool used = false;
};

std::vector<Definition> definitions(const std::string& all) {
  const std::string begin = "static ";
  std::vector<Definition> list;
  for (std::size_t at = 0; at < all.size();) {
    std::size_t next = all.find("} " + begin, at);
    if (list.empty()) next = all.find("; " + begin, at);  // the first is no function
    const std::size_t end = next == std::string::npos ? all.size() : next + 1;
    Definition one{"", all.substr(at, end - at)};
    const std::string head = one.text.substr(0, one.text.find_first_of("(="));
    const std::size_t last = head.find_last_not_of(' ') + 1;
    one.name = head.substr(head.find_last_of(" *", last - 1) + 1, last - head.find_last_of(" *", last - 1) - 1);
    one.text = spread(one.text);
    list.push_back(one);
    at = end + 1;
  }
  return list;
}

/// Those that the body calls, and those that these call.
std::string used_of(std::vector<Definition> list, const std::string& body) {
  std::string all;
  for (bool more = true; more;) {
    more = false;
    for (Definition& one : list) {
      const auto calls = [&](const Definition& other) { return other.used && names(other.text, one.name); };
      if (one.used || (!names(body, one.name) && std::none_of(list.begin(), list.end(), calls))) continue;
      one.used = more = true;
    }
  }
  for (const Definition& one : list)
    if (one.used) all += one.text + "\n\n";
  return all;
}

std::string arrays_of(const std::string& body, int size) {
  const std::pair<const char*, const char*> arrays[] = {
      {"unsigned*", "b"},   {"int*", "m"},       {"MPI_Comm", "c"},     {"MPI_Datatype", "t"}, {"MPI_Request", "r"},
      {"MPI_Message", "h"}, {"MPI_Status", "s"}, {"MPI_Win", "w"},      {"MPI_Group", "g"},    {"MPI_Info", "i"},
      {"MPI_Aint*", "d"},   {"MPI_Op", "o"},     {"MPI_Datatype*", "y"}};
  std::string all;
  for (const auto& [type, name] : arrays)
    if (names(body, name)) all += std::string("static ") + type + " " + name + "[" + std::to_string(size) + "];\n";
  return all;
}

}  // namespace

std::string print_c(const Plan& plan, const std::string& head) {
  Face face(true, plan.old);
  std::string body, end;
  if (plan.buffered > 0) {
    face.does(TORTURE_CALL(attach_buffer), plan.buffered);
    body = face.take();
    face.does(TORTURE_CALL(detach_buffer));
    end = face.take();
  }
  for (Event event : plan.events) {
    const Step& step = *plan.steps[static_cast<std::size_t>(event.step)];
    std::vector<std::string> texts;
    for (int r = 0; r < plan.ranks; ++r) {
      perform_part(step, event.part, face, r);
      texts.push_back(face.take());
    }
    const char* verb = event.part == 0 ? " begins: " : event.part > step.middles ? " ends: " : " goes on: ";
    body += "  /* step " + std::to_string(step.id) + verb + step.what + " */\n";
    for (std::size_t r = 0; r < texts.size(); ++r) {
      if (texts[r].empty() || std::find(texts.begin(), texts.begin() + static_cast<long>(r), texts[r]) !=
                                  texts.begin() + static_cast<long>(r))
        continue;
      std::string who;
      for (std::size_t q = r; q < texts.size(); ++q)
        if (texts[q] == texts[r]) who += (who.empty() ? "rank == " : " || rank == ") + std::to_string(q);
      body += "  if (" + who + ") {\n" + texts[r] + "  }\n";
    }
  }
  const std::string& threads = face.functions();
  body += end;
  const std::string all = content_text + std::string(" ") + content_of_tries + " " + content_of_combine + " " +
                          (plan.old ? content_below_4 : content_of_4) + " " + content_of_4_1 + " " + content_of_worlds;
  const std::string content =
      used_of(definitions(all), threads + body + (names(body, "try_spawn") ? " be_spawned" : ""));
  const char* spawns = "  setenv(\"TORTURE_PROGRAM\", argv[0], 1);\n  be_spawned();\n";
  return "/* " + head + "; " + std::to_string(plan.ranks) + " ranks */\n#include <mpi.h>\n#include <stdio.h>\n" +
         "#include <stdlib.h>\n#include <unistd.h>\n" + (threads.empty() ? "" : "#include <pthread.h>\n") + "\n" +
         content + arrays_of(threads + body, threads.empty() ? kMost : kMost * (1 + kMostThreads)) + face.arrays() +
         "\n" + threads + "int main(int argc, char** argv) {\n  int rank;\n" +
         (threads.empty() ? "  MPI_Init(&argc, &argv);\n"
                          : "  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &rank);\n") +
         "  MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n" + (names(body, "try_spawn") ? spawns : "") + body +
         "  MPI_Finalize();\n  return 0;\n}\n";
}

}  // namespace torture
