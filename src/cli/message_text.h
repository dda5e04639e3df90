// Messages as pop and tail print them.
#pragma once

#include <string>

#include <queen/message.h>

namespace queen::cli {

// One line of JSON with the field names of a pop's reply.
std::string MessageJson(const client::Message& message);

// "partition@offset" for people.
std::string PlaceOf(const client::Message& message);

}  // namespace queen::cli
