// Owner: which database the buffered messages are for, written beside them in the file `database`.
//
//   no file             nobody's: written before the broker ever met its database, or all replayed
//   the id of a         of that database (queen.database_identity); a standby, a copy and a
//   restored database            dump of it have the same id
//
// Used by one thread at a time.
#pragma once

#include <string>

#include "buffer/files.h"

namespace queen::buffer {

class Owner {
 public:
  explicit Owner(Directory& directory) : directory_(directory) {}

  // Reads the file. `empty`: no message is buffered, so that the buffer is nobody's.
  Status Open(bool empty);
  // The messages are for the database `id`; durable when it returns ok. An error with a text for a
  // person when they are for another one: then nothing was changed. REQUIRES: Open was ok
  Status Claim(const std::string& id);

 private:
  Status Write(const std::string& id);

  Directory& directory_;
  std::string id_;  // "" for nobody's
};

}  // namespace queen::buffer
