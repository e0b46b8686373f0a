# SPDX-License-Identifier: Apache-2.0
# What every file of the tree is compiled with: the target bsm_options.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON) # -std=gnu11
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "" FORCE)

add_library(bsm_options INTERFACE)
target_compile_options(
  bsm_options
  INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes
            -Wmissing-prototypes
            # Rows of tables leave the fields they do not need at zero.
            -Wno-missing-field-initializers)
if(BSM_WERROR)
  target_compile_options(bsm_options INTERFACE -Werror)
endif()
target_include_directories(bsm_options INTERFACE ${PROJECT_SOURCE_DIR}/include
                                                 ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(bsm_options INTERFACE Threads::Threads m)

if(BSM_SANITIZE)
  # Everything is instrumented, and a finding ends the program.
  add_compile_options(-fsanitize=${BSM_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${BSM_SANITIZE})
  add_compile_definitions(BSM_SANITIZED)
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    # The checks that are added hide from gcc what is set where.
    target_compile_options(bsm_options INTERFACE -Wno-maybe-uninitialized)
  endif()
endif()
if(BSM_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "BSM_FUZZ needs clang (libFuzzer)")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
