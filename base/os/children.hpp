// SPDX-License-Identifier: BSD-3-Clause
// What a process that this one forks must not keep.
#pragma once

namespace rmq::os {

/// A child that is forked from now on and does not execute another program gets /dev/null in place of this socket.
/// Otherwise its copy would hold the connection open, and the peers would not notice when this process dies.
/// (Descriptors that close on exec are gone where the child does execute one.) The descriptor may be closed, and its
/// number used for something else, without notice. Any thread; nothing happens for numbers from 65536 on.
void keep_from_children(int socket);

}  // namespace rmq::os
