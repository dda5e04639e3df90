# Runs while installing: the files that are made from the program or depend on the prefix (cmake/install.cmake
# lists them). REQUIRES: QUEEN_SOURCE_DIR, QUEEN_BINARY, QUEEN_MADE_DIR (where they are made).
file(REMOVE_RECURSE ${QUEEN_MADE_DIR})
file(MAKE_DIRECTORY ${QUEEN_MADE_DIR})

# queen_made(<name> <place below the prefix> <command...>): installs what the command prints.
function(queen_made name place)
  execute_process(COMMAND ${ARGN} OUTPUT_FILE ${QUEEN_MADE_DIR}/${name} ERROR_VARIABLE error RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "making ${name} failed: ${error}")
  endif()
  file(INSTALL ${QUEEN_MADE_DIR}/${name} DESTINATION ${CMAKE_INSTALL_PREFIX}/${place})
endfunction()

if(CMAKE_INSTALL_PREFIX MATCHES "^/usr(/local)?/?$")
  set(etc /etc)
else()
  set(etc ${CMAKE_INSTALL_PREFIX}/etc)
endif()

# The man page, packed as man pages are; -n leaves the time out, so that two builds are alike.
execute_process(COMMAND ${QUEEN_SOURCE_DIR}/scripts/man-page ${QUEEN_BINARY}
  OUTPUT_FILE ${QUEEN_MADE_DIR}/page RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "scripts/man-page failed")
endif()
queen_made(queen.1.gz share/man/man1 gzip -9nc ${QUEEN_MADE_DIR}/page)

execute_process(COMMAND ${QUEEN_BINARY} completion bash OUTPUT_QUIET ERROR_QUIET RESULT_VARIABLE result)
if(result EQUAL 0)
  queen_made(queen share/bash-completion/completions ${QUEEN_BINARY} completion bash)
  queen_made(_queen share/zsh/vendor-completions ${QUEEN_BINARY} completion zsh)
  queen_made(queen.fish share/fish/vendor_completions.d ${QUEEN_BINARY} completion fish)
endif()

set(QUEEN_ENV_FILE ${etc}/queen/queen.env)
configure_file(${QUEEN_SOURCE_DIR}/deploy/systemd/queen.service.in ${QUEEN_MADE_DIR}/queen.service @ONLY)
file(INSTALL ${QUEEN_MADE_DIR}/queen.service DESTINATION ${CMAKE_INSTALL_PREFIX}/lib/systemd/system)

if(NOT EXISTS $ENV{DESTDIR}${QUEEN_ENV_FILE})
  # Readable by root only, because passwords go into it; systemd reads it as root.
  file(INSTALL ${QUEEN_SOURCE_DIR}/deploy/systemd/queen.env DESTINATION ${etc}/queen
    PERMISSIONS OWNER_READ OWNER_WRITE)
endif()
