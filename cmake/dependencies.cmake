# Everything we link against comes from Debian packages (scripts/packages lists them).
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(GTest REQUIRED)
find_package(PostgreSQL REQUIRED)
find_package(CLI11 REQUIRED)
pkg_check_modules(uv REQUIRED IMPORTED_TARGET libuv)
pkg_check_modules(simdjson REQUIRED IMPORTED_TARGET simdjson)

# Debian ships llhttp as C sources (node-llhttp).
add_library(llhttp STATIC /usr/share/llhttp/api.c /usr/share/llhttp/http.c /usr/share/llhttp/llhttp.c)
target_include_directories(llhttp SYSTEM PUBLIC /usr/share/include/llhttp)
target_compile_options(llhttp PRIVATE -O3 -w)
