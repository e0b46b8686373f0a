# SPDX-License-Identifier: Apache-2.0
# One static library for each layer of src/, named bsm_<layer>: the two
# libraries, the tests and the fuzz targets are made of them.

# In the order of the dependencies. scripts/check_layers.py enforces what a
# layer may include; BSM_NEEDS_<layer> is what linking it takes.
#
# What runs plans; what makes plans for shapes while an engine runs; what
# compiles models. The runtime calls the planner through a table that is empty
# where the second is not linked.
set(BSM_RUNTIME_LAYERS base aten plugin engine trust backend_cpu runtime)
set(BSM_PLANNING_LAYERS ir network conversion builder targets planner)
set(BSM_COMPILER_LAYERS signing quantized torchscript exported lowering partitioning
    quantization onnx compiler)
set(BSM_LAYERS
    base
    aten
    plugin
    engine
    trust
    backend_cpu
    ir
    network
    conversion
    builder
    targets
    planner
    runtime
    ${BSM_COMPILER_LAYERS})

set(BSM_NEEDS_base)
set(BSM_NEEDS_aten base)
set(BSM_NEEDS_plugin base aten)
set(BSM_NEEDS_engine base aten)
set(BSM_NEEDS_trust base aten engine)
set(BSM_NEEDS_backend_cpu base aten engine)
set(BSM_NEEDS_runtime ${BSM_RUNTIME_LAYERS} ${BSM_PLANNING_LAYERS})
set(BSM_NEEDS_signing ${BSM_NEEDS_trust} trust)
set(BSM_NEEDS_ir base aten)
set(BSM_NEEDS_quantized base aten)
set(BSM_NEEDS_torchscript base aten ir quantized)
set(BSM_NEEDS_exported base aten ir quantized torchscript)
set(BSM_NEEDS_lowering base aten ir quantized)
set(BSM_NEEDS_network base aten plugin)
set(BSM_NEEDS_conversion base aten plugin ir network)
set(BSM_NEEDS_partitioning base aten plugin ir network conversion)
set(BSM_NEEDS_builder base aten plugin engine network)
set(BSM_NEEDS_targets ${BSM_NEEDS_builder} backend_cpu builder)
set(BSM_NEEDS_planner ${BSM_NEEDS_targets} ir conversion targets)
set(BSM_NEEDS_quantization ${BSM_NEEDS_builder} builder)
set(BSM_NEEDS_onnx base aten plugin network)
set(BSM_NEEDS_compiler ${BSM_LAYERS})

set(BSM_X86 FALSE)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64|i[3-6]86)$")
  set(BSM_X86 TRUE)
endif()
set(BSM_ARM64 FALSE)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(BSM_ARM64 TRUE)
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
set(BSM_FLAGS_avx2_vnni ${BSM_FLAGS_avx2} -mavxvnni)
set(BSM_FLAGS_avx512_vnni ${BSM_FLAGS_avx512} -mavx512vnni)
set(BSM_FLAGS_amx ${BSM_FLAGS_avx512_vnni} -mavx512bf16 -mamx-tile -mamx-int8
                  -mamx-bf16)
set(BSM_FLAGS_avx512_bf16 ${BSM_FLAGS_avx512} -mavx512bf16)
set(BSM_FLAGS_neon)
set(BSM_FLAGS_neon_i8mm -march=armv8.2-a+i8mm)

