# What the JSON reader is held against: simdjson as a second opinion in its test and its benchmark.
target_link_libraries(base_json_random_test PRIVATE PkgConfig::simdjson)

find_package(benchmark QUIET)
if(benchmark_FOUND)
  add_executable(json_reader_benchmark json_reader_benchmark.cc)
  target_link_libraries(json_reader_benchmark PRIVATE queen_base PkgConfig::simdjson benchmark::benchmark)
endif()
