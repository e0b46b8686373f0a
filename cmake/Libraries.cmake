# SPDX-License-Identifier: Apache-2.0
# The two libraries, shared and static.
#
# libbessemer-runtime loads and runs engines. libbessemer compiles, and needs
# functions of the lower layers that the shared runtime library hides; it
# therefore holds the objects of the runtime as well. A program links one of the
# two, never both: -lbessemer for compiling and running, -lbessemer-runtime for
# running alone.

function(bsm_layer_objects out)
  set(objects)
  foreach(layer IN LISTS ARGN)
    if(TARGET bsm_${layer})
      list(APPEND objects $<TARGET_OBJECTS:bsm_${layer}>)
    endif()
  endforeach()
  set(${out} ${objects} PARENT_SCOPE)
endfunction()

bsm_layer_objects(BSM_RUNTIME_OBJECTS ${BSM_RUNTIME_LAYERS})
bsm_layer_objects(BSM_COMPILER_OBJECTS ${BSM_COMPILER_LAYERS})

# bsm_add_libraries(NAME OBJECTS...): NAME (shared) and NAME-static.
function(bsm_add_libraries name)
  string(REPLACE "bessemer" "" export ${name})
  string(REPLACE "-" "" export "${export}")
  if(NOT export)
    set(export bessemer)
  endif()
  add_library(${name} SHARED ${ARGN})
  set_target_properties(
    ${name} PROPERTIES VERSION ${PROJECT_VERSION}
                       SOVERSION ${PROJECT_VERSION_MAJOR} EXPORT_NAME ${export})
  # The runtimes of the sanitizers and of libFuzzer are in the program only.
  if(NOT BSM_SANITIZE AND NOT BSM_FUZZ)
    target_link_options(${name} PRIVATE -Wl,--no-undefined)
  endif()
  target_link_options(${name} PRIVATE -Wl,--as-needed ${BSM_LINK_SMALL})
  add_library(${name}-static STATIC ${ARGN})
  set_target_properties(
    ${name}-static PROPERTIES OUTPUT_NAME ${name} EXPORT_NAME ${export}-static)
  foreach(target IN ITEMS ${name} ${name}-static)
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C)
    target_link_libraries(${target} PRIVATE Threads::Threads m)
    target_include_directories(
      ${target} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                          $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  endforeach()
endfunction()

bsm_add_libraries(bessemer-runtime ${BSM_RUNTIME_OBJECTS})
bsm_add_libraries(bessemer ${BSM_RUNTIME_OBJECTS} ${BSM_COMPILER_OBJECTS})
foreach(target IN ITEMS bessemer bessemer-static)
  target_link_libraries(${target} PRIVATE ZLIB::ZLIB Jansson::Jansson
                                          ${CMAKE_DL_LIBS})
endforeach()
