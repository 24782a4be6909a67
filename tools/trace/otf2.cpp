// SPDX-License-Identifier: BSD-3-Clause
#include "tools/trace/otf2.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "tools/trace/otf2_events.hpp"
#include "tools/trace/words.hpp"

namespace rmq::trace {
namespace {

constexpr std::uint64_t kDefinitions = 4 * 1024 * 1024;                           // bytes, as libotf2 recommends
constexpr std::uint64_t kChunk = 1024 * 1024, kSmallChunk = OTF2_CHUNK_SIZE_MIN;  // each rank has one
constexpr std::size_t kFewRanks = 64;
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

OTF2_FlushType flush_all(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) {
  return OTF2_FLUSH;
}
OTF2_TimeStamp no_time(void*, OTF2_FileType, OTF2_LocationRef) {
  return 0;
}

// The chunks of a writer. Left to itself libotf2 gives each 128 MiB before it writes anything.
struct Chunks {
  static constexpr std::size_t kMost = 2;
  std::vector<std::unique_ptr<std::byte[]>> taken;
};
void* take_chunk(void*, OTF2_FileType, OTF2_LocationRef, void** of, std::uint64_t bytes) {
  if (!*of) *of = new Chunks;
  auto& taken = static_cast<Chunks*>(*of)->taken;
  if (taken.size() == Chunks::kMost) return nullptr;  // they are to be written now
  return taken.emplace_back(std::make_unique<std::byte[]>(bytes)).get();
}
void free_chunks(void*, OTF2_FileType, OTF2_LocationRef, void** of, bool last) {
  auto* chunks = static_cast<Chunks*>(*of);
  if (chunks) chunks->taken.clear();
  if (last) delete chunks, *of = nullptr;
}

// Strings of the definitions, each written once.
class Strings {
 public:
  explicit Strings(OTF2_GlobalDefWriter* to) : to_(to) {}
  OTF2_StringRef operator()(const std::string& text) {
    const auto [at, fresh] = known_.try_emplace(text, static_cast<OTF2_StringRef>(known_.size()));
    if (fresh) OTF2_GlobalDefWriter_WriteString(to_, at->second, text.c_str());
    return at->second;
  }

