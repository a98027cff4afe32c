# Warnings are errors in our own code; headers of others are SYSTEM.
add_library(viewgate_warnings INTERFACE)
target_compile_options(viewgate_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wold-style-cast -Wnon-virtual-dtor -Woverloaded-virtual -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 with Boost 1.81: false positive in awaitable_frame_base at -O1 and -O2.
  target_compile_options(viewgate_warnings INTERFACE -Wno-mismatched-new-delete)
  # GCC 12: false positives in std::string's append and in std::variant at -O2 (GCC PR 105651, 105562).
  target_compile_options(viewgate_warnings INTERFACE -Wno-restrict -Wno-maybe-uninitialized)
  # GCC 12 warns of a designated initializer that leaves members at their declared defaults, which is what defaults are for.
  target_compile_options(viewgate_warnings INTERFACE -Wno-missing-field-initializers)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Clang warns of literals above the 65536 bytes that the standard asks compilers to take; the embedded SQL is one, and both take it.
  # And, as GCC above, of members that are left at what they are by themselves.
  target_compile_options(viewgate_warnings INTERFACE -Wno-overlength-strings -Wno-missing-field-initializers)
endif()
