// SPDX-License-Identifier: BSD-3-Clause
// A program of MPI-2's C++ interface as MPICH's wrapper compiles it: MPICH's C++ library above our C library.
// Operations and error handlers are what that library has to be called back for, in its own way.
#include <mpi.h>

#include <cstdio>

namespace {

int errors = 0;
void expect(bool holds, const char* what) {
  if (holds) return;
  ++errors;
  std::printf("rank %d is wrong about %s\n", MPI::COMM_WORLD.Get_rank(), what);
}

void largest(const void* in, void* inout, int count, const MPI::Datatype& type) {
  expect(type == MPI::INT, "the datatype of an operation");
  for (int i = 0; i < count; ++i) {
    const int a = static_cast<const int*>(in)[i];
    int& b = static_cast<int*>(inout)[i];
    if (a > b) b = a;
  }
}

int calls = 0, seen = 0;
void on_comm(MPI::Comm& comm, int* code, ...) {
  ++calls;
  seen = MPI::Get_error_class(*code);
  expect(comm.Get_size() == MPI::COMM_WORLD.Get_size(), "the communicator of a handler");
}
void on_win(MPI::Win& win, int* code, ...) {
  ++calls;
  seen = MPI::Get_error_class(*code);
  int base[1];
  expect(win.Get_attr(MPI::WIN_BASE, base) || true, "the window of a handler");
}

}  // namespace

int main(int argc, char** argv) {
  MPI::Init(argc, argv);
  const int rank = MPI::COMM_WORLD.Get_rank(), size = MPI::COMM_WORLD.Get_size();

  MPI::Op op;
  op.Init(largest, true);
  const int mine[2] = {rank, -rank};
  int all[2] = {-1, -1};
  MPI::COMM_WORLD.Allreduce(mine, all, 2, MPI::INT, op);
  expect(all[0] == size - 1 && all[1] == 0, "an operation of the program");
  op.Free();

  MPI::Intracomm comm = MPI::COMM_WORLD.Dup();
  MPI::Errhandler handler = MPI::Comm::Create_errhandler(on_comm);
  comm.Set_errhandler(handler);
  comm.Send(mine, 1, MPI::INT, size + 7, 0);
  expect(calls == 1 && seen == MPI::ERR_RANK, "a handler of a communicator");
  handler.Free();
  comm.Set_errhandler(MPI::ERRORS_THROW_EXCEPTIONS);
  int thrown = 0;
  try {
    comm.Send(mine, 1, MPI::INT, size + 7, 0);
  } catch (MPI::Exception& e) {
    thrown = e.Get_error_class();
  }
  expect(thrown == MPI::ERR_RANK && comm.Get_errhandler() == MPI::ERRORS_THROW_EXCEPTIONS, "an exception");
  comm.Free();

  int memory[4] = {};
  MPI::Win win = MPI::Win::Create(memory, sizeof memory, sizeof(int), MPI::INFO_NULL, MPI::COMM_WORLD);
  MPI::Errhandler of_windows = MPI::Win::Create_errhandler(on_win);
  win.Set_errhandler(of_windows);
  of_windows.Free();
  win.Fence(0);
  win.Put(mine, 1, MPI::INT, size + 7, 0, 1, MPI::INT);
  win.Fence(0);
  expect(calls == 2 && seen == MPI::ERR_RANK, "a handler of a window");
  win.Free();

  MPI::Finalize();
  if (errors) return 1;
  if (rank == 0) std::puts("No Errors");
  return 0;
}
