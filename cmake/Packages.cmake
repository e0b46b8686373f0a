# SPDX-License-Identifier: Apache-2.0
# cpack -G DEB: packages for Debian and its relatives, one for each component of
# Install.cmake, as they are divided there; they depend on what the libraries in
# them need. cpack -G TGZ: one archive of everything, which can be unpacked
# anywhere. Configure with -DCMAKE_INSTALL_PREFIX=/usr for the former.

set(CPACK_PACKAGE_NAME bessemer)
set(CPACK_PACKAGE_VENDOR "The Bessemer authors")
set(CPACK_PACKAGE_CONTACT "The Bessemer authors <bessemer@localhost>"
    CACHE STRING "Who maintains the packages")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_COMPONENTS_ALL libraries development)
if(TARGET bessemer-cli)
  list(APPEND CPACK_COMPONENTS_ALL tools)
endif()

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_DEBIAN_LIBRARIES_PACKAGE_NAME libbessemer${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_LIBRARIES_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARIES_DESCRIPTION
    "${PROJECT_DESCRIPTION}: shared libraries
 Compile TorchScript and programs of torch.export, and run engines.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libbessemer-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS zlib1g-dev)
set(CPACK_COMPONENT_DEVELOPMENT_DEPENDS libraries)
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION
    "${PROJECT_DESCRIPTION}: for building programs
 Headers, static libraries, pkg-config files and documentation.")
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME bessemer)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_TOOLS_DESCRIPTION
    "${PROJECT_DESCRIPTION}: the command
 Compiles, runs, measures, compares and shows models.")

# Each package of Debian has its license in a place of its own.
set(packages libbessemer${PROJECT_VERSION_MAJOR} libbessemer-dev bessemer)
foreach(component IN ITEMS libraries development tools)
  list(POP_FRONT packages package)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package}
          RENAME copyright COMPONENT ${component})
endforeach()
include(CPack)
