# SPDX-License-Identifier: Apache-2.0
# The examples, which the tests run, and the demo, which ./demo runs. The first
# two link the shared libraries, as a user's program would.

add_executable(example_run_engine examples/run_engine.c)
target_link_libraries(example_run_engine PRIVATE bsm_options bessemer-runtime)
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
