# SPDX-License-Identifier: BSD-3-Clause
# For gdb: the command `rmq-queues`, which shows the message queues of the rank that gdb is attached to.
#   gdb -p PID -ex 'source rmq_gdb.py' -ex rmq-queues
# It loads the library that MPIR_dll_name names and does for it what the debugging interface of message queues asks of a
# debugger (tools/debug/msgq.hpp).
import ctypes as c

import gdb

TADDR, TWORD = c.c_ulong, c.c_long
OK = 0
QUEUES = ["sends", "receives", "unexpected"]


class Communicator(c.Structure):
    _fields_ = [("unique_id", TADDR), ("local_rank", TWORD), ("size", TWORD), ("name", c.c_char * 64)]


class Operation(c.Structure):
    _fields_ = [("status", c.c_int), ("desired_local_rank", TWORD), ("desired_global_rank", TWORD), ("tag_wild", c.c_int),
                ("desired_tag", TWORD), ("desired_length", TWORD), ("system_buffer", c.c_int), ("buffer", TADDR),
                ("actual_local_rank", TWORD), ("actual_global_rank", TWORD), ("actual_tag", TWORD), ("actual_length", TWORD),
                ("extra_text", (c.c_char * 64) * 5)]


kept = {}  # what the library asks us to keep, by the object that it is about


def address_of(name):
    # As data, whether or not there is debug information.
    return int(gdb.parse_and_eval("(unsigned long)&" + name))


def find_symbol(image, name, to):
    try:
        to[0] = address_of(name.decode())
        return OK
    except gdb.error:
        return 100


def fetch(process, address, size, to):
    try:
        c.memmove(to, gdb.selected_inferior().read_memory(address, size).tobytes(), size)
        return OK
    except gdb.MemoryError:
        return 100


libc = c.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = c.c_void_p, [c.c_size_t], [c.c_void_p]
PUT, GET = c.CFUNCTYPE(None, c.c_void_p, c.c_void_p), c.CFUNCTYPE(c.c_void_p, c.c_void_p)
INT = c.CFUNCTYPE(c.c_int, c.c_void_p)
IMAGE, PROCESS = 0x10, 0x20  # our objects: to the library they are names

put = PUT(lambda what, info: kept.__setitem__(what, info))
get = GET(lambda what: kept.get(what))
nothing = c.CFUNCTYPE(None)(lambda: None)
functions = {
    "basic": [c.CFUNCTYPE(c.c_void_p, c.c_size_t)(libc.malloc), c.CFUNCTYPE(None, c.c_void_p)(libc.free),
              c.CFUNCTYPE(None, c.c_char_p)(lambda text: print(text.decode())), nothing, put, get, put, get],
    "image": [nothing, nothing, c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_char_p, c.POINTER(TADDR))(find_symbol), nothing, nothing,
              nothing],
    "process": [INT(lambda process: -1), GET(lambda process: IMAGE),
                c.CFUNCTYPE(c.c_int, c.c_void_p, TADDR, c.c_int, c.c_void_p)(fetch),
                c.CFUNCTYPE(None, c.c_void_p, c.c_void_p, c.c_void_p, c.c_int)(lambda p, a, b, n: c.memmove(b, a, n))],
}
tables = {name: (c.c_void_p * len(list_))(*[c.cast(f, c.c_void_p) for f in list_]) for name, list_ in functions.items()}


def show(lib):
    comm, op = Communicator(), Operation()
    process = c.c_void_p(PROCESS)
    lib.mqs_update_communicator_list(process)
    state = lib.mqs_setup_communicator_iterator(process)
    while state == OK and lib.mqs_get_communicator(process, c.byref(comm)) == OK:
        print("communicator %s: rank %d of %d" % (comm.name.decode(), comm.local_rank, comm.size))
        for kind, queue in enumerate(QUEUES):
            if lib.mqs_setup_operation_iterator(process, kind) != OK:
                continue
            while lib.mqs_next_operation(process, c.byref(op)) == OK:
                who = "any" if op.desired_local_rank < 0 else "%d (world %d)" % (op.desired_local_rank, op.desired_global_rank)
                tag = "any" if op.tag_wild else op.desired_tag
                state_of = ["pending", "matched", "complete"][op.status]
                extra = "; ".join(bytes(t).split(b"\0")[0].decode() for t in op.extra_text if t[0] != b"\0")
                print("  %-10s %s  rank %s  tag %s  %d bytes at %#x%s" %
                      (queue, state_of, who, tag, op.desired_length, op.buffer, "  " + extra if extra else ""))
        state = lib.mqs_next_communicator(process)


class Queues(gdb.Command):
    """The message queues of this rank of an MPI job: sends, posted receives, unexpected messages."""

    def __init__(self):
        super().__init__("rmq-queues", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        memory = gdb.selected_inferior().read_memory(address_of("MPIR_dll_name"), 4096).tobytes()
        lib = c.CDLL(memory.split(b"\0")[0].decode())
        lib.mqs_dll_error_string.restype = c.c_char_p
        lib.mqs_setup_basic_callbacks(tables["basic"])
        image, process, message = c.c_void_p(IMAGE), c.c_void_p(PROCESS), c.c_char_p()
        for code in (lambda: lib.mqs_setup_image(image, tables["image"]),
                     lambda: lib.mqs_image_has_queues(image, c.byref(message)),
                     lambda: lib.mqs_setup_process(process, tables["process"]),
                     lambda: lib.mqs_process_has_queues(process, c.byref(message))):
            failed = code()
            if failed != OK:
                raise gdb.GdbError(lib.mqs_dll_error_string(failed).decode())
        try:
            show(lib)
        finally:
            lib.mqs_destroy_process_info(c.c_void_p(kept.pop(PROCESS)))
            lib.mqs_destroy_image_info(c.c_void_p(kept.pop(IMAGE)))


Queues()
