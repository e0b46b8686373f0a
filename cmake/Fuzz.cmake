# SPDX-License-Identifier: Apache-2.0
# One program for each fuzz/<name>_fuzz.c. With BSM_FUZZ it is a libFuzzer
# binary; otherwise it replays files. Either way ctest runs it over its seeds,
# which it has to accept (fuzz/seed.h): those in fuzz/corpus/<name>/, and those
# that the build makes in fuzz_seeds/<name>/; and over fuzz/findings/<name>/,
# files that it may refuse.

# Engines in the format that this build writes.
if(TARGET bessemer-cli)
  set(seeds ${PROJECT_BINARY_DIR}/fuzz_seeds)
  file(GLOB models CONFIGURE_DEPENDS
       ${PROJECT_SOURCE_DIR}/tests/data/fuzz_engines/*.ir)
  add_custom_command(
    OUTPUT ${seeds}/engine.made
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${seeds}/engine
    COMMAND ${PROJECT_SOURCE_DIR}/fuzz/make_engine_seeds.sh
            $<TARGET_FILE:bessemer-cli> ${seeds}/engine
    COMMAND ${CMAKE_COMMAND} -E touch ${seeds}/engine.made
    DEPENDS bessemer-cli ${models}
            ${PROJECT_SOURCE_DIR}/fuzz/make_engine_seeds.sh
    VERBATIM)
  add_custom_target(fuzz_seeds ALL DEPENDS ${seeds}/engine.made)
endif()

# The test `test` that runs `program` over the files of `folder`.
# libFuzzer is given the files: with a folder it begins with an empty input, which
# is no seed.
function(bsm_add_fuzz_test test program folder)
  if(BSM_FUZZ)
    add_test(NAME ${test}
             COMMAND sh -c "exec \"$0\" -rss_limit_mb=2048 \"$1\"/*"
                     $<TARGET_FILE:${program}> ${folder})
  else()
    add_test(NAME ${test} COMMAND ${program} ${folder})
  endif()
  set_tests_properties(${test} PROPERTIES LABELS fuzz TIMEOUT 300)
endfunction()

# What all targets share: what becomes of an input, and the mutators.
file(GLOB mutator_sources CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/fuzz/mutators/*.c)
set(shared_sources ${PROJECT_SOURCE_DIR}/fuzz/seed.c ${mutator_sources})
if(NOT BSM_FUZZ)
  list(APPEND shared_sources ${PROJECT_SOURCE_DIR}/fuzz/replay_main.c
       ${PROJECT_SOURCE_DIR}/fuzz/replay_mutate.c)
endif()
if(TARGET ZLIB::ZLIB)
  add_library(bsm_fuzz STATIC ${shared_sources})
  target_include_directories(bsm_fuzz PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_definitions(bsm_fuzz PRIVATE _GNU_SOURCE)
  target_link_libraries(bsm_fuzz PUBLIC bsm_options ZLIB::ZLIB)
endif()

# What libFuzzer's programs have besides: the mutator, which libFuzzer takes where
# it is there, so that no archive would give it; and what makes runs alike.
set(BSM_FUZZ_WRAPPED getrandom bsm_isa_detect bsm_detect_caches
    bsm_available_cpus)
list(TRANSFORM BSM_FUZZ_WRAPPED PREPEND LINKER:--wrap=)
if(BSM_FUZZ)
  add_library(bsm_fuzz_always OBJECT
              ${PROJECT_SOURCE_DIR}/fuzz/mutators/mutator.c
              ${PROJECT_SOURCE_DIR}/fuzz/repeat.c)
  target_include_directories(bsm_fuzz_always PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(bsm_fuzz_always PRIVATE _GNU_SOURCE)
  target_link_libraries(bsm_fuzz_always PRIVATE bsm_options)
endif()

# How many inputs the mutator of a target makes of each of its seeds in the test
# fuzz/<name>/mutated, and how many of 100 have to be accepted: about half of
# what was measured, and more than of those where one byte was changed.
set(BSM_FUZZ_MUTATED
    calibration=40,30 compile=5,8 engine=20,28 exported=10,25 input_spec=40,20
    ir_text=40,20 json=40,35 module=40,18 npy=40,8 pickle=40,20 schema=40,45
    script=10,28 symbolic=40,32 timing_cache=40,20 zip=40,40)

# The test of the mutator of `name`, in programs that replay.
function(bsm_add_mutation_test name program folder)
  set(how ${BSM_FUZZ_MUTATED})
  list(FILTER how INCLUDE REGEX "^${name}=")
  if(BSM_FUZZ OR NOT how)
    return()
  endif()
  string(REGEX REPLACE "^.*=" "" how ${how})
  add_test(NAME fuzz/${name}/mutated COMMAND ${program} --mutate=${how} ${folder})
  set_tests_properties(fuzz/${name}/mutated PROPERTIES LABELS fuzz TIMEOUT 300)
endfunction()

add_custom_target(fuzz_programs)
file(GLOB fuzz_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/*_fuzz.c)
foreach(source IN LISTS fuzz_sources)
  get_filename_component(program ${source} NAME_WE)
  string(REGEX REPLACE "_fuzz$" "" name ${program})
  bsm_needed_layers(needed ${source})
  bsm_has_layers(has ${needed})
  if(NOT has)
    continue()
  endif()
  add_executable(${program} ${source})
  add_dependencies(fuzz_programs ${program})
  # The mutators call each other, the target and the layers.
  target_link_libraries(${program} PRIVATE bsm_fuzz)
  bsm_link_layers(${program} ${source})
  if(BSM_FUZZ)
    target_sources(${program} PRIVATE $<TARGET_OBJECTS:bsm_fuzz_always>)
    target_link_options(${program} PRIVATE -fsanitize=fuzzer
                        ${BSM_FUZZ_WRAPPED})
  endif()
  foreach(kind IN ITEMS corpus findings)
    set(folder ${PROJECT_SOURCE_DIR}/fuzz/${kind}/${name})
    set(test fuzz/${name})
    if(kind STREQUAL "findings")
      string(APPEND test /findings)
    endif()
    if(EXISTS ${folder})
      bsm_add_fuzz_test(${test} ${program} ${folder})
      if(kind STREQUAL "corpus")
        bsm_add_mutation_test(${name} ${program} ${folder})
        set_property(TEST ${test} PROPERTY ENVIRONMENT BSM_FUZZ_SEEDS=1)
      endif()
    endif()
  endforeach()
endforeach()

if(TARGET fuzz_seeds)
  add_dependencies(fuzz_programs fuzz_seeds)
  bsm_add_fuzz_test(fuzz/engine engine_fuzz ${seeds}/engine)
  bsm_add_mutation_test(engine engine_fuzz ${seeds}/engine)
  set_property(TEST fuzz/engine PROPERTY ENVIRONMENT BSM_FUZZ_SEEDS=1)
endif()
