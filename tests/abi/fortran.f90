! SPDX-License-Identifier: BSD-3-Clause
! A Fortran program as MPICH's wrapper compiles it: MPICH's Fortran library above our C library. Attributes and
! generalised requests are what it needs beside MPI itself.
module callbacks
  use mpi
  implicit none
  integer :: copies = 0, deletions = 0, queries = 0, frees = 0
contains
  subroutine on_copy(comm, keyval, extra, value, copied, flag, ierror)
    integer :: comm, keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra, value, copied
    logical :: flag
    copies = copies + 1
    copied = value + extra
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine
  subroutine on_delete(comm, keyval, value, extra, ierror)
    integer :: comm, keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: value, extra
    deletions = deletions + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine on_query(extra, status, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    integer :: status(MPI_STATUS_SIZE), ierror
    queries = queries + 1
    call MPI_Status_set_elements(status, MPI_INTEGER, 7, ierror)
    call MPI_Status_set_cancelled(status, .false., ierror)
    status(MPI_SOURCE) = 5
    ierror = MPI_SUCCESS
  end subroutine
  subroutine on_free(extra, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    integer :: ierror
    frees = frees + 1
    ierror = MPI_SUCCESS
  end subroutine
  subroutine on_cancel(extra, complete, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra
    logical :: complete
    integer :: ierror
    ierror = MPI_SUCCESS
  end subroutine
  subroutine largest(a, b, n, type)
    integer :: n, type, a(n), b(n)
    b = max(a, b)
  end subroutine
end module

program fortran
  use callbacks
  implicit none
  integer :: ierr, rank, ranks, key, copy, request, op, mine(2), all(2), n, window, type, errors = 0
  integer :: status(MPI_STATUS_SIZE)
  integer(kind=MPI_ADDRESS_KIND) :: value, extra
  integer :: memory(4) = 0
  logical :: flag

  call MPI_Init(ierr)
  call MPI_Get_version(mine(1), mine(2), ierr)
  call expect(mine(1) == MPI_VERSION .and. mine(2) == MPI_SUBVERSION, 'the version of the modules')
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)

  call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierr)
  call expect(flag .and. value >= 32767, 'MPI_TAG_UB')

  extra = 100
  call MPI_Comm_create_keyval(on_copy, on_delete, key, extra, ierr)
  value = 17
  call MPI_Comm_set_attr(MPI_COMM_WORLD, key, value, ierr)
  call MPI_Comm_dup(MPI_COMM_WORLD, copy, ierr)
  value = 0
  call MPI_Comm_get_attr(copy, key, value, flag, ierr)
  call expect(flag .and. value == 117 .and. copies == 1, 'a copied attribute')
  call MPI_Comm_free(copy, ierr)
  call expect(deletions == 1, 'the delete function of an attribute')
  call MPI_Comm_delete_attr(MPI_COMM_WORLD, key, ierr)
  call MPI_Comm_get_attr(MPI_COMM_WORLD, key, value, flag, ierr)
  call expect(.not. flag .and. deletions == 2, 'an attribute that is gone')
  call MPI_Comm_free_keyval(key, ierr)

  call MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, key, extra, ierr)
  call MPI_Type_contiguous(3, MPI_INTEGER, type, ierr)
  value = -1
  call MPI_Type_set_attr(type, key, value, ierr)
  call MPI_Type_get_attr(type, key, value, flag, ierr)
  call expect(flag .and. value == -1, 'an attribute of a type')
  call MPI_Type_free(type, ierr)

  value = 16
  call MPI_Win_create(memory, value, 4, MPI_INFO_NULL, MPI_COMM_WORLD, window, ierr)
  call MPI_Win_get_attr(window, MPI_WIN_SIZE, value, flag, ierr)
  call expect(flag .and. value == 16, 'MPI_WIN_SIZE')
  call MPI_Win_get_attr(window, MPI_WIN_DISP_UNIT, value, flag, ierr)
  call expect(flag .and. value == 4, 'MPI_WIN_DISP_UNIT')
  call MPI_Win_fence(0, window, ierr)
  value = 1
  call MPI_Put(rank, 1, MPI_INTEGER, mod(rank + 1, ranks), value, 1, MPI_INTEGER, window, ierr)
  call MPI_Win_fence(0, window, ierr)
  call expect(memory(2) == mod(rank + ranks - 1, ranks), 'a put')
  call MPI_Win_free(window, ierr)

  call MPI_Grequest_start(on_query, on_free, on_cancel, extra, request, ierr)
  call MPI_Grequest_complete(request, ierr)
  call MPI_Wait(request, status, ierr)
  call MPI_Get_count(status, MPI_INTEGER, n, ierr)
  call expect(n == 7 .and. status(MPI_SOURCE) == 5 .and. queries == 1 .and. frees == 1, 'a generalised request')

  call MPI_Op_create(largest, .true., op, ierr)
  mine = (/ rank, -rank /)
  call MPI_Allreduce(mine, all, 2, MPI_INTEGER, op, MPI_COMM_WORLD, ierr)
  call expect(all(1) == ranks - 1 .and. all(2) == 0, 'an operation of the program')
  call MPI_Op_free(op, ierr)

  call MPI_Allreduce(MPI_IN_PLACE, errors, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call MPI_Finalize(ierr)
  if (errors /= 0) stop 1
  if (rank == 0) print '(a)', 'No Errors'
contains
  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (holds) return
    errors = errors + 1
    print '(a, i0, 2a)', 'rank ', rank, ' is wrong about ', what
  end subroutine
end program
