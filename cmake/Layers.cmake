# SPDX-License-Identifier: Apache-2.0
# One static library for each layer of src/, named bsm_<layer>: the two
# libraries, the tests and the fuzz targets are made of them.

# In the order of the dependencies. scripts/check_layers.py enforces what a
# layer may include; BSM_NEEDS_<layer> is what linking it takes.
set(BSM_RUNTIME_LAYERS
    base
    aten
    plugin
    engine
    backend_cpu
    ir
    network
    conversion
    builder
    targets
    planner
    runtime)
set(BSM_COMPILER_LAYERS torchscript exported lowering partitioning compiler)
set(BSM_LAYERS ${BSM_RUNTIME_LAYERS} ${BSM_COMPILER_LAYERS})

set(BSM_NEEDS_base)
set(BSM_NEEDS_aten base)
set(BSM_NEEDS_plugin base aten)
set(BSM_NEEDS_engine base aten)
set(BSM_NEEDS_backend_cpu base aten engine)
set(BSM_NEEDS_runtime ${BSM_RUNTIME_LAYERS})
set(BSM_NEEDS_ir base aten)
set(BSM_NEEDS_torchscript base aten ir)
set(BSM_NEEDS_exported base aten ir torchscript)
set(BSM_NEEDS_lowering base aten ir)
set(BSM_NEEDS_network base aten plugin)
set(BSM_NEEDS_conversion base aten plugin ir network)
set(BSM_NEEDS_partitioning base aten plugin ir network conversion)
set(BSM_NEEDS_builder base aten plugin engine network)
set(BSM_NEEDS_targets ${BSM_NEEDS_builder} backend_cpu builder)
set(BSM_NEEDS_planner ${BSM_NEEDS_targets} ir conversion targets)
set(BSM_NEEDS_compiler ${BSM_LAYERS})

set(BSM_X86 FALSE)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64|i[3-6]86)$")
  set(BSM_X86 TRUE)
endif()

set(BSM_FLAGS_avx2 -mavx2 -mfma -mf16c)
set(BSM_FLAGS_avx512
    -mavx512f
    -mavx512dq
    -mavx512bw
    -mavx512vl
    -mfma
    -mf16c
    -mprefer-vector-width=512)
set(BSM_FLAGS_avx512_vnni ${BSM_FLAGS_avx512} -mavx512vnni)

# The instruction set of a kernel file is the end of its name; only these files
# may use instructions that the machine may lack. Kernels are compiled for
# speed in every build type: debug builds would otherwise spend all their time
# in them. They contract nothing by themselves (fused multiply-adds are written
# out), so that a scalar tail rounds as its author says under every compiler.
function(bsm_set_kernel_flags)
  foreach(source IN LISTS ARGN)
    if(NOT source MATCHES "/backend/cpu/kernels/")
      continue()
    endif()
    set(flags -O3 -ffp-contract=off)
    if(BSM_FUZZ)
      # Fuzzing is about parsers; instrumented kernels take minutes to compile.
      # The sanitizer builds run them.
      list(APPEND flags -fno-sanitize=all)
    elseif(BSM_SANITIZE)
      set(flags -O2 -ffp-contract=off)
    elseif(source MATCHES "/recurrent_f32_scalar\\.c$")
      # Twelve times smaller than unrolled, and faster.
      set(flags -O2 -ffp-contract=off -DBSM_K_ROLLED)
    endif()
    if(source MATCHES "_(avx2|avx512|avx512_vnni)\\.c$")
      list(APPEND flags ${BSM_FLAGS_${CMAKE_MATCH_1}})
    endif()
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS ${flags})
  endforeach()
endfunction()

# Families of the reference library without loops over many elements, or that
# models seldom leave to it: half of the library's code, compiled for size.
set(BSM_SMALL_FAMILIES
    attribute
    complex
    complex_number
    container
    distance
    exported
    fake_quantize
    fft
    fused_attention
    gradient
    grouped_mm
    layers
    linalg
    linalg_spectral
    loss
    loss_margin
    number
    packed_sequence
    products
    quantized
    quantized_decomposed
    random
    segment
    shape
    special
    statistics
    stft
    text
    unpool
    view
    vision)

function(bsm_set_family_flags)
  foreach(family IN LISTS BSM_SMALL_FAMILIES)
    set_property(
      SOURCE ${PROJECT_SOURCE_DIR}/src/aten/ops/aten_${family}.c APPEND
      PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-Os>)
  endforeach()
