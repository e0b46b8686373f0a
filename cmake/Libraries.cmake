# SPDX-License-Identifier: Apache-2.0
# The libraries, shared and static. Each holds all of the one before it, and a
# program links one of them, never two:
#
#   bessemer-runtime         loads and runs engines
#   bessemer-runtime-shapes  also plans for shapes that are known only then
#   bessemer                 compiles, loads and runs
#
# None can link another, as the shared ones hide what the layers above them
# call.

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
bsm_layer_objects(BSM_PLANNING_OBJECTS ${BSM_PLANNING_LAYERS})
bsm_layer_objects(BSM_COMPILER_OBJECTS ${BSM_COMPILER_LAYERS})

# The table of the planner, where none is linked: no layer has it.
add_library(bsm_no_planner STATIC ${PROJECT_SOURCE_DIR}/src/linkage/no_planner.c)
target_link_libraries(bsm_no_planner PUBLIC bsm_options)

# bsm_add_libraries(NAME OBJECTS...): NAME (shared) and NAME-static.
function(bsm_add_libraries name)
  string(REGEX REPLACE "^bessemer-" "" export ${name})
  add_library(${name} SHARED ${ARGN})
  set_target_properties(
    ${name} PROPERTIES VERSION ${PROJECT_VERSION}
                       SOVERSION ${PROJECT_VERSION_MAJOR} EXPORT_NAME ${export})
  # The runtimes of the sanitizers and of libFuzzer are in the program only.
  if(NOT BSM_SANITIZE AND NOT BSM_FUZZ)
    target_link_options(${name} PRIVATE -Wl,--no-undefined)
  endif()
  # The map is for scripts/measure_library.py.
  target_link_options(${name} PRIVATE -Wl,--as-needed ${BSM_LINK_SMALL}
                                      -Wl,-Map=$<TARGET_FILE:${name}>.map)
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

bsm_add_libraries(bessemer-runtime ${BSM_RUNTIME_OBJECTS}
                  $<TARGET_OBJECTS:bsm_no_planner>)
bsm_add_libraries(bessemer-runtime-shapes ${BSM_RUNTIME_OBJECTS}
                  ${BSM_PLANNING_OBJECTS})
if(BSM_BUILD_COMPILER)
  bsm_add_libraries(bessemer ${BSM_RUNTIME_OBJECTS} ${BSM_PLANNING_OBJECTS}
                    ${BSM_COMPILER_OBJECTS})
  foreach(target IN ITEMS bessemer bessemer-static)
    target_link_libraries(${target} PRIVATE ZLIB::ZLIB ${CMAKE_DL_LIBS})
  endforeach()
endif()
