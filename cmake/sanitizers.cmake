# VIEWGATE_SANITIZE=address|thread, set by the presets asan and tsan.
set(VIEWGATE_SANITIZE "" CACHE STRING "address (with undefined) or thread")
if(VIEWGATE_SANITIZE STREQUAL "address")
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(VIEWGATE_SANITIZE STREQUAL "thread")
  # -Wno-tsan: Asio uses fences, which TSan does not model.
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer -Wno-tsan)
  add_link_options(-fsanitize=thread)
endif()

# Set by the preset fuzz: clang's libFuzzer over the pure code (tests/fuzz), with the sanitizers that make it see.
option(VIEWGATE_FUZZ "Build the fuzzers with libFuzzer" OFF)
if(VIEWGATE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()
