# The language CUDA, in C++20, for the architectures that CMAKE_CUDA_ARCHITECTURES names.
#
# NOTE [architecture-specific code] wgmma and setmaxnreg exist for compute_90a alone, and code for
# 90a does not run on 100. A source that uses them goes into a target of its own with the property
# CUDA_ARCHITECTURES 90a; everything else is built for 90 and 100 and chooses at run time.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 90 100)  # CMake's own default is 75, which nobody here has.
endif()

# The toolkit's usual folder is often not in the PATH.
if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  find_program(CMAKE_CUDA_COMPILER nvcc PATHS /usr/local/cuda/bin)
  if(NOT CMAKE_CUDA_COMPILER AND EPLB_GPU STREQUAL AUTO)
    set(EPLB_GPU OFF)  # For this run alone: the next one looks again.
    message(STATUS "No nvcc found: nothing is built that needs CUDA")
    return()
  endif()
  if(NOT CMAKE_CUDA_COMPILER)
    message(FATAL_ERROR "EPLB_GPU needs nvcc: put it in the PATH, name it in the environment's "
      "CUDACXX, or configure with -DEPLB_GPU=OFF")
  endif()
endif()
enable_language(CUDA)

# CMake 3.25 knows nvcc's standards up to C++17 and silently drops a wish for C++20, so it is told.
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
set(CMAKE_CUDA_STANDARD 20)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
set(CMAKE_CUDA_EXTENSIONS OFF)
