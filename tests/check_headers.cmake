# SPDX-License-Identifier: BSD-3-Clause
# The target check_headers compiles every header of the floors alone, so that each includes what it needs.
# A header that is not meant to stand alone ends in .def or .inc instead.

set(check_headers_sources)
foreach(floor base start methods ${RMQ_METHODS} adi rma engine mpi shmem armci tools)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
    ${PROJECT_SOURCE_DIR}/${floor}/*.hpp ${PROJECT_SOURCE_DIR}/${floor}/*.h)
  foreach(header ${headers})
    string(MAKE_C_IDENTIFIER ${header} name)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/check_headers/${name}.cpp)
    file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n" @ONLY)
    list(APPEND check_headers_sources ${source})
  endforeach()
endforeach()

add_library(check_headers OBJECT EXCLUDE_FROM_ALL ${check_headers_sources})
target_compile_options(check_headers PRIVATE -O0 -fsyntax-only)
target_link_libraries(check_headers PRIVATE rmq_options fmt::fmt tl::expected Boost::headers PkgConfig::SODIUM)
target_include_directories(check_headers PRIVATE ${PROJECT_SOURCE_DIR}/mpi/include ${PROJECT_SOURCE_DIR}/armci/include)
get_target_property(check_headers_definitions rmq_adi INTERFACE_COMPILE_DEFINITIONS)
if(check_headers_definitions)
  target_compile_definitions(check_headers PRIVATE ${check_headers_definitions})
endif()

rmq_uses_contract(check_headers)

add_test(NAME check_headers COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target check_headers)
set_tests_properties(check_headers PROPERTIES LABELS unit TIMEOUT 900 RUN_SERIAL ON)
