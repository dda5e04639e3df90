// PushBuffer: the file buffer as the push path sees it (src/buffer has it). Messages that
// PostgreSQL cannot take for now are appended to it, durable on this broker's disk, and pushed
// later in their order by its replay, as PushRequests with `replay` set.
//
// A partition is held from the first Append until its last message is stored: what is pushed to it
// meanwhile must not overtake. A queue has one owner among the loops, all pushes to it are routed
// there, and there its replays are answered, so a partition changes between direct and held only in
// steps that its owner sees.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/unique_function.h"
#include "loop/loop.h"

namespace queen::sidecar {

struct BufferedMessage {
  std::string_view txn;  // never empty: it is what makes a second replay harmless
  std::string_view payload;
  std::string_view meta;
};

class PushBuffer {
 public:
  enum class Route {
    kDirect,  // to PostgreSQL
    kBuffer,  // append it, behind what is there
    kWait,    // what is before it in the buffer is about to be stored: ask again soon
  };

  // False: everything goes direct. Any thread, cheap.
  virtual bool active() const = 0;
  // Any thread; what it says of a partition holds on the partition's owner.
  virtual Route RouteOf(std::string_view queue, std::string_view partition) const = 0;
  // Whether messages of this partition wait in the buffer. Any thread.
  virtual bool Holds(std::string_view queue, std::string_view partition) const = 0;
  // Holds the partition from now on. `done` runs on `loop` and never inside this call: ok when the
  // messages are durable, a retryable status when nothing of them will be replayed.
  virtual void Append(Loop& loop, std::string_view queue, std::string_view partition,
                      const std::vector<BufferedMessage>& messages,
                      UniqueFunction<void(const Status&)> done) = 0;

  // The id of the database that the messages are for, "" for none: they are pushed to no other.
  // Any thread.
  virtual std::string owner() const = 0;
  // A connection leads to the database of this id. Any thread, cheap.
  virtual void Meet(std::string_view database_id) = 0;

 protected:
  ~PushBuffer() = default;
};

}  // namespace queen::sidecar
