# SPDX-License-Identifier: Apache-2.0
# The command line tool, bessemer, and the examples.

file(GLOB tool_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/*.c)
if(tool_sources)
  add_executable(bessemer-cli ${tool_sources})
  set_target_properties(bessemer-cli PROPERTIES OUTPUT_NAME bessemer)
  target_include_directories(bessemer-cli PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(bessemer-cli PRIVATE bsm_options bessemer-static
                                             ZLIB::ZLIB)
endif()
