# find_package(queen-client) gives the target queen::client.
include(CMakeFindDependencyMacro)
find_dependency(CURL)
find_dependency(fmt)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/queen-client-targets.cmake)