endfunction()
bsm_set_family_flags()

# A layer may still be empty: it then has no target and is not linked.
function(bsm_add_layer layer)
  set(folder ${layer})
  if(layer STREQUAL "backend_cpu")
    set(folder backend) # the interface and the one backend there is
  endif()
  if(layer STREQUAL "targets")
    set(folder backend) # what builds for the backends
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS
       ${PROJECT_SOURCE_DIR}/src/${folder}/*.c)
  # Of a backend, what plans run on and what they are built for are two layers.
  if(layer STREQUAL "targets")
    list(FILTER sources INCLUDE REGEX "src/backend/([a-z]+/target/|targets\\.c$)")
  elseif(folder STREQUAL "backend")
    list(FILTER sources EXCLUDE REGEX "src/backend/([a-z]+/target/|targets\\.c$)")
  endif()
  if(NOT BSM_X86)
    list(FILTER sources EXCLUDE REGEX "_(avx2|avx512|avx512_vnni)\\.c$")
  endif()
  if(NOT sources)
    return()
  endif()
  bsm_set_kernel_flags(${sources})
  add_library(bsm_${layer} STATIC ${sources})
  target_link_libraries(bsm_${layer} PUBLIC bsm_options)
endfunction()

foreach(layer IN LISTS BSM_LAYERS)
  bsm_add_layer(${layer})
endforeach()
# What is beyond the C library and POSIX is wrapped by base.
target_compile_definitions(bsm_base PRIVATE _GNU_SOURCE)
set_property(
  SOURCE ${PROJECT_SOURCE_DIR}/src/runtime/engine/engine.c APPEND
  PROPERTY COMPILE_DEFINITIONS BSM_VERSION_STRING="${PROJECT_VERSION}")
if(TARGET bsm_torchscript)
  target_link_libraries(bsm_torchscript PUBLIC ZLIB::ZLIB)
endif()
if(TARGET bsm_exported)
  target_link_libraries(bsm_exported PUBLIC Jansson::Jansson)
endif()

# bsm_link_layers(TARGET SOURCE [LAYERS...]): links the named layers, those
# whose headers SOURCE includes, and what they need. A test of one layer thus
# links without the layers above it. An include that tells nothing means all.
function(bsm_link_layers target source)
  set(wanted ${ARGN})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(STRINGS ${source} includes REGEX "^#include \"")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "^#include \"([^\"]*)\".*" "\\1" header "${include}")
    if(header MATCHES "^bessemer/(allocator|export|limits|log|status|types)\\.h$")
      list(APPEND wanted base)
    elseif(header MATCHES "^bessemer/(network|conversion|plugin)\\.h$")
      list(APPEND wanted ${CMAKE_MATCH_1})
    elseif(header MATCHES "^bessemer/engine\\.h$")
      list(APPEND wanted runtime)
    elseif(header MATCHES "^tests/([a-z_]+)/" AND CMAKE_MATCH_1 IN_LIST BSM_LAYERS)
      list(APPEND wanted ${CMAKE_MATCH_1})
    elseif(header MATCHES "^tools/npy\\.h$")
      list(APPEND wanted base tools torchscript)
    elseif(header MATCHES "^tools/")
      list(APPEND wanted tools ${BSM_LAYERS})
    elseif(header MATCHES "^backend/[a-z]+/target/|^builder/target\\.h$|step_harness\\.h$|target_kit\\.h$")
      list(APPEND wanted targets)
    elseif(header MATCHES "^backend/")
      list(APPEND wanted backend_cpu)
    elseif(header MATCHES "^([a-z_]+)/" AND CMAKE_MATCH_1 IN_LIST BSM_LAYERS)
      list(APPEND wanted ${CMAKE_MATCH_1})
    else()
      list(APPEND wanted ${BSM_LAYERS})
    endif()
  endforeach()
  set(needed ${wanted})
  foreach(layer IN LISTS wanted)
    list(APPEND needed ${BSM_NEEDS_${layer}})
  endforeach()
  set(libraries)
  foreach(layer IN LISTS BSM_LAYERS)
    if(layer IN_LIST needed AND TARGET bsm_${layer})
      list(PREPEND libraries bsm_${layer}) # the users before the used
    endif()
  endforeach()
  if(tools IN_LIST wanted)
    list(PREPEND libraries bsm_tools)
  endif()
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
  target_link_libraries(${target} PRIVATE ${libraries} bsm_options ZLIB::ZLIB
                                          ${CMAKE_DL_LIBS})
endfunction()
