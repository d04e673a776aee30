# The cases need nothing but core, the group and doctest, so that a build without the simulator can
# have them too; whichever folder of a build comes first makes them.
include_guard(GLOBAL)

# The cases are compiled once, and linked to each world.
add_library(eplb_conformance_cases OBJECT
  ${CMAKE_CURRENT_LIST_DIR}/bounds_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/failures_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/memory_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/rank_history.cpp
  ${CMAKE_CURRENT_LIST_DIR}/rearrangements_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/served_world.cpp
  ${CMAKE_CURRENT_LIST_DIR}/steps_test.cpp)
target_include_directories(eplb_conformance_cases PRIVATE ${CMAKE_CURRENT_LIST_DIR}/../support)
target_link_libraries(eplb_conformance_cases PRIVATE
  doctest::doctest eplb::core eplb::group eplb_warnings)
