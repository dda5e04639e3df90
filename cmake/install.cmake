# What `cmake --install` (and `make install`) puts where. PREFIX and DESTDIR are those of the moment of installing,
# so one build serves /usr/local, a package and a directory of one's own.
#
#   bin/queen                            the program
#   share/man/man1/queen.1.gz            written by scripts/man-page from what the program says of itself
#   share/bash-completion, zsh, fish     what `queen completion` prints
#   lib/systemd/system/queen.service     with the path of this program
#   etc/queen/queen.env                  settings of the service; a file that is there stays as it is
#   share/doc/queen/                     README, licence, docs/
#
# etc is /etc for the prefixes /usr and /usr/local, and below the prefix for every other.
set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

install(TARGETS queen RUNTIME DESTINATION bin)
install(FILES README.md ARCHITECTURE.md CHANGELOG.md LICENSE DESTINATION share/doc/queen)
install(DIRECTORY docs/ DESTINATION share/doc/queen/docs)
install(CODE "
  set(QUEEN_SOURCE_DIR \"${CMAKE_SOURCE_DIR}\")
  set(QUEEN_BINARY \"$<TARGET_FILE:queen>\")
  set(QUEEN_MADE_DIR \"${CMAKE_BINARY_DIR}/installed\")")
install(SCRIPT cmake/install_made.cmake)
