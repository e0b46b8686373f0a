# SPDX-License-Identifier: Apache-2.0
# One executable and one ctest entry for each tests/<layer>/*_test.c, labelled
# with its layer. Tests reach internal functions, so they link the layers, not
# the libraries. Those of tests/conformance have an entry for each target that
# they test, labelled with it too.

set(BSM_CONFORMANCE_TARGETS cpu)

find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(CMOCKA QUIET IMPORTED_TARGET cmocka)
endif()
if(TARGET PkgConfig::CMOCKA)
  set(cmocka PkgConfig::CMOCKA)
else()
  find_library(CMOCKA_LIBRARY cmocka)
  find_path(CMOCKA_INCLUDE_DIR cmocka.h)
  if(NOT CMOCKA_LIBRARY OR NOT CMOCKA_INCLUDE_DIR)
    message(FATAL_ERROR "cmocka not found: install libcmocka-dev or configure "
                        "with -DBSM_BUILD_TESTS=OFF")
  endif()
  add_library(bsm_cmocka INTERFACE)
  target_link_libraries(bsm_cmocka INTERFACE ${CMOCKA_LIBRARY})
  target_include_directories(bsm_cmocka INTERFACE ${CMOCKA_INCLUDE_DIR})
  set(cmocka bsm_cmocka)
endif()

file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/tests/*_test.c)
# bsm_add_c_test(NAME LABELS COMMAND...)
function(bsm_add_c_test name labels)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(
    ${name} PROPERTIES LABELS "${labels}" TIMEOUT 600 ENVIRONMENT
                       "UBSAN_OPTIONS=print_stacktrace=1")
endfunction()

# test_programs_<layer> builds the tests of one layer.
foreach(source IN LISTS test_sources)
  get_filename_component(name ${source} NAME_WE)
  file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR}/tests ${source})
  string(REGEX REPLACE "/.*" "" layer ${path})
  set(own)
  if(layer IN_LIST BSM_LAYERS)
    set(own ${layer})
  endif()
  # A build without the compiler has the tests that need none.
  bsm_needed_layers(needed ${source} ${own})
  bsm_has_layers(has ${needed})
  if(NOT has)
    continue()
  endif()
  # Other C files of the folder are shared by its tests.
  file(GLOB support CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${layer}/*.c)
  list(FILTER support EXCLUDE REGEX "_test\\.c$")
  add_executable(${name} ${source} ${support})
  bsm_link_layers(${name} ${source} ${own})
  target_link_libraries(${name} PRIVATE ${cmocka})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}
                                             ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(
    ${name} PRIVATE BSM_TEST_DATA_DIR="${PROJECT_SOURCE_DIR}/tests/data")
  if(layer STREQUAL "conformance")
    foreach(target IN LISTS BSM_CONFORMANCE_TARGETS)
      set(none)
      if(name IN_LIST BSM_CONFORMANCE_NONE_${target})
        set(none none)
      endif()
      bsm_add_c_test(${layer}/${target}/${name} "${layer};${target}"
                     ${name} ${target} ${none})
    endforeach()
  else()
    bsm_add_c_test(${layer}/${name} ${layer} ${name})
  endif()
  if(NOT TARGET test_programs_${layer})
    add_custom_target(test_programs_${layer})
  endif()
  add_dependencies(test_programs_${layer} ${name})
endforeach()

# What asks the machine is replaced: tests/compiler/targets_test.c.
if(TARGET targets_test)
  foreach(function IN ITEMS bsm_isa_detect bsm_detect_caches bsm_available_cpus)
    target_link_options(targets_test PRIVATE LINKER:--wrap=${function})
  endforeach()
endif()

# Scripts that use the command: SCRIPT BESSEMER FOLDER_OF_THE_SOURCES.
file(GLOB_RECURSE test_scripts CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/tests/*_test.sh)
foreach(script IN LISTS test_scripts)
  if(TARGET bessemer-cli)
    get_filename_component(name ${script} NAME_WE)
    add_test(NAME tools/${name} COMMAND sh ${script} $<TARGET_FILE:bessemer-cli>
                                        ${PROJECT_SOURCE_DIR})
    set_tests_properties(tools/${name} PROPERTIES LABELS tools TIMEOUT 600)
  endif()
endforeach()
