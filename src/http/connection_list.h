// Connections in the order they joined: a timeout is the same for all of them, so those at the
// front are due first. The links run through the connections themselves, one pair for each list a
// connection may be in at the same time.
#pragma once

#include <utility>

#include "http/connection.h"

namespace queen::http {

template <ConnectionLinks Connection::*kLinks>
class ConnectionList {
 public:
  Connection* front() const { return front_; }
  static Connection* After(const Connection& connection) { return (connection.*kLinks).next; }

  // REQUIRES: in no list of these links
  void PushBack(Connection& connection) {
    connection.*kLinks = {back_, nullptr};
    (back_ != nullptr ? (back_->*kLinks).next : front_) = &connection;
    back_ = &connection;
  }

  // REQUIRES: in this list
  void Remove(Connection& connection) {
    const auto [previous, next] = std::exchange(connection.*kLinks, {});
    (previous != nullptr ? (previous->*kLinks).next : front_) = next;
    (next != nullptr ? (next->*kLinks).previous : back_) = previous;
  }

 private:
  Connection* front_ = nullptr;
  Connection* back_ = nullptr;
};

}  // namespace queen::http
