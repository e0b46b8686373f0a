# SPDX-License-Identifier: Apache-2.0
# One executable and one ctest entry for each tests/<layer>/*_test.c, labelled
# with its layer. Tests reach internal functions, so they link the layers, not
# the libraries. Those of tests/conformance have an entry for each target that
# they test, labelled with it too.

set(BSM_CONFORMANCE_TARGETS cpu remote)
# GPUs are tested without one: kernels are compiled for the host, and run there
# (StandIns.cmake). Each kernel takes the compiler half a second, so that of the
# programs with very many a sample is taken: one step in so many.
set(BSM_CONFORMANCE_CUDA_device_test 1)
set(BSM_CONFORMANCE_CUDA_contexts_test 1)
set(BSM_CONFORMANCE_CUDA_move_step_test 1)
set(BSM_CONFORMANCE_CUDA_rows_step_test 1)
set(BSM_CONFORMANCE_CUDA_window_step_test 1)
set(BSM_CONFORMANCE_CUDA_matrix_multiply_step_test 1)
set(BSM_CONFORMANCE_CUDA_convolution_step_test 8)
set(BSM_CONFORMANCE_CUDA_element_wise_step_test 64)
set(BSM_CONFORMANCE_CUDA_scatter_step_test 8)
set(BSM_CONFORMANCE_CUDA_select_step_test 1)
set(BSM_CONFORMANCE_CUDA_attention_step_test 12)
set(BSM_CONFORMANCE_CUDA_recurrent_step_test 1)
set(BSM_CONFORMANCE_CUDA_typed_product_step_test 1)
set(BSM_CONFORMANCE_CUDA_hostile_step_test 1)
set(BSM_CONFORMANCE_CUDA_int8_step_test 12)
set(BSM_CONFORMANCE_CUDA_fp8_step_test 8)
set(BSM_CONFORMANCE_CUDA_weight_bits_step_test 40)
# Those that are also run in half and bfloat16, on GPUs and on the CPU, and
# which part of them.
set(BSM_CONFORMANCE_NARROW_CPU_convolution_step_test 8)
set(BSM_CONFORMANCE_NARROW_CPU_matrix_multiply_step_test 1)
set(BSM_CONFORMANCE_NARROW_convolution_step_test 16)
set(BSM_CONFORMANCE_NARROW_matrix_multiply_step_test 8)
set(BSM_CONFORMANCE_NARROW_attention_step_test 16)
set(BSM_CONFORMANCE_NARROW_rows_step_test 4)
set(BSM_CONFORMANCE_NARROW_window_step_test 4)
# Into how many processes such programs are split on a GPU, and those with the
# most kernels.
set(BSM_GPU_SHARDS 8)
set(BSM_GPU_LONG_SHARDS 16)
set(BSM_GPU_LONG
    "/(element_wise|scatter|attention|convolution)_step_test|/(models|programs|exported_models|ranging_models|dynamic_shapes)_test"
)
# Programs in which a target takes no step at all.
set(BSM_CONFORMANCE_NONE_remote attention_step_test convolution_chain_step_test
    fp8_step_test int8_step_test recurrent_step_test scatter_step_test
    sample_step_test select_step_test
    typed_product_step_test)

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

# The device and target "remote", which no library has.
file(GLOB BSM_REMOTE_SOURCES CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/tests/remote/remote_*.c)
list(FILTER BSM_REMOTE_SOURCES EXCLUDE REGEX "_test\\.c$")
include(${CMAKE_CURRENT_LIST_DIR}/StandIns.cmake)

