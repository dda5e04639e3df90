# Sources that are written while the build is configured: texts of the repository as C++ literals.

# queen_generated_source(<target> <name> <text>): adds a source file with this text. It is written only
# when the text differs, so that nothing is compiled again for nothing.
function(queen_generated_source target name text)
  set(output ${CMAKE_BINARY_DIR}/generated/${name})
  set(before "")
  if(EXISTS ${output})
    file(READ ${output} before)
  endif()
  if(NOT before STREQUAL text)
    file(WRITE ${output} "${text}")
  endif()
  target_sources(${target} PRIVATE ${output})
endfunction()