# The instruction set of a kernel file is the end of its name; only these files
# may use instructions that the machine may lack. Kernels are compiled for
# speed in every build type: debug builds would otherwise spend all their time
# in them. They contract nothing by themselves (fused multiply-adds are written
# out), so that a scalar tail rounds as its author says under every compiler.
function(bsm_set_kernel_flags)
  foreach(source IN LISTS ARGN)
    if(NOT source MATCHES "/(backend/cpu/kernels/|aten/fft_rows_)")
      continue()
    endif()
    set(flags -O3 -ffp-contract=off)
    if(BSM_FUZZ OR BSM_SANITIZE STREQUAL "integer")
      # Fuzzing is about parsers; instrumented kernels take minutes to compile.
      # The sanitizer builds run them. Integers of tensors wrap as is meant.
      list(APPEND flags -fno-sanitize=all)
    elseif(BSM_SANITIZE)
      set(flags -O2 -ffp-contract=off)
    elseif(BSM_X86 AND source MATCHES "/(planar_f32|sample_f32|typed_gemm|vector_math)_scalar\\.c$")
      # For CPUs older than AVX2.
      set(flags -Os -ffp-contract=off)
    elseif(source MATCHES "/(recurrent|few_bits)_f32_scalar\\.c$")
      # Many times smaller than unrolled, and faster.
      set(flags $<IF:$<BOOL:${BSM_X86}>,-Os,-O2> -ffp-contract=off -DBSM_K_ROLLED)
    elseif(BSM_X86 AND source MATCHES "/(depthwise|winograd)_f32_scalar\\.c$")
      # Rolled, the compiler chooses what to unroll: half the size, as fast.
      set(flags -O3 -ffp-contract=off -DBSM_K_ROLLED)
      if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
        list(APPEND flags -fno-unswitch-loops)
      endif()
    elseif(BSM_X86 AND source MATCHES "/ints_scalar\\.c$")
      # For CPUs older than AVX2.
      set(flags -Os -ffp-contract=off)
    elseif(source MATCHES "/fft_rows_")
      set(flags -O2 -ffp-contract=off)
    elseif(source MATCHES "/(best|ints_[a-z0-9]*|lanes|strided|take)\\.c$")
      set(flags -O2 -ffp-contract=off -ftree-vectorize)
      if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
        list(APPEND flags -fvect-cost-model=cheap)
      endif()
      if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND source MATCHES "/ints_")
        # What is left of a row has no vectors of half the size: a quarter less.
        list(APPEND flags --param=vect-epilogues-nomask=0)
      endif()
    elseif(BSM_X86
           AND source MATCHES
               "/(gemm_f32_half|gemm_f32|rows|int8|half|half_convert|sample_f32|(planar|recurrent|depthwise|winograd|few_bits)_f32)_(avx2|avx512|avx2_vnni|avx512_vnni|avx512_bf16|amx)\\.c$")
      # Vectors and unrolling are written out: up to a quarter smaller, as fast.
      set(flags -O2 -ffp-contract=off)
    elseif(BSM_X86
           AND source MATCHES "/(attention_f32|rows|int8|half|half_convert)_scalar\\.c$")
      # For CPUs older than AVX2; not in what takes their time.
      set(flags -O2 -ffp-contract=off)
    endif()
    if(BSM_X86 AND CMAKE_C_COMPILER_ID STREQUAL "GNU" AND NOT BSM_SANITIZE
       AND source MATCHES "/gemm_f32_scalar\\.c$")
      # For CPUs older than AVX2: loops over whole panels become vectors, edges
      # do not, and no loop is there twice. A third of the size, 6 % slower.
      list(APPEND flags -fvect-cost-model=very-cheap -fno-unswitch-loops)
    endif()
    if(source MATCHES "_(avx2|avx512|avx2_vnni|avx512_vnni|avx512_bf16|amx|neon|neon_i8mm)\\.c$")
      list(APPEND flags ${BSM_FLAGS_${CMAKE_MATCH_1}})
    endif()
    if(BSM_HARDEN STREQUAL "all" AND BSM_HAS_STACK_PROTECTOR)
      # Nobody else chooses the sizes of their buffers on the stack.
      list(APPEND flags -fno-stack-protector)
    endif()
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND NOT source MATCHES "/ints_")
      list(APPEND flags -falign-functions=16 -falign-jumps=16 -falign-loops=16)
      if(source MATCHES "/recurrent_f32_(avx2|avx512)")
        # Sums of 4 samples take a fifth longer where their loop begins elsewhere.
        list(APPEND flags -falign-loops=64)
      endif()
    endif()
    set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS ${flags})
  endforeach()
endfunction()

# What has no loops over many elements, and families of the reference library
# that models seldom leave to it, is compiled for size: half of the library that
# is no kernel.
set(BSM_SMALL_FAMILIES
    activation
    attention
    attribute
    complex
    complex_number
    container
    conv
    create
    distance
    embedding_bag
    exported
    fake_quantize
    fft
    fused_attention
    gather
    gradient
    grouped_mm
    index
    layers
    linalg
    linalg_spectral
    loss
    loss_margin
    matmul
    norm
    number
    packed_sequence
    pool
    products
    quantized
    quantized_decomposed
    random
    rearrange
    reduce
    rnn
    segment
    shape
    sort
    special
    statistics
    stft
    text
    unpool
    upsample
    view
    vision)

set(BSM_SMALL_FILES aten/nms.c aten/op.c aten/op_geometry.c aten/op_random.c base/caches.c
                    base/cpus.c base/file.c base/file_write.c base/isa.c base/linked.c base/log.c
                    base/numbers.c base/options.c base/printable.c
                    base/private_folder.c base/status.c base/strings.c
                    base/value_types.c trust/built_engines.c
                    trust/code_trust.c trust/ed25519.c trust/field25519.c
                    trust/file_signature.c trust/scalar25519.c trust/sha512.c)
