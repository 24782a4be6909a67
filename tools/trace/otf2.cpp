#include "tools/trace/otf2.hpp"

#include <fmt/format.h>
#include <otf2/otf2.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace rmq::trace {
namespace {

constexpr std::uint64_t kChunk = 1024 * 1024, kDefinitions = 4 * 1024 * 1024;  // bytes, as libotf2 recommends
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
constexpr OTF2_CommRef kComm = 0;
constexpr OTF2_RegionRef kSleep = 0;
constexpr OTF2_AttributeRef kKind = 0, kMessage = 1;

OTF2_FlushType flush_all(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) {
  return OTF2_FLUSH;
}
OTF2_TimeStamp no_time(void*, OTF2_FileType, OTF2_LocationRef) {
  return 0;
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

// The events of a rank; how many there were.
std::uint64_t write_events(const Trace& trace, int rank, OTF2_EvtWriter* to) {
  OTF2_AttributeList* attributes = OTF2_AttributeList_New();
  std::uint64_t written = 0;
  for (const Entry& e : trace.entries) {
    if (e.rank != rank) continue;
    const auto ns = static_cast<OTF2_TimeStamp>(e.ns);
    const Packet p = e.packet();
    const auto peer = static_cast<std::uint32_t>(e.record.peer);
    const auto kind = static_cast<std::uint32_t>(p.kind);
    switch (e.record.event) {
      case Event::sleep:
        OTF2_EvtWriter_Enter(to, nullptr, ns, kSleep);
        break;
      case Event::wake:
        OTF2_EvtWriter_Leave(to, nullptr, ns, kSleep);
        break;
      case Event::packet_sent:
      case Event::packet_received:
        OTF2_AttributeList_AddStringRef(attributes, kKind, kind);  // strings 1 to 255 name the kinds
        OTF2_AttributeList_AddUint32(attributes, kMessage, p.msg);
        if (e.record.event == Event::packet_sent)
          OTF2_EvtWriter_MpiSend(to, attributes, ns, peer, kComm, kind, p.length);
        else
          OTF2_EvtWriter_MpiRecv(to, attributes, ns, peer, kComm, kind, p.length);
        break;
      default:
        continue;
    }
    ++written;
  }
  OTF2_AttributeList_Delete(attributes);
  return written;
}

void write_definitions(const Trace& trace, const std::map<int, std::uint64_t>& events, OTF2_GlobalDefWriter* to) {
  Strings text(to);
  text("");
  for (unsigned n = 1; n < 256; ++n) {  // so that a kind's number is its string's
    const std::string_view name = packet_name(static_cast<Kind>(n));
    text(name == "RMQ_PKT_?" ? fmt::format("RMQ_PKT_? {}", n) : std::string(name));
  }
  const auto length = static_cast<std::uint64_t>(trace.entries.empty() ? 0 : trace.entries.back().ns);
  OTF2_GlobalDefWriter_WriteClockProperties(to, kNsPerSecond, 0, length, static_cast<std::uint64_t>(trace.start_ns));
  OTF2_GlobalDefWriter_WriteAttribute(to, kKind, text("packet"), text("kind of the packet"), OTF2_TYPE_STRING);
  OTF2_GlobalDefWriter_WriteAttribute(to, kMessage, text("msg"), text("number of the message of this pair"),
                                      OTF2_TYPE_UINT32);
  OTF2_GlobalDefWriter_WriteRegion(to, kSleep, text("sleep"), text("sleep"), text("the rank sleeps on its doorbell"),
                                   OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_MPI, OTF2_REGION_FLAG_NONE, text(""), 0, 0);
  OTF2_GlobalDefWriter_WriteSystemTreeNode(to, 0, text("job"), text("machine"), OTF2_UNDEFINED_SYSTEM_TREE_NODE);
  std::set<unsigned> hosts;
  for (const Recording& r : trace.ranks) {
    if (hosts.insert(r.host).second) {
      OTF2_GlobalDefWriter_WriteSystemTreeNode(to, r.host + 1, text(fmt::format("host {}", r.host)), text("node"), 0);
    }
  }
  std::vector<std::uint64_t> members;
  for (const Recording& r : trace.ranks) {
    const auto rank = static_cast<std::uint32_t>(r.rank);
    const OTF2_StringRef name = text(fmt::format("rank {}", r.rank));
    OTF2_GlobalDefWriter_WriteLocationGroup(to, rank, name, OTF2_LOCATION_GROUP_TYPE_PROCESS, r.host + 1,
                                            OTF2_UNDEFINED_LOCATION_GROUP);
    OTF2_GlobalDefWriter_WriteLocation(to, rank, name, OTF2_LOCATION_TYPE_CPU_THREAD, events.at(r.rank), rank);
    members.push_back(rank);
  }
  const auto count = static_cast<std::uint32_t>(members.size());
  OTF2_GlobalDefWriter_WriteGroup(to, 0, text("ranks"), OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
                                  OTF2_GROUP_FLAG_NONE, count, members.data());
  for (std::uint32_t i = 0; i < count; ++i) members[i] = i;
  OTF2_GlobalDefWriter_WriteGroup(to, 1, text("all"), OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                  OTF2_GROUP_FLAG_NONE, count, members.data());
  OTF2_GlobalDefWriter_WriteComm(to, kComm, text("packets"), 1, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
}

}  // namespace

Result<void> otf2(const Trace& trace, const std::string& folder) {
  OTF2_Archive* archive = OTF2_Archive_Open(folder.c_str(), "rmq", OTF2_FILEMODE_WRITE, kChunk, kDefinitions,
                                            OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
  if (!archive) {
    return fail(Errc::system,
                fmt::format("libotf2 cannot make an archive in {}; give a folder that is not there yet", folder));
  }
  static const OTF2_FlushCallbacks callbacks{flush_all, no_time};
  OTF2_Archive_SetFlushCallbacks(archive, &callbacks, nullptr);
  OTF2_Archive_SetSerialCollectiveCallbacks(archive);
  OTF2_Archive_SetCreator(archive, "rmqtrace");
  std::map<int, std::uint64_t> events;
  OTF2_Archive_OpenEvtFiles(archive);
  for (const Recording& r : trace.ranks) {
    OTF2_EvtWriter* to = OTF2_Archive_GetEvtWriter(archive, static_cast<std::uint64_t>(r.rank));
    events[r.rank] = write_events(trace, r.rank, to);
    OTF2_Archive_CloseEvtWriter(archive, to);
  }
  OTF2_Archive_CloseEvtFiles(archive);
  OTF2_Archive_OpenDefFiles(archive);
  for (const Recording& r : trace.ranks) {  // readers want one for each location, be it empty
    OTF2_Archive_CloseDefWriter(archive, OTF2_Archive_GetDefWriter(archive, static_cast<std::uint64_t>(r.rank)));
  }
  OTF2_Archive_CloseDefFiles(archive);
  OTF2_GlobalDefWriter* definitions = OTF2_Archive_GetGlobalDefWriter(archive);
  write_definitions(trace, events, definitions);
  OTF2_Archive_CloseGlobalDefWriter(archive, definitions);
  if (const OTF2_ErrorCode code = OTF2_Archive_Close(archive); code != OTF2_SUCCESS) {
    return fail(Errc::system,
                fmt::format("libotf2 cannot write the archive {}: {}", folder, OTF2_Error_GetDescription(code)));
  }
  return {};
}

}  // namespace rmq::trace
