// For tests: a ReplyTarget that keeps what is sent, so that handlers and routers can be tested
// without a socket.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "http/reply.h"

namespace queen::http {

class TestTarget final : public ReplyTarget {
 public:
  Status TakeRoom(uint64_t /*sequence*/, size_t bytes, RoomFor /*what*/) override {
    rooms_asked.push_back(bytes);
    if (bytes > bytes_max) return Status(Code::kPayloadTooLarge);
    return bytes > bytes_free ? Status(Code::kOverloaded) : Status::Ok();
  }
  size_t reply_bytes_max() const override { return bytes_max; }
  void Deliver(uint64_t sequence, Response response) override {
    on_disconnect.erase(sequence);
    responses.emplace(sequence, std::move(response));
  }
  void Abandon(uint64_t sequence) override { ++abandoned[sequence]; }
  void OnDisconnect(uint64_t sequence, UniqueFunction<void()> callback) override {
    on_disconnect[sequence] = std::move(callback);
  }
  void HoldNext(uint64_t sequence) override { held.insert(sequence); }
  bool connected() const override { return is_connected; }

  std::map<uint64_t, Response> responses;
  std::map<uint64_t, int> abandoned;
  std::map<uint64_t, UniqueFunction<void()>> on_disconnect;
  std::set<uint64_t> held;
  bool is_connected = true;
  std::vector<size_t> rooms_asked;
  size_t bytes_max = SIZE_MAX;
  size_t bytes_free = SIZE_MAX;
};

}  // namespace queen::http
