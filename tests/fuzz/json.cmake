queen_fuzz_target(json_fuzz json_fuzz.cc ${CMAKE_SOURCE_DIR}/tests/corpus/json queen_base)
