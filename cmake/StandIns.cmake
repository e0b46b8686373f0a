# SPDX-License-Identifier: Apache-2.0
# Libraries that stand in for NVIDIA's driver and for NVRTC, opened as those
# would be. Kernels are compiled for the host while tests run, by a C++ compiler
# that nothing else needs.

set(standins ${PROJECT_SOURCE_DIR}/tests/cuda/standin)
set(BSM_STANDIN_CUDA_SOURCES block fiber grid standin_cuda standin_graphs
                             standin_maps standin_memory standin_modules standin_streams)
list(TRANSFORM BSM_STANDIN_CUDA_SOURCES
     REPLACE "(.+)" "${standins}/\\1.c")
set(BSM_STANDIN_NVRTC_SOURCES ${standins}/standin_nvrtc.c
                              ${standins}/host_compiler.c)
add_library(bsm_standin_cuda MODULE ${BSM_STANDIN_CUDA_SOURCES})
add_library(bsm_standin_nvrtc MODULE ${BSM_STANDIN_NVRTC_SOURCES})
foreach(library IN ITEMS bsm_standin_cuda bsm_standin_nvrtc)
  target_link_libraries(${library} PRIVATE bsm_options ${CMAKE_DL_LIBS})
  target_include_directories(${library} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
endforeach()
# They run on stacks that no sanitizer knows.
if(BSM_SANITIZE)
  set_source_files_properties(
    ${standins}/block.c ${standins}/fiber.c ${standins}/grid.c
    PROPERTIES COMPILE_OPTIONS -fno-sanitize=all)
endif()

find_program(BSM_HOST_CXX NAMES c++ g++ clang++)
if(NOT BSM_HOST_CXX)
  message(STATUS "No C++ compiler: tests that run kernels are skipped")
endif()
target_compile_definitions(
  bsm_standin_nvrtc
  PRIVATE BSM_EMULATION_CXX="${BSM_HOST_CXX}"
          BSM_EMULATION_FOLDER="${PROJECT_SOURCE_DIR}/tests/cuda/emulation"
          BSM_EMULATION_CACHE_FOLDER="${PROJECT_BINARY_DIR}/emulated-kernels")

# Where programs find the driver by the name of what it stands in for.
set(BSM_STANDIN_FOLDER ${PROJECT_BINARY_DIR}/standin)
set_target_properties(
  bsm_standin_cuda PROPERTIES PREFIX lib OUTPUT_NAME cuda SUFFIX .so.1
                              LIBRARY_OUTPUT_DIRECTORY ${BSM_STANDIN_FOLDER})
