# Installs build_dir into an empty prefix; fails if an installed CMake file names source_dir or
# build_dir, since such a package works only on the machine that made it.
file(REMOVE_RECURSE "${prefix}")
execute_process(COMMAND ${CMAKE_COMMAND} --install "${build_dir}" --prefix "${prefix}"
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)

file(GLOB_RECURSE package_files "${prefix}/*.cmake")
if(NOT package_files)
  message(FATAL_ERROR "nothing was installed under ${prefix}")
endif()
foreach(package_file IN LISTS package_files)
  file(READ "${package_file}" text)
  # The prefix lies in the build tree, and a package finds it from its own place.
  foreach(dir IN ITEMS "${source_dir}" "${build_dir}")
    string(FIND "${text}" "${dir}" position)
    if(NOT position EQUAL -1)
      message(FATAL_ERROR "${package_file} names ${dir}")
    endif()
  endforeach()
endforeach()
