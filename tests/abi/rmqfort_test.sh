#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# mpif90 and its kin compile a Fortran program that runs on our library, under rmqrun and alone, and that never loads
# MPICH's C library; without MPICH's modules they name the package.
#   rmqfort_test.sh <bin folder> <fortran.f90>        Exits with 77 where MPICH's Fortran modules or gfortran are missing.
set -u
bin=$1 source=$2
die() { echo "rmqfort_test: $1" >&2; exit 1; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

mkdir few
for tool in sh readlink dirname sed; do ln -s "$(command -v $tool)" few/$tool; done
said=$(PATH=$dir/few RMQ_MPIFORT_MPICH='' "$bin/mpif90" -c x.f90 2>&1) && die "it must fail without MPICH's modules: $said"
case $said in *libmpich-dev*) ;; *) die "the package is not named: $said" ;; esac

command -v gfortran >/dev/null && command -v mpif90.mpich >/dev/null || exit 77
for name in mpifort mpif90 mpif77; do
  "$bin/$name" -show x.f90 | grep -q -- '-lmpichfort.*-lrmqmpi' || die "$name -show: $("$bin/$name" -show x.f90)"
done
"$bin/mpif90" -w -c -J "$dir" "$source" -o program.o || die "does not compile"
"$bin/mpif90" program.o -o program || die "does not link"
[ "$("$bin/rmqrun" -n 2 ./program)" = "No Errors" ] || die "under rmqrun"
[ "$(env -u LD_LIBRARY_PATH ./program)" = "No Errors" ] || die "alone"
cat >old.f <<'EOF'
      program old
      implicit none
      include 'mpif.h'
      integer ierr
      integer (kind=MPI_ADDRESS_KIND) a, b
      call MPI_Init(ierr)
      a = 4096
      b = MPI_Aint_add(a, a)
      if (MPI_Aint_diff(b, a) .eq. a) print '(a)', 'No Errors'
      call MPI_Finalize(ierr)
      end
EOF
"$bin/mpif77" old.f -o old || die "mpif.h does not declare all functions"
[ "$("$bin/rmqrun" -n 1 ./old)" = "No Errors" ] || die "a program with mpif.h"
ldd ./program | grep 'libmpich\.so' | grep -vq rmq/mpich-abi && die "it loads MPICH's C library: $(ldd ./program)"
exit 0