 private:
  OTF2_GlobalDefWriter* to_;
  std::map<std::string, OTF2_StringRef> known_;
};

OTF2_RegionRole role_of(std::string_view call) {
  if (collective_of(call).found)
    return call == "MPI_Barrier" ? OTF2_REGION_ROLE_BARRIER : OTF2_REGION_ROLE_COLL_ALL2ALL;
  for (const std::string_view part : {"send", "Send", "recv", "Recv"}) {
    if (call.find(part) != std::string_view::npos) return OTF2_REGION_ROLE_POINT2POINT;
  }
  return call.starts_with("MPI_Win_") ? OTF2_REGION_ROLE_RMA : OTF2_REGION_ROLE_FUNCTION;
}

void write_definitions(const Reader& reader, const Otf2Events& events, OTF2_GlobalDefWriter* to) {
  Strings text(to);
  text("");
  for (unsigned n = 1; n < 256; ++n) {  // so that a kind's number is its string's
    const std::string_view name = packet_name(static_cast<Kind>(n));
    text(name == "RMQ_PKT_?" ? fmt::format("RMQ_PKT_? {}", n) : std::string(name));
  }
  OTF2_GlobalDefWriter_WriteClockProperties(to, kNsPerSecond, 0, events.last_ns(),
                                            static_cast<std::uint64_t>(reader.start_date()));
  OTF2_GlobalDefWriter_WriteAttribute(to, kKind, text("packet"), text("kind of the packet"), OTF2_TYPE_STRING);
  OTF2_GlobalDefWriter_WriteAttribute(to, kMessage, text("msg"), text("number of the message of this pair"),
                                      OTF2_TYPE_UINT32);
  OTF2_GlobalDefWriter_WriteRegion(to, kSleep, text("sleep"), text("sleep"), text("the rank sleeps on its doorbell"),
                                   OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_MPI, OTF2_REGION_FLAG_NONE, text(""), 0, 0);
  OTF2_RegionRef region = events.regions().first();
  for (const std::uint32_t call : events.regions().names()) {
    const std::string_view known = call_name(call);
    const OTF2_StringRef name = text(std::string(known));
    OTF2_GlobalDefWriter_WriteRegion(to, region++, name, name, text(""), role_of(known), OTF2_PARADIGM_MPI,
                                     OTF2_REGION_FLAG_NONE, text(""), 0, 0);
  }
  OTF2_GlobalDefWriter_WriteSystemTreeNode(to, 0, text("job"), text("machine"), OTF2_UNDEFINED_SYSTEM_TREE_NODE);
  std::set<unsigned> hosts;
  for (const Recording& r : reader.ranks()) {
    if (hosts.insert(r.host).second) {
      OTF2_GlobalDefWriter_WriteSystemTreeNode(to, r.host + 1, text(fmt::format("host {}", r.host)), text("node"), 0);
    }
  }
  std::map<int, unsigned> nodes;
  for (const Recording& r : reader.ranks()) nodes[r.rank] = r.host + 1;
  std::vector<std::uint64_t> members;
  for (const Otf2Events::Location& l : events.locations()) {
    const auto rank = static_cast<std::uint32_t>(l.rank);
    const OTF2_StringRef process = text(fmt::format("rank {}", l.rank));
    if (l.thread == 0) {
      const auto node = nodes.find(l.rank);
      OTF2_GlobalDefWriter_WriteLocationGroup(to, rank, process, OTF2_LOCATION_GROUP_TYPE_PROCESS,
                                              node == nodes.end() ? 0 : node->second, OTF2_UNDEFINED_LOCATION_GROUP);
      members.push_back(l.number);
    }
    const OTF2_StringRef name = l.thread == 0 ? process : text(fmt::format("rank {}, thread {}", l.rank, l.thread));
    OTF2_GlobalDefWriter_WriteLocation(to, l.number, name, OTF2_LOCATION_TYPE_CPU_THREAD, l.events, rank);
  }
  const auto count = static_cast<std::uint32_t>(members.size());
  OTF2_GlobalDefWriter_WriteGroup(to, 0, text("ranks"), OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
                                  OTF2_GROUP_FLAG_NONE, count, members.data());
  for (std::uint32_t i = 0; i < count; ++i) members[i] = i;
  OTF2_GlobalDefWriter_WriteGroup(to, 1, text("all"), OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                  OTF2_GROUP_FLAG_NONE, count, members.data());
  OTF2_GlobalDefWriter_WriteComm(to, kPackets, text("packets"), 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
  OTF2_CommRef comm = events.contexts().first();
  for (const std::uint32_t context : events.contexts().names()) {
    const std::string name = context == 0 ? "MPI_COMM_WORLD" : fmt::format("context {}", context);
    OTF2_GlobalDefWriter_WriteComm(to, comm++, text(name), 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
  }
  OTF2_RmaWinRef win = events.windows().first();
  for (const std::uint32_t window : events.windows().names()) {
    OTF2_GlobalDefWriter_WriteRmaWin(to, win++, text(fmt::format("window {}", window)), kPackets,
                                     OTF2_RMA_WIN_FLAG_CREATE_DESTROY_EVENTS);
  }
}

}  // namespace

Result<void> otf2(Reader& reader, const Slice& slice, const std::string& folder) {
  const std::uint64_t chunk = static_cast<std::size_t>(reader.ranks().front().size) <= kFewRanks ? kChunk : kSmallChunk;
  OTF2_Archive* archive = OTF2_Archive_Open(folder.c_str(), "rmq", OTF2_FILEMODE_WRITE, chunk, kDefinitions,
                                            OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
  if (!archive) {
    return fail(Errc::system,
                fmt::format("libotf2 cannot make an archive in {}; give a folder that is not there yet", folder));
  }
  static const OTF2_FlushCallbacks callbacks{flush_all, no_time};
  OTF2_Archive_SetFlushCallbacks(archive, &callbacks, nullptr);
  static const OTF2_MemoryCallbacks memory{take_chunk, free_chunks};
  OTF2_Archive_SetMemoryCallbacks(archive, &memory, nullptr);
  OTF2_Archive_SetSerialCollectiveCallbacks(archive);
  OTF2_Archive_SetCreator(archive, "rmqtrace");
  OTF2_Archive_OpenEvtFiles(archive);
  Otf2Events events(archive, reader.ranks());
  const auto read = reader.each(slice, [&](const Entry& e) {
    events.look(e);
    return true;
  });
  events.close();
  OTF2_Archive_CloseEvtFiles(archive);
  OTF2_Archive_OpenDefFiles(archive);
  for (const Otf2Events::Location& l : events.locations())  // readers want one for each, be it empty
    OTF2_Archive_CloseDefWriter(archive, OTF2_Archive_GetDefWriter(archive, l.number));
  OTF2_Archive_CloseDefFiles(archive);
  OTF2_GlobalDefWriter* definitions = OTF2_Archive_GetGlobalDefWriter(archive);
  write_definitions(reader, events, definitions);
  OTF2_Archive_CloseGlobalDefWriter(archive, definitions);
  if (const OTF2_ErrorCode code = OTF2_Archive_Close(archive); code != OTF2_SUCCESS) {
    return fail(Errc::system,
                fmt::format("libotf2 cannot write the archive {}: {}", folder, OTF2_Error_GetDescription(code)));
  }
  return read.map([](std::uint64_t) {});
}

}  // namespace rmq::trace