foreach(family IN LISTS BSM_SMALL_FAMILIES)
  list(APPEND BSM_SMALL_FILES aten/ops/aten_${family}.c)
endforeach()
list(APPEND BSM_SMALL_FILES runtime/plan/kept_tensors.c
     runtime/plan/run_trace.c
     runtime/program/run_result.c runtime/program/liveness.c
     runtime/program/collector.c runtime/program/residency.c
     runtime/program/program_plans.c
     runtime/program/program_views.c
     aten/ivalue_parts.c aten/op_kit.c aten/promotion.c aten/regions.c
     backend/cpu/cpu_device.c backend/cpu/cpu_step.c aten/complex_math.c
     aten/ivalue.c aten/linalg.c aten/special.c)
foreach(folder IN ITEMS backend/checks backend/cuda backend/cuda/steps engine
                        plugin runtime/context runtime/engine runtime/shapes
                        runtime/steps)
  file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/src
       ${PROJECT_SOURCE_DIR}/src/${folder}/*.c)
  list(APPEND BSM_SMALL_FILES ${sources})
endforeach()
# Rounds after each operation, as the reference does.
set_property(
  SOURCE ${PROJECT_SOURCE_DIR}/src/aten/overlap.c
         ${PROJECT_SOURCE_DIR}/src/aten/regions.c APPEND
  PROPERTY COMPILE_OPTIONS -ffp-contract=off)
# Magnitudes are square roots, which need not tell errno.
set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/aten/complex_math.c APPEND
             PROPERTY COMPILE_OPTIONS -fno-math-errno)
# Drivers of the CPU that choose kernels and hand out their work.
file(GLOB sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/src
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_affine.c
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_attention.c
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_block.c
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_convolution*.c
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_deconvolution.c
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_device.c
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_element_wise*.c
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_few_bits_matrix.c
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_gather.c
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_gemm.c
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_half*.c
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_recurrent*.c
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_int8_convolution.c
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_int8_relief.c
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_int8_split.c
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_int8_winograd.c
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_matrix*.c
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_normalization*.c
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_pack.c
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_pad.c
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_planar.c
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_pooling.c
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_quantize.c
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_reduce*.c
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_regions.c
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_resize.c
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_non_zero.c
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_sample.c
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_scatter.c
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_softmax.c
     ${PROJECT_SOURCE_DIR}/src/backend/cpu/cpu_typed*.c)
list(APPEND BSM_SMALL_FILES ${sources})
foreach(source IN LISTS BSM_SMALL_FILES)
  set_property(
    SOURCE ${PROJECT_SOURCE_DIR}/src/${source} APPEND
    PROPERTY COMPILE_OPTIONS $<$<CONFIG:Release>:-Oz>)
endforeach()

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
    list(FILTER sources INCLUDE REGEX "src/backend/([a-z]+/target/|targets?\\.c$)")
  elseif(folder STREQUAL "backend")
    list(FILTER sources EXCLUDE REGEX "src/backend/([a-z]+/target/|targets?\\.c$)")
  endif()
  if(NOT BSM_X86)
    list(FILTER sources EXCLUDE REGEX "_(avx2|avx512|avx2_vnni|avx512_vnni|avx512_bf16|amx)\\.c$")
  endif()
  if(NOT BSM_ARM64)
    list(FILTER sources EXCLUDE REGEX "_(neon|neon_i8mm)\\.c$")
  endif()
  if(NOT sources)
    return()
  endif()
  bsm_set_kernel_flags(${sources})
  add_library(bsm_${layer} STATIC ${sources})
  target_link_libraries(bsm_${layer} PUBLIC bsm_options)
  bsm_harden(bsm_${layer} ${layer})
endfunction()

foreach(layer IN LISTS BSM_RUNTIME_LAYERS BSM_PLANNING_LAYERS)
  bsm_add_layer(${layer})
endforeach()
if(BSM_BUILD_COMPILER)
  foreach(layer IN LISTS BSM_COMPILER_LAYERS)
    bsm_add_layer(${layer})
  endforeach()
endif()
# The schemas of the operators are packed (aten/op_rows.h).
set(BSM_PACKED_SCHEMAS ${PROJECT_BINARY_DIR}/packed_schemas)
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/aten/ops/aten_*.c)
foreach(source IN LISTS sources)
  get_filename_component(name ${source} NAME_WE)
  set(packed ${BSM_PACKED_SCHEMAS}/aten/packed/${name}.h)
  add_custom_command(
    OUTPUT ${packed}
    COMMAND
      ${CMAKE_COMMAND} -DOUT=${packed} -DSOURCE=${source}
      -DWORDS=${PROJECT_SOURCE_DIR}/src/aten/schema_words.inl -P
      ${PROJECT_SOURCE_DIR}/cmake/PackSchemas.cmake
    DEPENDS ${source} ${PROJECT_SOURCE_DIR}/src/aten/schema_words.inl
            ${PROJECT_SOURCE_DIR}/cmake/PackSchemas.cmake
    VERBATIM)
  target_sources(bsm_aten PRIVATE ${packed})
endforeach()
target_include_directories(bsm_aten PRIVATE ${BSM_PACKED_SCHEMAS})
# The sources of kernels for GPUs are in the library that compiles them.
set(BSM_KERNEL_FOLDER ${PROJECT_SOURCE_DIR}/src/backend/cuda/kernels)
file(GLOB kernels CONFIGURE_DEPENDS ${BSM_KERNEL_FOLDER}/*)
add_custom_command(
  OUTPUT ${PROJECT_BINARY_DIR}/cuda_kernel_sources.c
  COMMAND
    ${CMAKE_COMMAND} -DOUT=${PROJECT_BINARY_DIR}/cuda_kernel_sources.c
    -DFOLDER=${BSM_KERNEL_FOLDER} -P
    ${PROJECT_SOURCE_DIR}/cmake/EmbedKernels.cmake
  DEPENDS ${kernels} ${PROJECT_SOURCE_DIR}/cmake/EmbedKernels.cmake
  VERBATIM)
target_sources(bsm_targets
               PRIVATE ${PROJECT_BINARY_DIR}/cuda_kernel_sources.c)
# What is beyond the C library and POSIX is wrapped by base.
target_compile_definitions(bsm_base PRIVATE _GNU_SOURCE)
if(TARGET bsm_torchscript)
  target_link_libraries(bsm_torchscript PUBLIC ZLIB::ZLIB)
endif()

# bsm_needed_layers(OUT SOURCE [LAYERS...]): the named layers, those whose
# headers SOURCE includes, and what they need. A test of one layer thus links
# without the layers above it. An include that tells nothing means all.
function(bsm_needed_layers out source)
  set(wanted ${ARGN})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(STRINGS ${source} includes REGEX "^#include \"")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "^#include \"([^\"]*)\".*" "\\1" header "${include}")
    if(header MATCHES "^bessemer/(allocator|export|limits|log|status|types|version)\\.h$")
      list(APPEND wanted base)
    elseif(header MATCHES "^bessemer/(network|conversion|plugin)\\.h$")
      list(APPEND wanted ${CMAKE_MATCH_1})
    elseif(header MATCHES "^bessemer/engine\\.h$")
      list(APPEND wanted runtime)
    elseif(header MATCHES "^bessemer/signature\\.h$")
      list(APPEND wanted signing)
    elseif(header MATCHES "^tests/([a-z_]+)/" AND CMAKE_MATCH_1 IN_LIST BSM_LAYERS)
      list(APPEND wanted ${CMAKE_MATCH_1})
    elseif(header MATCHES "^tools/npy\\.h$")
      list(APPEND wanted base tools torchscript)
    elseif(header MATCHES "^tools/")
      list(APPEND wanted tools ${BSM_LAYERS})
    elseif(header MATCHES "^backend/[a-z]+/target/|^builder/target\\.h$|^tests/(conformance|remote)/|target_kit\\.h$")
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
  list(REMOVE_DUPLICATES needed)
  set(${out} ${needed} PARENT_SCOPE)
endfunction()

# Whether this build has all of the layers.
function(bsm_has_layers out)
  set(has TRUE)
  foreach(layer IN LISTS ARGN)
    if(NOT TARGET bsm_${layer})
      set(has FALSE)
    endif()
  endforeach()
  set(${out} ${has} PARENT_SCOPE)
endfunction()

# bsm_link_layers(TARGET SOURCE [LAYERS...]): links what SOURCE needs.
function(bsm_link_layers target source)
  bsm_needed_layers(needed ${source} ${ARGN})
  set(libraries)
  foreach(layer IN LISTS BSM_LAYERS)
    if(layer IN_LIST needed AND TARGET bsm_${layer})
      list(PREPEND libraries bsm_${layer}) # the users before the used
    endif()
  endforeach()
  if(tools IN_LIST needed)
    list(PREPEND libraries bsm_tools)
  endif()
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
  target_link_libraries(${target} PRIVATE ${libraries} bsm_options
                                          ${CMAKE_DL_LIBS})
endfunction()
