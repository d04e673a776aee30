# eplb_library(NAME SOURCES ... PUBLIC ... PRIVATE ...)
# One library of the house: target eplb_NAME, alias eplb::NAME, headers in include/, sources in src/.
# PUBLIC are the targets its headers need, PRIVATE those only its sources need.
function(eplb_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;PUBLIC;PRIVATE")
  add_library(eplb_${name} STATIC ${arg_SOURCES})
  add_library(eplb::${name} ALIAS eplb_${name})
  set_target_properties(eplb_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_compile_features(eplb_${name} PUBLIC cxx_std_20)
  target_include_directories(eplb_${name} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(eplb_${name} PUBLIC ${arg_PUBLIC})
  foreach(private IN LISTS arg_PRIVATE ITEMS eplb_warnings)
    # Headers and flags are spent once our sources are compiled, so an installed library does not
    # name them. A library must still be linked by whoever links this one, since it is static.
    get_target_property(type ${private} TYPE)
    if(type STREQUAL "INTERFACE_LIBRARY")
      set(private $<BUILD_INTERFACE:${private}>)
    endif()
    target_link_libraries(eplb_${name} PRIVATE ${private})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY EPLB_LIBRARIES eplb_${name})
endfunction()
