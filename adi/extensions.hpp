// SPDX-License-Identifier: BSD-3-Clause
// Packets of the floors above the device: they are handed up to the extension that has registered for them. It sends
// its own by Core::send_packet, in order for each peer.
//
// Such packets spend no credit: whatever arrives is executed at once, or bounded by its own protocol.
#pragma once

#include <array>
#include <vector>

#include "adi/extension.hpp"
#include "adi/memory.hpp"

namespace rmq::adi {

class Extensions : public Memory {
 public:
  /// Packets of these kinds go to `extension` from now on; it must live until unregister_extension or the device's end.
  /// It may have several ranges.
  void register_extension(Kind first, Kind last, Extension& extension);
  void unregister_extension(Extension& extension);

 protected:
  Extensions(DeviceOptions& options, Bootstrap& bootstrap);

  const std::vector<Extension*>& extensions() const { return extensions_; }
  void set_wants_turns(bool want) { wants_turns_ = want; }
  /// A turn for each of them, where any wants one; how many things happened.
  int advance_extensions() {
    if (!wants_turns_) [[likely]]
      return 0;
    return advance_all();
  }

 private:
  int advance_all();
  static void on_extension(void* device, Rank from, const Packet& p, const std::byte* payload);
  static methods::Landing on_arriving(void* device, Rank from, const Packet& p);
  static void on_landed(void* device, Rank from, const Packet& p, const methods::Landing& landing, Errc error);
  Extension* extension_of(Kind kind) const { return extension_of_[static_cast<std::size_t>(kind)]; }

  bool wants_turns_ = false;
  std::vector<Extension*> extensions_;
  std::array<Extension*, 256> extension_of_{};  // by kind
};

}  // namespace rmq::adi
