// PeerHints: what the sidecars of this process let the other brokers know (src/cluster). Whoever
// hears it looks at the database; if all of it is lost, consumers elsewhere wait until their next
// check. Any thread; never blocks.
#pragma once

#include <string_view>
#include <vector>

#include "base/ids.h"

namespace queen::sidecar {

class PeerHints {
 public:
  // Whether other brokers are there, as far as is known: then they tell at once what they did.
  virtual bool AnyoneThere() const = 0;
  // Whether anybody elsewhere waits for anything: if not, Pushed and Freed tell nobody.
  virtual bool AnyoneWaits() const = 0;
  // A partition has new messages. Consumers of the groups `served` cannot use them elsewhere: one
  // of this process takes them.
  virtual void Pushed(std::string_view queue, std::string_view partition, PartitionId id,
                      const std::vector<std::string_view>& served) = 0;
  // A lease has ended, and nobody of this process takes what is left.
  virtual void Freed(std::string_view queue, std::string_view partition, PartitionId id,
                     std::string_view group) = 0;
  // A consumer begins to wait.
  virtual void Parked(std::string_view queue, std::string_view group) = 0;
  // A queue was made, changed or deleted, or one of its groups was; "": perhaps any.
  virtual void QueueChanged(std::string_view queue) = 0;

 protected:
  ~PeerHints() = default;
};

}  // namespace queen::sidecar
