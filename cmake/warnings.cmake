# eplb_warnings: how our own code is compiled. Linked PRIVATE, so no user of the libraries inherits it.
add_library(eplb_warnings INTERFACE)
target_compile_options(eplb_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
    -Wnon-virtual-dtor -Wold-style-cast>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wshadow>)
# GCC 12 takes std::string's own concatenation for an overlapping copy when it optimises (its bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(eplb_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
if(EPLB_WERROR)
  target_compile_options(eplb_warnings INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Werror>
    $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
endif()

# The same seed gives the same bytes on any build, so no build may fuse a multiply and an add.
target_compile_options(eplb_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)

# Sanitizers are a property of the whole program: every target of this tree gets them.
if(EPLB_SANITIZE)
  add_compile_options(-fsanitize=${EPLB_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${EPLB_SANITIZE})
endif()
