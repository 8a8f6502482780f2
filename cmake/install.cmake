# What `cmake --install build --prefix DIR` and the packages of CPack hold: the programs, the two
# libraries, headers, schemas, and the CMake package that find_package(kernelmap) finds.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(KM_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/kernelmap)
# libtorch is not part of it: it is looked for where it was when this was built.
get_filename_component(KM_TORCH_LIB "${TORCH_INSTALL_PREFIX}/lib" ABSOLUTE)
file(RELATIVE_PATH KM_LIB_FROM_BIN ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})

install(TARGETS kernelmap RUNTIME COMPONENT kernelmap)
if(TARGET kernelmap-rewrite)
  set_target_properties(kernelmap-rewrite PROPERTIES
    INSTALL_RPATH "$ORIGIN/${KM_LIB_FROM_BIN};${KM_TORCH_LIB}")
  set_target_properties(kernelmap_runtime kernelmap_inprocess PROPERTIES
    INSTALL_RPATH "$ORIGIN;${KM_TORCH_LIB}")
  install(TARGETS kernelmap-rewrite kernelmap_runtime kernelmap_inprocess
          RUNTIME COMPONENT kernelmap LIBRARY COMPONENT kernelmap)
endif()

# A program includes "rewriter/modules/load.h" here and in the source tree alike.
install(DIRECTORY compiler rewriter DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kernelmap
        COMPONENT kernelmap FILES_MATCHING PATTERN "compiler/*.h" PATTERN "modules/*.h"
        PATTERN "compiler/archive" EXCLUDE PATTERN "compiler/store" EXCLUDE PATTERN "compiler/hub" EXCLUDE
        PATTERN "compiler/diff" EXCLUDE PATTERN "rewriter/expr" EXCLUDE PATTERN "rewriter/torchscript" EXCLUDE
        PATTERN "rewriter/archive" EXCLUDE)
install(DIRECTORY schemas/ DESTINATION ${CMAKE_INSTALL_DATADIR}/kernelmap/schemas COMPONENT kernelmap)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT kernelmap)

configure_package_config_file(cmake/kernelmapConfig.cmake.in
  ${CMAKE_BINARY_DIR}/cmake/kernelmapConfig.cmake INSTALL_DESTINATION ${KM_CMAKE_DIR}
  PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/cmake/kernelmapConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/cmake/kernelmapConfig.cmake
        ${CMAKE_BINARY_DIR}/cmake/kernelmapConfigVersion.cmake cmake/kernelmap_apply.cmake
        DESTINATION ${KM_CMAKE_DIR} COMPONENT kernelmap)

set(CPACK_PACKAGE_NAME kernelmap)
set(CPACK_PACKAGE_VENDOR kernelmap)
set(CPACK_PACKAGE_CONTACT "kernelmap maintainers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "optimised kernels for TorchScript models, by a config")
set(CPACK_PACKAGE_FILE_NAME kernelmap-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_COMPONENTS_ALL kernelmap)
set(CPACK_ARCHIVE_COMPONENT_INSTALL OFF)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER ${CPACK_PACKAGE_CONTACT})
# `fetch` loads it when it runs.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libcurl4 | libcurl4t64")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${KM_TORCH_LIB} ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
include(CPack)
