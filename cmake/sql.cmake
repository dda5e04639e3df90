# Embeds sql/ in the binary: every migration, every procedure and the release of the procedures,
# as text. A file that is added, changed or removed makes the next build configure again.

# queen_embed_sql(<target>): adds the source that defines queen::storage::EmbeddedFiles().
function(queen_embed_sql target)
  set(directory ${CMAKE_SOURCE_DIR}/sql)
  file(GLOB files CONFIGURE_DEPENDS
    ${directory}/migrations/*.sql ${directory}/procedures/*.sql ${directory}/procedures/RELEASE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})

  set(rows "")
  foreach(file ${files})
    file(RELATIVE_PATH path ${directory} ${file})
    file(READ ${file} text)
    string(APPEND rows "      {\"${path}\", R\"queen_sql(${text})queen_sql\"},\n")
  endforeach()
  queen_generated_source(${target} embedded_files.cc "// Written by cmake/sql.cmake from sql/.
#include \"storage/embedded_files.h\"

namespace queen::storage {

std::vector<EmbeddedFile> EmbeddedFiles() {
  return {
${rows}  };
}

}  // namespace queen::storage
")
endfunction()
