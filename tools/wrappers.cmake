# SPDX-License-Identifier: BSD-3-Clause
# The compiler wrappers rmqcc, rmqcxx and rmqfort with the aliases mpicc, mpicxx, mpic++, mpiCC, mpifort, mpif90 and
# mpif77, and for OpenSHMEM oshcc, oshcxx, oshc++ and oshCC; and what tells other build systems where RMQ is: rmq.pc
# (pkg-config) and rmq-config.cmake (find_package). Each comes twice: for the build tree, where it
# points at mpi/include and <build>/lib, and for installation, where it finds the rest from its own place.

include(CMakePackageConfigHelpers)

# rmq_way_up(<variable> <folder>): the relative path from <prefix>/<folder> to <prefix>.
function(rmq_way_up variable folder)
  file(RELATIVE_PATH up "/prefix/${folder}" "/prefix")
  string(REGEX REPLACE "/$" "" up "${up}")
  set(${variable} "${up}" PARENT_SCOPE)
endfunction()

foreach(folder BINDIR LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${folder}}")
    message(FATAL_ERROR "CMAKE_INSTALL_${folder} must be relative to the prefix: what RMQ installs can be moved")
  endif()
endforeach()

# A sanitizer of the library has to be in its programs as well; only build trees have one.
string(REGEX MATCHALL "-fsanitize=[^ ]+" rmq_sanitizers "${CMAKE_C_FLAGS}")
list(JOIN rmq_sanitizers " " RMQ_WRAPPER_SANITIZERS)

