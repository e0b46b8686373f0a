# SPDX-License-Identifier: Apache-2.0
# The programs of bench/, one for each bench_*.c: built on request only
# (ninja bench_kernels).

file(GLOB bench_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/bench_*.c)
foreach(source IN LISTS bench_sources)
  get_filename_component(name ${source} NAME_WE)
  bsm_needed_layers(needed ${source})
  bsm_has_layers(has ${needed})
  if(NOT has)
    continue()
  endif()
  add_executable(${name} EXCLUDE_FROM_ALL ${source})
  bsm_link_layers(${name} ${source})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
endforeach()