file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/tests/*_test.c)
# Engines that tests build are not noted as the user's.
set(BSM_TEST_VARIABLES "BESSEMER_BUILT_ENGINES=")

# Tests that need a GPU are of the configuration Gpu: scripts/check_gpu.sh, which
# says how many there are. Each test gets one of them.
function(bsm_add_gpu_test name)
  add_test(
    NAME gpu/${name}
    CONFIGURATIONS Gpu
    COMMAND ${CMAKE_COMMAND} -E env BSM_TEST_TARGET=cuda ${BSM_TEST_VARIABLES}
            ${PROJECT_SOURCE_DIR}/scripts/on_gpu.sh ${ARGN})
  # Compiling the kernels takes most of the time. Those that take long begin
  # first; shares of one program need the same kernels, and do better behind
  # each other.
  set(cost 0)
  if(name MATCHES "${BSM_GPU_LONG}")
    set(cost 100)
  endif()
  if(name MATCHES "/([0-9]+)$")
    math(EXPR cost
         "${cost} + 5 * (1 + ${BSM_GPU_LONG_SHARDS} - ${CMAKE_MATCH_1})")
  endif()
  set_tests_properties(
    gpu/${name} PROPERTIES LABELS gpu TIMEOUT 1800 COST ${cost} RESOURCE_GROUPS
                           "gpus:1")
endfunction()

# bsm_add_gpu_shards(NAME COMMAND... [-- ARGUMENTS...]): processes that share the
# work of a program. Each piece of it has kernels of its own, which a process
# compiles one after the other.
function(bsm_add_gpu_shards name)
  set(command ${ARGN})
  set(count ${BSM_GPU_SHARDS})
  if(name MATCHES "${BSM_GPU_LONG}")
    set(count ${BSM_GPU_LONG_SHARDS})
  endif()
  set(behind)
  list(FIND ARGN "--" at)
  if(at GREATER -1)
    list(SUBLIST ARGN 0 ${at} command)
    math(EXPR at "${at} + 1")
    list(SUBLIST ARGN ${at} -1 behind)
  endif()
  foreach(first RANGE 1 ${count})
    math(EXPR index "${first} - 1")
    bsm_add_gpu_test(${name}/${first} ${command} ${count}/${index} ${behind})
  endforeach()
endfunction()

# What takes longest begins first, so that no processor waits for it at the end.
set(BSM_LONG_TESTS
    "^conformance/cuda/|^compiler/(remote/)?(programs|run_time_results|report)_test$")

# bsm_add_c_test(NAME LABELS COMMAND...)
function(bsm_add_c_test name labels)
  add_test(NAME ${name} COMMAND ${ARGN})
  set(cost 0)
  if(name MATCHES "${BSM_LONG_TESTS}")
    set(cost 10)
  endif()
  set_tests_properties(
    ${name} PROPERTIES LABELS "${labels}" COST ${cost} TIMEOUT 600 ENVIRONMENT
                       "UBSAN_OPTIONS=print_stacktrace=1;${BSM_TEST_VARIABLES}")
endfunction()

# What opens a GPU finds the stand-ins of its libraries.
function(bsm_use_standins name)
  set_property(
    TEST ${name} APPEND
    PROPERTY ENVIRONMENT "LD_LIBRARY_PATH=${BSM_STANDIN_FOLDER}"
             "BESSEMER_NVRTC=$<TARGET_FILE:bsm_standin_nvrtc>"
             "BESSEMER_KERNEL_CACHE=" ${ARGN})
endfunction()

# Whole models, programs and shapes, that are run on the remote device too: each
# of these has a second program in which it is what is built for.
set(BSM_REMOTE_TESTS
    dynamic_shapes_test
    exported_models_test
    frozen_trace_test
    models_test
    op_suite_engine_test
    output_dims_test
    programs_test
    run_time_results_test
    draws_test
    scripted_methods_test
    shape_plans_engine_test
    structured_io_test
    plugin_models_test
    ranging_models_test
    context_shapes_test)

# Those that run on GPUs too, without one: what depends on shapes, and operators,
# of which a sample is taken.
set(BSM_CUDA_TESTS context_shapes_test dynamic_shapes_test op_suite_engine_test
    output_dims_test ranging_models_test shape_plans_engine_test)
set(BSM_CUDA_ARGUMENTS_op_suite_engine_test 8 100)

# What the sources need that the tests of a folder share, besides its own layer.
set(BSM_SHARED_NEEDS_aten quantized)
set(BSM_SHARED_NEEDS_cuda targets)

# What all files of tests are compiled with.
add_library(bsm_test_options INTERFACE)
target_link_libraries(bsm_test_options INTERFACE bsm_options ${cmocka})
target_include_directories(
  bsm_test_options INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests)
target_compile_definitions(
  bsm_test_options
  INTERFACE _GNU_SOURCE
            BSM_TEST_DATA_DIR="${PROJECT_SOURCE_DIR}/tests/data"
            BSM_STANDIN_CUDA="$<TARGET_FILE:bsm_standin_cuda>"
            BSM_STANDIN_NVRTC="$<TARGET_FILE:bsm_standin_nvrtc>"
            BSM_KERNELS_DIR="${PROJECT_SOURCE_DIR}/src/backend/cuda/kernels"
            $<$<BOOL:${BSM_HOST_CXX}>:BSM_HAS_EMULATION>)

# bsm_shared_objects(OUT SOURCES...): the object files of SOURCES, each of which
# is compiled once for all programs that have it.
function(bsm_shared_objects out)
  set(objects)
  foreach(source IN LISTS ARGN)
    get_filename_component(stem ${source} NAME_WE)
    if(NOT TARGET bsm_test_${stem})
      add_library(bsm_test_${stem} OBJECT ${source})
      target_link_libraries(bsm_test_${stem} PRIVATE bsm_test_options)
    endif()
    list(APPEND objects $<TARGET_OBJECTS:bsm_test_${stem}>)
  endforeach()
  set(${out} ${objects} PARENT_SCOPE)
endfunction()

# bsm_add_test_program(NAME SOURCE LAYER [SOURCES...]): NAME of SOURCE, of all C
# files of the layer's folder that are no tests, which its tests share, and of
# SOURCES. A program with tables of targets of its own has no others.
function(bsm_add_test_program name source layer)
  file(GLOB support CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${layer}/*.c)
  list(FILTER support EXCLUDE REGEX "_test\\.c$")
  if(ARGN)
    list(FILTER support EXCLUDE REGEX "/lazy_[a-z]+\\.c$")
    list(APPEND support ${ARGN})
    list(REMOVE_DUPLICATES support)
  endif()
  # The tables of targets are a program's own: REMOTE_FIRST says which is first.
  set(tables ${support})
  list(FILTER tables INCLUDE REGEX "/remote_tables\\.c$")
  list(FILTER support EXCLUDE REGEX "/remote_tables\\.c$")
  bsm_shared_objects(objects ${support})
  add_executable(${name} ${source} ${tables} ${objects})
  set(layers ${BSM_SHARED_NEEDS_${layer}})
  if(layer IN_LIST BSM_LAYERS)
    list(APPEND layers ${layer})
  endif()
  if(ARGN)
    list(APPEND layers targets)
  endif()
  bsm_link_layers(${name} ${source} ${layers})
  target_link_libraries(${name} PRIVATE bsm_test_options)
  add_dependencies(${name} bsm_standin_cuda bsm_standin_nvrtc)
  if(NOT TARGET test_programs_${layer})
    add_custom_target(test_programs_${layer})
  endif()
  add_dependencies(test_programs_${layer} ${name})
endfunction()

# test_programs_<layer> builds the tests of one layer, test_programs_remote
# those of the remote device.
add_custom_target(test_programs_remote)
foreach(source IN LISTS test_sources)
  get_filename_component(name ${source} NAME_WE)
  file(RELATIVE_PATH path ${PROJECT_SOURCE_DIR}/tests ${source})
  string(REGEX REPLACE "/.*" "" layer ${path})
  if(layer IN_LIST BSM_LAYERS)
    set(own ${layer})
  else()
    set(own ${BSM_SHARED_NEEDS_${layer}})
  endif()
  # A build without the compiler has the tests that need none.
  bsm_needed_layers(needed ${source} ${own})
  bsm_has_layers(has ${needed})
  if(NOT has)
    continue()
  endif()
  if(layer MATCHES "^(conformance|remote)$")
    bsm_add_test_program(${name} ${source} ${layer} ${BSM_REMOTE_SOURCES})
    add_dependencies(test_programs_remote ${name})
  else()
    bsm_add_test_program(${name} ${source} ${layer})
  endif()
  if(layer STREQUAL "conformance")
    foreach(target IN LISTS BSM_CONFORMANCE_TARGETS)
      set(none)
      if(name IN_LIST BSM_CONFORMANCE_NONE_${target})
        set(none none)
      endif()
      bsm_add_c_test(${layer}/${target}/${name} "${layer};${target}"
                     ${name} ${target} ${none})
    endforeach()
    if(DEFINED BSM_CONFORMANCE_NARROW_CPU_${name})
      foreach(dtype IN ITEMS f16 bf16)
        bsm_add_c_test(${layer}/cpu_${dtype}/${name} "${layer};cpu" ${name} cpu
                       ${BSM_CONFORMANCE_NARROW_CPU_${name}} ${dtype})
      endforeach()
    endif()
    if(DEFINED BSM_CONFORMANCE_CUDA_${name})
      if(name MATCHES "_step_test$")
        bsm_add_gpu_shards(${layer}/${name} $<TARGET_FILE:${name}> cuda)
      else()
        bsm_add_gpu_test(${layer}/${name} $<TARGET_FILE:${name}> cuda)
      endif()
    endif()
    if(DEFINED BSM_CONFORMANCE_NARROW_${name})
      foreach(dtype IN ITEMS f16 bf16)
        bsm_add_gpu_shards(${layer}_${dtype}/${name} $<TARGET_FILE:${name}>
                           cuda -- ${dtype})
      endforeach()
    endif()
    if(DEFINED BSM_CONFORMANCE_CUDA_${name} AND BSM_HOST_CXX)
      bsm_add_c_test(${layer}/cuda/${name} "${layer}_cuda" ${name} cuda
                     ${BSM_CONFORMANCE_CUDA_${name}})
      bsm_use_standins(${layer}/cuda/${name})
      if(DEFINED BSM_CONFORMANCE_NARROW_${name})
        foreach(dtype IN ITEMS f16 bf16)
          set(entry ${layer}/cuda_${dtype}/${name})
          bsm_add_c_test(${entry} "${layer}_cuda" ${name} cuda
                         ${BSM_CONFORMANCE_NARROW_${name}} ${dtype})
          # Other targets' kernels are those of models in these precisions.
          bsm_use_standins(${entry} "BSM_OTHER_TARGETS=")
        endforeach()
      endif()
    endif()
  else()
    bsm_add_c_test(${layer}/${name} ${layer} ${name})
  endif()
  if(name IN_LIST BSM_REMOTE_TESTS)
    bsm_add_test_program(remote_${name} ${source} ${layer}
                         ${BSM_REMOTE_SOURCES})
    target_compile_definitions(remote_${name} PRIVATE REMOTE_FIRST)
    add_dependencies(test_programs_remote remote_${name})
    bsm_add_c_test(${layer}/remote/${name} "${layer};remote" remote_${name})
    if(name MATCHES "^(models|op_suite_engine|programs)_test$")
      bsm_add_gpu_shards(${layer}/${name} $<TARGET_FILE:remote_${name}>)
    else()
      bsm_add_gpu_test(${layer}/${name} $<TARGET_FILE:remote_${name}>)
    endif()
    if(name IN_LIST BSM_CUDA_TESTS AND BSM_HOST_CXX)
      bsm_add_c_test(${layer}/cuda/${name} "${layer}_cuda" remote_${name}
                     ${BSM_CUDA_ARGUMENTS_${name}})
      bsm_use_standins(${layer}/cuda/${name} "BSM_TEST_TARGET=cuda")
    endif()
  endif()
endforeach()

foreach(name IN ITEMS code_forms_test cuda_int8_test cuda_op_suite_test
                      cuda_precision_test cuda_tf32_test cuda_timer_test
                      gpu_contexts_test gpu_devices_test gpu_failures_test
                      gpu_stress_test squeeze_excite_test group_norm_test
                      float_product_test cast_convolution_test
                      pooled_convolution_test)
  if(TEST cuda/${name})
    bsm_use_standins(cuda/${name})
  endif()
endforeach()

# Those that a GPU can do as well as the stand-in.
foreach(name IN ITEMS cuda_int8_test cuda_precision_test cuda_tf32_test
                      gpu_contexts_test squeeze_excite_test group_norm_test
                      float_product_test cast_convolution_test
                      pooled_convolution_test)
  if(TARGET ${name})
    bsm_add_gpu_test(cuda/${name} $<TARGET_FILE:${name}>)
  endif()
endforeach()

# Engines on a GPU for a minute, and thousands of shapes: alone, as memory is
# watched.
if(TARGET gpu_stress_test)
  bsm_add_gpu_test(cuda/gpu_stress_test $<TARGET_FILE:gpu_stress_test> 60 10000)
  set_tests_properties(gpu/cuda/gpu_stress_test PROPERTIES LABELS "gpu;stress")
endif()
# On all GPUs.
if(TARGET gpu_devices_test)
  bsm_add_gpu_test(cuda/gpu_devices_test $<TARGET_FILE:gpu_devices_test>)
  set_tests_properties(gpu/cuda/gpu_devices_test PROPERTIES RESOURCE_GROUPS "")
endif()
# Alone as well: it takes all memory of the GPU.
if(TARGET gpu_failures_test)
  bsm_add_gpu_test(cuda/gpu_failures_test $<TARGET_FILE:gpu_failures_test>)
  set_tests_properties(gpu/cuda/gpu_failures_test PROPERTIES RUN_SERIAL ON)
endif()

# Calls of all functions that the public headers declare.
if(TARGET null_arguments_test)
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/bessemer/*.h)
  set(script ${PROJECT_SOURCE_DIR}/tests/compiler/make_null_calls.awk)
  set(calls ${PROJECT_BINARY_DIR}/generated/null_calls.inl)
  add_custom_command(
    OUTPUT ${calls}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/generated
    COMMAND awk -f ${script} ${headers} > ${calls}
    DEPENDS ${script} ${headers}
    VERBATIM)
  target_sources(null_arguments_test PRIVATE ${calls})
  target_include_directories(null_arguments_test
                             PRIVATE ${PROJECT_BINARY_DIR}/generated)
  target_compile_options(null_arguments_test PRIVATE -Wno-nonnull)
endif()

# It has vectors that are wider than the machine's, inside of one file.
if(TARGET fft_test AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
  target_compile_options(fft_test PRIVATE -Wno-psabi)
endif()

# What asks the machine is replaced: tests/compiler/targets_test.c.
if(TARGET targets_test)
  foreach(function IN ITEMS bsm_isa_detect bsm_detect_caches bsm_available_cpus)
    target_link_options(targets_test PRIVATE LINKER:--wrap=${function})
  endforeach()
endif()

# One failing call at a time. The runtime of a sanitizer has to be loaded before
# a library that replaces malloc; python3 drives it.
find_program(BSM_PYTHON3 NAMES python3)
if(TARGET bessemer-cli AND BSM_PYTHON3 AND NOT BSM_SANITIZE AND NOT BSM_FUZZ)
  add_library(bsm_fault MODULE ${PROJECT_SOURCE_DIR}/tests/faults/fault.c)
  target_compile_definitions(bsm_fault PRIVATE _GNU_SOURCE)
  target_compile_options(bsm_fault PRIVATE -fvisibility=default)
  target_link_libraries(bsm_fault PRIVATE ${CMAKE_DL_LIBS})
  add_test(NAME faults/faults_test
           COMMAND ${BSM_PYTHON3} ${PROJECT_SOURCE_DIR}/tests/faults/faults_test.py
                   $<TARGET_FILE:bessemer-cli> $<TARGET_FILE:bsm_fault>
                   ${PROJECT_SOURCE_DIR}/tests/data --sample 4)
  set_tests_properties(faults/faults_test PROPERTIES LABELS faults TIMEOUT 600)
endif()

# What a terminal shows, which takes one.
if(TARGET bessemer-cli AND BSM_PYTHON3)
  add_test(NAME tools/progress_test
           COMMAND ${BSM_PYTHON3} ${PROJECT_SOURCE_DIR}/tests/tools/progress_test.py
                   $<TARGET_FILE:bessemer-cli>)
  set_tests_properties(tools/progress_test PROPERTIES LABELS tools TIMEOUT 120)
endif()

# Scripts that use the command: SCRIPT BESSEMER FOLDER_OF_THE_SOURCES, the
# static library of the runtime, and the compiler.
file(GLOB_RECURSE test_scripts CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/tests/*_test.sh)
foreach(script IN LISTS test_scripts)
  get_filename_component(name ${script} NAME_WE)
  # Sizes are those of a release build.
  if(name STREQUAL "link_list_test"
     AND (BSM_SANITIZE OR BSM_FUZZ OR NOT CMAKE_BUILD_TYPE STREQUAL "Release"))
    continue()
  endif()
  # Its programs link the shared libraries as a user's do.
  if(name STREQUAL "walkthroughs_test" AND (BSM_SANITIZE OR BSM_FUZZ))
    continue()
  endif()
  if(TARGET bessemer-cli)
    add_test(
      NAME tools/${name}
      COMMAND
        sh ${script} $<TARGET_FILE:bessemer-cli> ${PROJECT_SOURCE_DIR}
        $<TARGET_FILE:bessemer-runtime-static> ${CMAKE_C_COMPILER})
    set_tests_properties(
      tools/${name} PROPERTIES LABELS tools TIMEOUT 600 ENVIRONMENT
                               "${BSM_TEST_VARIABLES}")
  endif()
endforeach()

# The packages for other languages, where there are their compilers: once, as
# the compiler of C matters little. Their programs cannot load a library that a
# sanitizer has to be loaded before.
if(TARGET bessemer-cli
   AND CMAKE_C_COMPILER_ID STREQUAL "GNU"
   AND NOT BSM_SANITIZE
   AND NOT BSM_FUZZ)
  foreach(language IN ITEMS go rust)
    add_test(NAME bindings/${language}
             COMMAND sh ${PROJECT_SOURCE_DIR}/tests/bindings/${language}.sh
                     ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR}
                     ${CMAKE_C_COMPILER})
    set_tests_properties(
      bindings/${language} PROPERTIES LABELS bindings TIMEOUT 600
                                      SKIP_RETURN_CODE 77)
  endforeach()
endif()

# Hours of what a server does; a test for some seconds.
if(TARGET bessemer-static)
  add_executable(soak ${PROJECT_SOURCE_DIR}/tests/soak/soak.c
                      ${PROJECT_SOURCE_DIR}/tests/soak/random_model.c)
  target_compile_definitions(soak PRIVATE _GNU_SOURCE)
  target_include_directories(soak PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(soak PRIVATE bsm_options bessemer-static)
  bsm_add_c_test(soak soak soak 3)
endif()