set(rmq_program_permissions
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# rmq_wrapper(<name> <language> <option> <compiler> <fallback> ENV <variable>... ALIASES <name>...)
function(rmq_wrapper RMQ_WRAPPER_NAME RMQ_WRAPPER_LANGUAGE RMQ_WRAPPER_OPTION RMQ_WRAPPER_COMPILER RMQ_WRAPPER_FALLBACK)
  cmake_parse_arguments(PARSE_ARGV 5 ARG "" "" "ENV;ALIASES")
  list(JOIN ARG_ENV ", " RMQ_WRAPPER_ENV)
  set(RMQ_WRAPPER_ENV_VALUES "")
  foreach(variable ${ARG_ENV})
    string(APPEND RMQ_WRAPPER_ENV_VALUES " \"\${${variable}-}\"")
  endforeach()
  string(STRIP "${RMQ_WRAPPER_ENV_VALUES}" RMQ_WRAPPER_ENV_VALUES)

  string(COMPARE EQUAL "${RMQ_WRAPPER_LANGUAGE}" Fortran RMQ_WRAPPER_FORTRAN)
  string(REPLACE 1 yes RMQ_WRAPPER_FORTRAN "${RMQ_WRAPPER_FORTRAN}")
  string(REPLACE 0 no RMQ_WRAPPER_FORTRAN "${RMQ_WRAPPER_FORTRAN}")
  set(build_dir ${PROJECT_BINARY_DIR}/bin)
  set(RMQ_WRAPPER_UP "..")
  set(RMQ_WRAPPER_INCLUDEDIR "${PROJECT_SOURCE_DIR}/mpi/include")
  set(RMQ_WRAPPER_SHMEMDIR "${PROJECT_SOURCE_DIR}/shmem/include")
  set(RMQ_WRAPPER_LIBDIR "\$prefix/lib")
  set(RMQ_WRAPPER_MPIFDIR "\$prefix/fortran")
  configure_file(${PROJECT_SOURCE_DIR}/tools/rmqcc.in ${build_dir}/${RMQ_WRAPPER_NAME}
    @ONLY FILE_PERMISSIONS ${rmq_program_permissions})

  set(install_dir ${PROJECT_BINARY_DIR}/wrappers)
  rmq_way_up(RMQ_WRAPPER_UP "${CMAKE_INSTALL_BINDIR}")
  set(RMQ_WRAPPER_INCLUDEDIR "\$prefix/${CMAKE_INSTALL_INCLUDEDIR}")
  set(RMQ_WRAPPER_SHMEMDIR "\$include_dir")
  set(RMQ_WRAPPER_LIBDIR "\$prefix/${CMAKE_INSTALL_LIBDIR}")
  set(RMQ_WRAPPER_MPIFDIR "\$prefix/${CMAKE_INSTALL_INCLUDEDIR}/rmq/fortran")
  configure_file(${PROJECT_SOURCE_DIR}/tools/rmqcc.in ${install_dir}/${RMQ_WRAPPER_NAME}
    @ONLY FILE_PERMISSIONS ${rmq_program_permissions})
  install(PROGRAMS ${install_dir}/${RMQ_WRAPPER_NAME} DESTINATION ${CMAKE_INSTALL_BINDIR})

  foreach(alias ${ARG_ALIASES})
    foreach(dir ${build_dir} ${install_dir})
      file(CREATE_LINK ${RMQ_WRAPPER_NAME} ${dir}/${alias} SYMBOLIC)
    endforeach()
    install(PROGRAMS ${install_dir}/${alias} DESTINATION ${CMAKE_INSTALL_BINDIR})
  endforeach()
endfunction()

# mpif.h for rmqfort: MPICH's, and the functions that it forgets. Only where MPICH's own wrapper tells where that one is.
find_program(rmq_mpich_fortran NAMES mpifort.mpich mpif90.mpich)
mark_as_advanced(rmq_mpich_fortran)
if(rmq_mpich_fortran)
  execute_process(COMMAND ${rmq_mpich_fortran} -show OUTPUT_VARIABLE rmq_mpich_shown ERROR_QUIET)
  string(REGEX MATCHALL "-I[^ \n]+" rmq_mpich_folders "${rmq_mpich_shown}")
  list(TRANSFORM rmq_mpich_folders REPLACE "^-I" "")
  find_file(RMQ_MPICH_MPIF mpif.h PATHS ${rmq_mpich_folders} NO_DEFAULT_PATH)
  mark_as_advanced(RMQ_MPICH_MPIF)
endif()
if(RMQ_MPICH_MPIF)
  file(STRINGS ${RMQ_MPICH_MPIF} rmq_has_aint REGEX "[Aa][Ii][Nn][Tt]_[Aa][Dd][Dd]")
  if(NOT rmq_has_aint)
    configure_file(${PROJECT_SOURCE_DIR}/tools/mpif.h.in ${PROJECT_BINARY_DIR}/fortran/mpif.h @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/fortran/mpif.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/rmq/fortran)
  endif()
endif()

rmq_wrapper(rmqcc C cc "${CMAKE_C_COMPILER}" cc ENV RMQ_CC MPICH_CC OMPI_CC ALIASES mpicc oshcc)
rmq_wrapper(rmqcxx C++ cxx "${CMAKE_CXX_COMPILER}" c++ ENV RMQ_CXX MPICH_CXX OMPI_CXX ALIASES mpicxx mpic++ mpiCC oshcxx oshc++ oshCC)
rmq_wrapper(rmqfort Fortran fc gfortran gfortran ENV RMQ_FC MPICH_FC OMPI_FC ALIASES mpifort mpif90 mpif77)

# pkg-config: `pkg-config --cflags --libs rmq`, or rmqshmem, or armci.
rmq_way_up(RMQ_PC_UP "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
configure_file(${PROJECT_SOURCE_DIR}/cmake/rmq.pc.in ${PROJECT_BINARY_DIR}/wrappers/rmq.pc @ONLY)
configure_file(${PROJECT_SOURCE_DIR}/cmake/rmqshmem.pc.in ${PROJECT_BINARY_DIR}/wrappers/rmqshmem.pc @ONLY)
configure_file(${PROJECT_SOURCE_DIR}/cmake/armci.pc.in ${PROJECT_BINARY_DIR}/wrappers/armci.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/wrappers/rmq.pc ${PROJECT_BINARY_DIR}/wrappers/rmqshmem.pc
  ${PROJECT_BINARY_DIR}/wrappers/armci.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# find_package(rmq): with CMAKE_PREFIX_PATH naming the prefix, or rmq_DIR naming the build tree.
set(RMQ_CONFIG_INCLUDEDIR "${PROJECT_SOURCE_DIR}/mpi/include")
set(RMQ_CONFIG_SHMEMDIR "${PROJECT_SOURCE_DIR}/shmem/include")
set(RMQ_CONFIG_LIBDIR "\${CMAKE_CURRENT_LIST_DIR}/lib")
set(RMQ_CONFIG_BINDIR "\${CMAKE_CURRENT_LIST_DIR}/bin")
configure_file(${PROJECT_SOURCE_DIR}/cmake/rmq-config.cmake.in ${PROJECT_BINARY_DIR}/rmq-config.cmake @ONLY)

rmq_way_up(rmq_config_up "${CMAKE_INSTALL_LIBDIR}/cmake/rmq")
set(RMQ_CONFIG_INCLUDEDIR "\${CMAKE_CURRENT_LIST_DIR}/${rmq_config_up}/${CMAKE_INSTALL_INCLUDEDIR}")
set(RMQ_CONFIG_SHMEMDIR "${RMQ_CONFIG_INCLUDEDIR}")
set(RMQ_CONFIG_LIBDIR "\${CMAKE_CURRENT_LIST_DIR}/${rmq_config_up}/${CMAKE_INSTALL_LIBDIR}")
set(RMQ_CONFIG_BINDIR "\${CMAKE_CURRENT_LIST_DIR}/${rmq_config_up}/${CMAKE_INSTALL_BINDIR}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/rmq-config.cmake.in ${PROJECT_BINARY_DIR}/wrappers/rmq-config.cmake @ONLY)

write_basic_package_version_file(${PROJECT_BINARY_DIR}/rmq-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/wrappers/rmq-config.cmake ${PROJECT_BINARY_DIR}/rmq-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rmq)
