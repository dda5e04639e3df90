# Embeds docs/openapi.json in the binary. It is committed, so the build needs no Python; when it
# changes, the next build configures again.

# queen_embed_openapi(<target>): adds the source that defines queen::api::OpenApiDocument().
function(queen_embed_openapi target)
  set(file ${CMAKE_SOURCE_DIR}/docs/openapi.json)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  queen_generated_source(${target} openapi_document.cc "// Written by cmake/openapi.cmake from docs/openapi.json.
#include \"api/openapi.h\"

namespace queen::api {

std::string_view OpenApiDocument() {
  return R\"queen_json(${text})queen_json\";
}

}  // namespace queen::api
")
endfunction()
