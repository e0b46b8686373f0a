# SPDX-License-Identifier: Apache-2.0
# One program for each fuzz/<name>_fuzz.c. With BSM_FUZZ it is a libFuzzer
# binary; otherwise it replays files. Either way ctest runs it over
# fuzz/corpus/<name>/.

add_custom_target(fuzz_programs)
file(GLOB fuzz_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/*_fuzz.c)
foreach(source IN LISTS fuzz_sources)
  get_filename_component(program ${source} NAME_WE)
  string(REGEX REPLACE "_fuzz$" "" name ${program})
  add_executable(${program} ${source})
  add_dependencies(fuzz_programs ${program})
  bsm_link_layers(${program} ${source})
  target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR})
  set(arguments ${PROJECT_SOURCE_DIR}/fuzz/corpus/${name})
  if(BSM_FUZZ)
    target_link_options(${program} PRIVATE -fsanitize=fuzzer)
    list(PREPEND arguments -runs=0)
  else()
    target_sources(${program} PRIVATE ${PROJECT_SOURCE_DIR}/fuzz/replay_main.c)
  endif()
  if(EXISTS ${PROJECT_SOURCE_DIR}/fuzz/corpus/${name})
    add_test(NAME fuzz/${name} COMMAND ${program} ${arguments})
    set_tests_properties(fuzz/${name} PROPERTIES LABELS fuzz TIMEOUT 300)
  endif()
endforeach()
