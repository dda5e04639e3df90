// Owner: which database the buffered messages are for, written beside them in the file `database`.
//
//   no file             nobody's: written before the broker ever met its database, or all replayed
//   the id of a         of that database (queen.database_identity); a standby, a copy and a
//   restored database            dump of it have the same id
//
// While the broker runs it may meet another database, where its address leads to one: an empty
// buffer is then that database's.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "buffer/files.h"

namespace queen::buffer {

class Owner {
 public:
  explicit Owner(Directory& directory) : directory_(directory) {}

  // Reads the file. `empty`: no message is buffered, so that the buffer is nobody's.
  Status Open(bool empty);
  // The messages are for the database `id`; durable when it returns ok. kConflict, with a text for
  // a person, when they are for another one: then nothing was changed. After an error of the disk
  // they are for it as long as the process lives. `empty` as above. One thread at a time.
  // REQUIRES: Open was ok
  Status Claim(const std::string& id, bool empty);
  // The database that the messages are for, "" for nobody's. Any thread.
  std::string id() const;
  // Whether they are for the database `id`, and the disk has it. Any thread.
  bool Is(std::string_view id) const;

 private:
  Status Write(const std::string& id);

  void Set(const std::string& id, bool noted);

  Directory& directory_;
  mutable std::mutex mutex_;
  std::string id_;      // "" for nobody's; from here on guarded by mutex_
  bool noted_ = false;  // it is on the disk
};

}  // namespace queen::buffer
