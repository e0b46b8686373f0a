# SPDX-License-Identifier: Apache-2.0
# The examples, which the tests run, and the demo, which ./demo runs. The first
# two link the shared libraries, as a user's program would.

add_executable(example_run_engine examples/run_engine.c)
target_link_libraries(example_run_engine PRIVATE bsm_options bessemer-runtime)

# C++ is no language of the project: what is written in it is compiled beside
# it, by what the machine has.
find_program(BSM_CXX NAMES c++ g++ clang++)
function(bsm_add_cpp_program name source library)
  set(program ${PROJECT_BINARY_DIR}/${name})
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/bessemer/*)
  add_custom_command(
    OUTPUT ${program}
    COMMAND
      ${BSM_CXX} -std=c++17 -O1 -Wall -Wextra -Wpedantic -Wshadow -Wconversion
      -Werror -I${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/${source}
      $<TARGET_FILE:${library}> -Wl,-rpath,$<TARGET_FILE_DIR:${library}>
      -Wl,-rpath-link,$<TARGET_FILE_DIR:${library}> -o ${program}
    DEPENDS ${PROJECT_SOURCE_DIR}/${source} ${headers} ${library}
    VERBATIM)
  add_custom_target(${name}-program ALL DEPENDS ${program})
endfunction()
if(BSM_CXX AND NOT BSM_SANITIZE AND NOT BSM_FUZZ AND NOT CMAKE_CROSSCOMPILING)
  bsm_add_cpp_program(example_run_engine_cpp examples/run_engine.cpp
                      bessemer-runtime)
endif()

if(NOT BSM_BUILD_TOOLS)
  return()
endif()
add_executable(example_compile_and_run examples/compile_and_run.c)
target_link_libraries(example_compile_and_run PRIVATE bsm_options bessemer)

if(EXISTS ${PROJECT_SOURCE_DIR}/examples/digits/digits.c)
  add_executable(digits examples/digits/digits.c)
  target_link_libraries(digits PRIVATE bsm_tools bessemer-static)
endif()

# A plug-in is a module that leaves the functions it calls to the program.
add_library(example_swish_clamp MODULE examples/plugin/swish_clamp.c)
set_target_properties(example_swish_clamp PROPERTIES PREFIX "" OUTPUT_NAME
                                                               swish_clamp)
target_link_libraries(example_swish_clamp PRIVATE bsm_options m)

if(BSM_BUILD_TESTS)
  set(engine ${PROJECT_BINARY_DIR}/example.bsm)
  add_test(
    NAME examples/compile_and_run
    COMMAND example_compile_and_run
            ${PROJECT_SOURCE_DIR}/examples/digits/digits.ts ${engine})
  add_test(NAME examples/run_engine COMMAND example_run_engine ${engine})
  if(TARGET example_run_engine_cpp-program)
    add_test(NAME examples/run_engine_cpp
             COMMAND ${PROJECT_BINARY_DIR}/example_run_engine_cpp ${engine})
    set_tests_properties(
      examples/run_engine_cpp
      PROPERTIES FIXTURES_REQUIRED example_engine LABELS examples TIMEOUT 300)
    bsm_add_cpp_program(cpp_test tests/cpp/cpp_test.cpp bessemer)
    add_test(NAME cpp/cpp_test COMMAND ${PROJECT_BINARY_DIR}/cpp_test
                                       ${PROJECT_SOURCE_DIR})
    set_tests_properties(cpp/cpp_test PROPERTIES LABELS cpp TIMEOUT 120)
  endif()
  add_test(
    NAME examples/digits
    COMMAND digits ${PROJECT_SOURCE_DIR}/examples/digits
            ${PROJECT_BINARY_DIR}/demo.bsm)
  set_tests_properties(examples/compile_and_run PROPERTIES FIXTURES_SETUP
                                                           example_engine)
  set_tests_properties(examples/run_engine PROPERTIES FIXTURES_REQUIRED
                                                      example_engine)
  set_tests_properties(
    examples/compile_and_run examples/run_engine examples/digits
    PROPERTIES LABELS examples TIMEOUT 300)
endif()
