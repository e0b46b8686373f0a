# SPDX-License-Identifier: Apache-2.0
# The part of the Python package that is compiled: the extension module, and
# the library beside it, stripped. What that needs is on every Linux that
# manylinux knows, zlib too.
# pyproject.toml builds the wheel of this; the component "python" is what it
# installs.

find_package(Python 3.9 REQUIRED COMPONENTS Interpreter Development.Module
                                            NumPy)

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/src/*.c)
add_library(bessemer-python MODULE ${sources})
# One file for all Python versions, by the limited API.
set_target_properties(
  bessemer-python PROPERTIES PREFIX "" OUTPUT_NAME _core SUFFIX .abi3.so
                             INSTALL_RPATH "$ORIGIN" LINKER_LANGUAGE C)
target_include_directories(bessemer-python
                           PRIVATE ${PROJECT_SOURCE_DIR}/include)
target_include_directories(
  # NumPy's first: Python's folder may have those of the system's NumPy.
  bessemer-python SYSTEM PRIVATE ${Python_NumPy_INCLUDE_DIRS}
                                 ${Python_INCLUDE_DIRS})
# No -Wpedantic: slots of types are functions as pointers to objects.
target_compile_options(
  bessemer-python
  PRIVATE -Wall -Wextra -Wshadow -Wconversion -Wmissing-prototypes
          -Wno-missing-field-initializers
          $<$<BOOL:${BSM_WERROR}>:-Werror>)
target_link_libraries(bessemer-python PRIVATE bessemer)
target_link_options(bessemer-python PRIVATE ${BSM_LINK_SMALL} -Wl,-s)

# install(FILES): links would become copies in a wheel.
set(destination bessemer)
install(TARGETS bessemer-python LIBRARY DESTINATION ${destination}
        COMPONENT python)
add_custom_command(
  TARGET bessemer-python POST_BUILD
  COMMAND ${CMAKE_STRIP} -o $<TARGET_FILE_DIR:bessemer-python>/python-library.so
          $<TARGET_FILE:bessemer>)
install(
  FILES $<TARGET_FILE_DIR:bessemer-python>/python-library.so
  RENAME $<TARGET_SONAME_FILE_NAME:bessemer>
  DESTINATION ${destination}
  COMPONENT python)
