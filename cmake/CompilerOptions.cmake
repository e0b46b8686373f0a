# SPDX-License-Identifier: Apache-2.0
# What every file of the tree is compiled with: the target bsm_options.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON) # -std=gnu11
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# What is installed is small: functions and data that nothing refers to are left
# out of programs and shared libraries, and C functions need no tables to unwind
# them (the debugger's are in builds with -g).
set(CMAKE_C_FLAGS_RELEASE
    "-O2 -DNDEBUG -ffunction-sections -fdata-sections \
-fno-asynchronous-unwind-tables")
# Only kernels begin functions and loops at multiples of 16 bytes (Layers.cmake).
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  string(APPEND CMAKE_C_FLAGS_RELEASE
         " -falign-functions=1 -falign-jumps=1 -falign-loops=1")
endif()
set(CMAKE_C_FLAGS_RELEASE "${CMAKE_C_FLAGS_RELEASE}" CACHE STRING "" FORCE)
set(CMAKE_SHARED_LINKER_FLAGS_RELEASE "-Wl,--gc-sections" CACHE STRING "" FORCE)
set(CMAKE_EXE_LINKER_FLAGS_RELEASE "-Wl,--gc-sections" CACHE STRING "" FORCE)

# Tables of pointers take 24 bytes for each, or 1 bit where linker and C library
# know relative relocations in that form; musl cannot say whether it does, and
# one that does not runs into what was not relocated.
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_LINK_OPTIONS -shared -Wl,-z,pack-relative-relocs
                                -Wl,--fatal-warnings)
set(CMAKE_REQUIRED_FLAGS -fPIC)
check_c_source_compiles(
  "#include <stdio.h>
   #if !defined __GLIBC_PREREQ
   #error not glibc
   #elif !__GLIBC_PREREQ(2, 36)
   #error an older glibc
   #endif
   static const char *const words[] = {\"a\", \"b\"};
   int f(int i); int f(int i) { return puts(words[i]); }
   int main(void) { return f(0); }"
  BSM_PACKED_RELOCATIONS)
unset(CMAKE_REQUIRED_LINK_OPTIONS)
unset(CMAKE_REQUIRED_FLAGS)
if(BSM_PACKED_RELOCATIONS AND NOT BSM_SANITIZE AND NOT BSM_FUZZ
   AND NOT BSM_OLD_GLIBC)
  set(BSM_LINK_SMALL -Wl,-z,pack-relative-relocs)
endif()

# An operation rounds by itself everywhere, as the reference implementation of
# each operator and PyTorch's do; kernels write their multiply-adds out, and are
# compiled with this whatever the machine. Where the compiler knows of no
# instruction that does both, as on x86 by default, it has nothing to contract.
check_c_source_compiles(
  "#if defined __x86_64__ || defined __i386__
   # if !defined __FMA__ && !defined __FMA4__
   #  error nothing to contract
   # endif
   #endif
   int main(void) { return 0; }"
  BSM_HAS_MULTIPLY_ADD)
if(BSM_HAS_MULTIPLY_ADD)
  add_compile_options(-ffp-contract=off)
endif()

# Tables of addresses are read-only from the start of a program on.
add_link_options(-Wl,-z,relro -Wl,-z,now)

# What makes a defect in the handling of memory end the program instead of giving
# it to an attacker; docs/security.md has what each flag costs. The layers named
# here compute, with tensors that others have checked, and are most of the small
# runtime library, which has no room for it.
set(BSM_COMPUTING_LAYERS aten backend_cpu)
include(CheckCCompilerFlag)
set(BSM_HARDENING)
if(NOT BSM_SANITIZE AND NOT BSM_FUZZ)
  check_c_compiler_flag(-fstack-protector-strong BSM_HAS_STACK_PROTECTOR)
  check_c_compiler_flag(-fcf-protection=full BSM_HAS_CF_PROTECTION)
  if(BSM_HAS_STACK_PROTECTOR)
    list(APPEND BSM_HARDENING -fstack-protector-strong)
  endif()
  if(BSM_HAS_CF_PROTECTION)
    list(APPEND BSM_HARDENING -fcf-protection=full)
  endif()
  # It needs optimisation.
  list(APPEND BSM_HARDENING
       "$<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
endif()
# bsm_harden(TARGET LAYER)
function(bsm_harden target layer)
  if(BSM_HARDEN STREQUAL "all"
     OR (BSM_HARDEN STREQUAL "most" AND NOT layer IN_LIST
                                        BSM_COMPUTING_LAYERS))
    target_compile_options(${target} PRIVATE ${BSM_HARDENING})
  endif()
endfunction()

# What is distributed to other systems runs with older C libraries than the one
# that it is built with, down to that of manylinux_2_28. There threads and
# dlopen have libraries of their own.
if(BSM_OLD_GLIBC)
  add_compile_options(
    "SHELL:-include ${PROJECT_SOURCE_DIR}/cmake/glibc_2_28.h")
  list(APPEND BSM_LINK_SMALL "SHELL:-Wl,--push-state,--no-as-needed \
-l:libpthread.so.0 -l:libdl.so.2 -Wl,--pop-state")
endif()

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
