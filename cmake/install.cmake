# What `cmake --install` lays down: the libraries with their headers, the command, the licence, the
# configurations, and a CMake package whose components are the libraries (core, placement, ...).
# Each component has a targets file of its own, so that who asks for core need not have yaml-cpp.
include(CMakePackageConfigHelpers)
set(eplb_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/eplb")

# The package that a user of an installed library must find for each target that the library names.
set(eplb_package_of_Eigen3::Eigen Eigen3)
set(eplb_package_of_tl::expected tl-expected)
set(eplb_package_of_fmt::fmt fmt)
set(eplb_package_of_yaml-cpp yaml-cpp)
set(eplb_package_of_nlohmann_json::nlohmann_json nlohmann_json)
set(eplb_package_of_Boost::headers Boost)
set(eplb_package_of_Threads::Threads Threads)
set(eplb_package_of_CUDA::cudart_static CUDAToolkit)

# What a component's file must load before its targets, read off what the library links.
function(eplb_requirements library result)
  set(requirements "")
  get_target_property(links ${library} INTERFACE_LINK_LIBRARIES)
  foreach(link IN LISTS links)
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" link "${link}")
    if(link MATCHES "BUILD_INTERFACE" OR link STREQUAL "${CMAKE_DL_LIBS}")
      continue()  # The system's own library needs no package.
    elseif(link MATCHES "^eplb(::|_)(.*)$")
      string(APPEND requirements
        "include(\"\${CMAKE_CURRENT_LIST_DIR}/eplb-${CMAKE_MATCH_2}.cmake\")\n")
    elseif(DEFINED eplb_package_of_${link})
      string(APPEND requirements "find_dependency(${eplb_package_of_${link}})\n")
    else()
      message(FATAL_ERROR "${library} links ${link}: name its package in cmake/install.cmake")
    endif()
  endforeach()
  set(${result} "${requirements}" PARENT_SCOPE)
endfunction()

set(eplb_components "")
get_property(libraries GLOBAL PROPERTY EPLB_LIBRARIES)
foreach(library IN LISTS libraries)
  get_target_property(component ${library} EXPORT_NAME)
  get_target_property(source_dir ${library} SOURCE_DIR)
  install(TARGETS ${library} EXPORT eplb-${component}-targets
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT eplb-${component}-targets NAMESPACE eplb:: DESTINATION "${eplb_package_dir}")
  install(DIRECTORY "${source_dir}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")

  eplb_requirements(${library} requirements)
  set(component_file "${PROJECT_BINARY_DIR}/package/eplb-${component}.cmake")
  file(CONFIGURE OUTPUT "${component_file}" @ONLY CONTENT
    "@requirements@include(\"\${CMAKE_CURRENT_LIST_DIR}/eplb-@component@-targets.cmake\")\n")
  install(FILES "${component_file}" DESTINATION "${eplb_package_dir}")
  list(APPEND eplb_components ${component})
endforeach()

configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/eplbConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/package/eplbConfig.cmake" INSTALL_DESTINATION "${eplb_package_dir}"
  NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change what a user of the headers sees.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/package/eplbConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/package/eplbConfig.cmake"
  "${PROJECT_BINARY_DIR}/package/eplbConfigVersion.cmake"
  DESTINATION "${eplb_package_dir}")

if(TARGET eplb)
  install(TARGETS eplb RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/configs" DESTINATION "${CMAKE_INSTALL_DATADIR}/eplb")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
