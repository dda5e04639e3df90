// The connections in one state, in the order they entered it: a timeout is the same for all of
// them, so those at the front are due first. Links run through the connections themselves.
#pragma once

#include "http/connection.h"

namespace queen::http {

class ConnectionList {
 public:
  Connection* front() const { return front_; }
  static Connection* After(const Connection& connection) { return connection.next_; }

  // REQUIRES: in no list
  void PushBack(Connection& connection) {
    connection.previous_ = back_;
    connection.next_ = nullptr;
    (back_ != nullptr ? back_->next_ : front_) = &connection;
    back_ = &connection;
  }

  // REQUIRES: in this list
  void Remove(Connection& connection) {
    (connection.previous_ != nullptr ? connection.previous_->next_ : front_) = connection.next_;
    (connection.next_ != nullptr ? connection.next_->previous_ : back_) = connection.previous_;
    connection.previous_ = connection.next_ = nullptr;
  }

 private:
  Connection* front_ = nullptr;
  Connection* back_ = nullptr;
};

}  // namespace queen::http
