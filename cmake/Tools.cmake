# SPDX-License-Identifier: Apache-2.0
# The command line tool. bsm_tools is all of it but main: tests and fuzz targets
# link that. The program links the static library, so that it can be copied
# anywhere.

file(GLOB tool_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/*.c)
list(REMOVE_ITEM tool_sources ${PROJECT_SOURCE_DIR}/tools/main.c)
set(pages ${PROJECT_BINARY_DIR}/pages.c)
file(GLOB page_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/pages/*.html)
add_custom_command(
  OUTPUT ${pages}
  COMMAND ${CMAKE_COMMAND} -DOUT=${pages}
          -DFOLDER=${PROJECT_SOURCE_DIR}/tools/pages -P
          ${PROJECT_SOURCE_DIR}/cmake/EmbedPages.cmake
  DEPENDS ${page_sources} ${PROJECT_SOURCE_DIR}/cmake/EmbedPages.cmake
  VERBATIM)
add_library(bsm_tools STATIC ${tool_sources} ${pages})
target_include_directories(bsm_tools PUBLIC ${PROJECT_SOURCE_DIR})
target_compile_definitions(bsm_tools PRIVATE _GNU_SOURCE)
target_link_libraries(bsm_tools PUBLIC bsm_options ZLIB::ZLIB)
bsm_harden(bsm_tools tools)
# ONNX files are protobuf, which nanopb writes. Without it, the command says so.
find_path(NANOPB_INCLUDE pb_encode.h PATH_SUFFIXES nanopb)
find_library(NANOPB_LIBRARY protobuf-nanopb)
if(NANOPB_INCLUDE AND NANOPB_LIBRARY)
  target_compile_definitions(bsm_tools PRIVATE BSM_HAVE_NANOPB)
  target_include_directories(bsm_tools SYSTEM PRIVATE ${NANOPB_INCLUDE})
  target_link_libraries(bsm_tools PUBLIC ${NANOPB_LIBRARY})
endif()

if(EXISTS ${PROJECT_SOURCE_DIR}/tools/main.c)
  add_executable(bessemer-cli tools/main.c)
  bsm_harden(bessemer-cli tools)
  set_target_properties(bessemer-cli PROPERTIES OUTPUT_NAME bessemer)
  # Plug-ins call functions of the API: the program has and exports them all.
  target_link_libraries(
    bessemer-cli
    PRIVATE bsm_tools -Wl,--whole-archive $<TARGET_FILE:bessemer-static>
            -Wl,--no-whole-archive bessemer-static ${CMAKE_DL_LIBS})
  set_target_properties(bessemer-cli PROPERTIES ENABLE_EXPORTS ON)
  # The command writes its own manual pages and completions, where it runs.
  set(BSM_MANUALS ${PROJECT_BINARY_DIR}/manuals)
  if(NOT CMAKE_CROSSCOMPILING)
    add_custom_command(
      OUTPUT ${BSM_MANUALS}/stamp
      COMMAND
        ${CMAKE_COMMAND} -DBESSEMER=$<TARGET_FILE:bessemer-cli>
        -DOUT=${BSM_MANUALS} -P ${PROJECT_SOURCE_DIR}/cmake/MakeManuals.cmake
      DEPENDS bessemer-cli ${PROJECT_SOURCE_DIR}/cmake/MakeManuals.cmake
      VERBATIM)
    add_custom_target(bessemer-manuals ALL DEPENDS ${BSM_MANUALS}/stamp)
  endif()
endif()
