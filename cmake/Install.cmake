# SPDX-License-Identifier: Apache-2.0
# Libraries, headers, pkg-config files, the CMake package and the tool, in the
# components that Packages.cmake makes packages of: `libraries` is what programs
# run with, `development` what they are built with, `tools` the command.

include(CMakePackageConfigHelpers)

set(libraries bessemer-runtime bessemer-runtime-shapes)
if(BSM_BUILD_COMPILER)
  list(APPEND libraries bessemer)
endif()
foreach(name IN LISTS libraries)
  install(
    TARGETS ${name} ${name}-static
    EXPORT bessemer
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
            COMPONENT libraries
            NAMELINK_COMPONENT development
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
            COMPONENT development)
endforeach()
if(TARGET bessemer-cli)
  install(TARGETS bessemer-cli DESTINATION ${CMAKE_INSTALL_BINDIR}
          COMPONENT tools)
endif()
if(TARGET bessemer-manuals)
  install(DIRECTORY ${BSM_MANUALS}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR}
          COMPONENT tools)
  install(FILES ${BSM_MANUALS}/bash/bessemer
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
          COMPONENT tools)
  install(FILES ${BSM_MANUALS}/zsh/_bessemer
          DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions
          COMPONENT tools)
  install(FILES ${BSM_MANUALS}/fish/bessemer.fish
          DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
          COMPONENT tools)
endif()
install(DIRECTORY include/bessemer DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT development)

install(FILES LICENSE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}
        COMPONENT development)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
        COMPONENT development)

# find_package(bessemer): bessemer::bessemer, bessemer::runtime,
# bessemer::runtime-shapes and their -static forms.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/bessemer)
install(
  EXPORT bessemer
  NAMESPACE bessemer::
  FILE bessemer-targets.cmake
  DESTINATION ${package_dir}
  COMPONENT development)
configure_package_config_file(
  cmake/bessemer-config.cmake.in ${PROJECT_BINARY_DIR}/bessemer-config.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/bessemer-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/bessemer-config.cmake
              ${PROJECT_BINARY_DIR}/bessemer-config-version.cmake
        DESTINATION ${package_dir}
        COMPONENT development)

# The files find their folder themselves, so that the prefix may be chosen when
# installing, and the tree be moved. Absolute folders stay as they are.
file(RELATIVE_PATH up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" up "${up}")
set(BSM_PC_PREFIX "\${pcfiledir}/${up}")
set(BSM_PC_LIBDIR "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
set(BSM_PC_INCLUDEDIR "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  set(BSM_PC_PREFIX ${CMAKE_INSTALL_PREFIX})
  set(BSM_PC_LIBDIR ${CMAKE_INSTALL_LIBDIR})
endif()
if(IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(BSM_PC_INCLUDEDIR ${CMAKE_INSTALL_INCLUDEDIR})
endif()
foreach(name IN LISTS libraries)
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
          COMPONENT development)
endforeach()
