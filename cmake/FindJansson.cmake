# SPDX-License-Identifier: Apache-2.0
# Jansson reads the JSON of torch.export archives. It comes with a pkg-config
# file, or with a CMake package where it was built with CMake; this gives the
# one target Jansson::Jansson. Installed beside the package of Bessemer, whose
# static library needs it.

find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(PC_JANSSON QUIET jansson)
endif()
find_path(JANSSON_INCLUDE_DIR jansson.h HINTS ${PC_JANSSON_INCLUDE_DIRS})
find_library(JANSSON_LIBRARY jansson HINTS ${PC_JANSSON_LIBRARY_DIRS})
if(JANSSON_INCLUDE_DIR)
  file(STRINGS ${JANSSON_INCLUDE_DIR}/jansson.h JANSSON_VERSION
       REGEX "^#define JANSSON_VERSION +\"")
  string(REGEX REPLACE "^[^\"]*\"([^\"]*)\".*" "\\1" JANSSON_VERSION
                       "${JANSSON_VERSION}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  Jansson
  REQUIRED_VARS JANSSON_LIBRARY JANSSON_INCLUDE_DIR
  VERSION_VAR JANSSON_VERSION)
mark_as_advanced(JANSSON_INCLUDE_DIR JANSSON_LIBRARY)

if(Jansson_FOUND AND NOT TARGET Jansson::Jansson)
  add_library(Jansson::Jansson UNKNOWN IMPORTED)
  set_target_properties(
    Jansson::Jansson PROPERTIES IMPORTED_LOCATION ${JANSSON_LIBRARY}
                                INTERFACE_INCLUDE_DIRECTORIES
                                ${JANSSON_INCLUDE_DIR})
endif()
