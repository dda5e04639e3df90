# One directory of src/ is one static library named queen_<directory>; its tests sit beside the
# code and the suffix says what they need: *_test.cc nothing, *_pgtest.cc a PostgreSQL server.

add_library(queen_options INTERFACE)
target_include_directories(queen_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_options(queen_options INTERFACE -Wall -Wextra -Wshadow -Wconversion -Werror)

# queen_module(<name> DEPS <targets...> [TEST_DEPS <targets...>] [DIRECTORIES <names...>]): every .cc
# in this directory, and in those below it that are named, that is not a test.
function(queen_module name)
  cmake_parse_arguments(ARG "" "" "DEPS;TEST_DEPS;DIRECTORIES" ${ARGN})
  set(patterns ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  foreach(directory ${ARG_DIRECTORIES})
    list(APPEND patterns ${CMAKE_CURRENT_SOURCE_DIR}/${directory}/*.cc)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|_pgtest|_fuzz|_benchmark|/main)\\.cc$")
  list(FILTER tests INCLUDE REGEX "(_test|_pgtest)\\.cc$")
  add_library(queen_${name} STATIC ${sources})
  target_link_libraries(queen_${name} PUBLIC queen_options ${ARG_DEPS})
  foreach(test ${tests})
    queen_test(${test} queen_${name} ${ARG_TEST_DEPS})
  endforeach()
endfunction()

# queen_test(<file> <libraries...>): a gtest binary and its ctest entry, both named after its path.
function(queen_test file)
  get_filename_component(above ${CMAKE_CURRENT_SOURCE_DIR} DIRECTORY)
  get_filename_component(path ${file} ABSOLUTE)
  file(RELATIVE_PATH path ${above} ${path})
  get_filename_component(directory ${path} DIRECTORY)
  get_filename_component(file_name ${path} NAME_WE)
  string(REPLACE "/" "_" test_name ${directory}/${file_name})
  add_executable(${test_name} ${file})
  set_target_properties(${test_name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(${test_name} PRIVATE ${ARGN} GTest::gtest GTest::gtest_main)
  if(test_name MATCHES "_pgtest$")
    add_test(NAME ${directory}/${file_name}
      COMMAND ${CMAKE_SOURCE_DIR}/scripts/with-postgres $<TARGET_FILE:${test_name}>)
    set_tests_properties(${directory}/${file_name} PROPERTIES LABELS pg TIMEOUT 300)
  else()
    add_test(NAME ${directory}/${file_name} COMMAND ${test_name})
    set_tests_properties(${directory}/${file_name} PROPERTIES LABELS unit TIMEOUT 300)
  endif()
endfunction()
