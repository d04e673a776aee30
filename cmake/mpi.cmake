# Finds MPI where `eplb search` is to share its work by it; EPLB_MPI is then whether it does. MPI's
# own leaks would fail every test under a sanitizer.
if(EPLB_MPI STREQUAL "AUTO")
  set(EPLB_MPI OFF)
  if(NOT EPLB_SANITIZE)
    find_package(MPI QUIET COMPONENTS CXX)
    set(EPLB_MPI ${MPI_CXX_FOUND})
  endif()
elseif(EPLB_MPI)
  find_package(MPI REQUIRED COMPONENTS CXX)
endif()
