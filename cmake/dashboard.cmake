# Builds dashboard/ with Node and embeds the result in the binary. Its npm packages are fetched once, to
# dashboard/node_modules, by scripts/dashboard.

# queen_embed_dashboard(<target>): adds the source that defines queen::api::DashboardAssets().
function(queen_embed_dashboard target)
  set(directory ${CMAKE_SOURCE_DIR}/dashboard)
  set(output ${CMAKE_BINARY_DIR}/generated/dashboard/dashboard_assets.cc)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS
    ${directory}/src/*.ts ${directory}/src/*.tsx ${directory}/src/*.css ${directory}/src/*.html ${directory}/src/*.svg)
  list(FILTER sources EXCLUDE REGEX "/src/generated/")
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_SOURCE_DIR}/scripts/dashboard ${CMAKE_BINARY_DIR}/generated/dashboard
    DEPENDS ${sources} ${directory}/build.mjs ${directory}/types.mjs ${directory}/package-lock.json
            ${CMAKE_SOURCE_DIR}/docs/openapi.json ${CMAKE_SOURCE_DIR}/scripts/dashboard
    COMMENT "Building the dashboard"
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
