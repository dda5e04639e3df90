// The connections of one worker, all on one loop: takes over sockets from the acceptor, runs their
// clocks, writes their replies at the end of each turn of the loop, and drains them. Owner's thread
// only, but for loop().
//
// One timer serves every timeout: each state's list is ordered by time (connection.h), so a tick
// looks at the front of each. Timeouts therefore fire up to a tick late.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "auth/access.h"
#include "http/budgets.h"
#include "http/buffer_pool.h"
#include "http/client_limits.h"
#include "http/connection.h"
#include "http/connection_list.h"
#include "http/counters.h"
#include "http/limits.h"
#include "http/router.h"
#include "http/unique_fd.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "tls/certificates.h"

namespace queen::http {

struct Settings {
  Limits limits;
  // Origins whose pages may read replies: each is told so by Access-Control-Allow-Origin. "*" among
  // them allows every page; with none, no other origin's page may.
  std::vector<std::string> allow_origins;
  // Requests to this path are bulk (RequestBudget); "" for none.
  std::string bulk_path;
  // Clients speak TLS and are shown the certificate in force; null: they speak HTTP as it is.
  std::shared_ptr<const tls::Certificates> certificates;
  // Of a client that shows a certificate, and no token.
  auth::Role certificate_role = auth::Role::kReadWrite;
  // Of all workers; null: one client may have every connection.
  ClientLimits* client_limits = nullptr;
  // Asked about the head of a request whose body has not arrived with it: how it is refused, if its
  // sender may not send one. Unset: anybody may.
  std::function<std::optional<Response>(Request& head)> refuse_body;
  // Hears of every reply of 4xx or 5xx as it leaves, on the loop's thread; unset: nobody does.
  std::function<void(const Response& response, const Connection& client)> on_refused;
};

class Connections {
 public:
  // On the loop's thread. `budgets` outlive this and every Reply; `handler` is called for each
  // request (Router::Dispatch, usually).
  Connections(Loop& loop, std::shared_ptr<Budgets> budgets, Settings settings, Handler handler);
  // Aborts what is left. REQUIRES: the loop still runs.
  ~Connections();
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  // Refused connections of one worker that are told so in peace; the rest is told and closed at
  // once.
  static constexpr size_t kRefusedOpenMax = 16;

  // Takes over a connected, non-blocking socket. Beyond the budget a connection that does nothing
  // gives way to it. Where there is none, or while draining, the client gets a 503.
  void Adopt(UniqueFd socket);

  // Closes each connection after what it is owed, but none between two requests before a short
  // grace is over (connection.h, rule 6); new ones are refused. `done` runs on the loop, later,
  // once none is left. At most once.
  void Drain(UniqueFunction<void()> done);
  // Closes every connection now.
  void Abort();

  const Counters& counters() const { return counters_; }
  size_t open() const { return counters_.open; }
  Loop& loop() { return loop_; }
  // Any thread.
  bool speaks_tls() const { return settings_.certificates != nullptr; }

 private:
  friend class Connection;

  static constexpr size_t kReadBufferBytes = size_t{64} << 10;

  // Of Connection: put into the list of `state` as its youngest; kClosed is in no list.
  void Place(Connection& connection, Connection::State state);
  void MarkDirty(Connection& connection);
  void Remove(Connection& connection);
  std::string_view FixedHeaders();
  // The origin of `request` if it is one of those that are named; "" otherwise.
  std::string_view AllowedOrigin(const Request& request) const;
  // Of Connection: in the list of uploads as its youngest, with a new window.
  void StartUpload(Connection& connection);
  void EndUpload(Connection& connection);
  // Refuses arriving bodies, the largest first, if that makes room for `bytes` of `newcomer`'s
  // smaller one.
  bool MakeRoomForBody(const Connection& newcomer, size_t bytes, RequestBudget::Kind kind);
  // The largest arriving body that is larger than `newcomer`'s, nullptr for none. Adds the bytes of
  // all such bodies to `total`.
  Connection* LargestUploadBeyond(const Connection& newcomer, size_t& total);

  bool TakeConnection();
  // Where connections of one address are limited: takes one of those of this socket's, whose name
  // is then noted in `network`.
  bool TakeOfClient(const UniqueFd& socket, std::string& network);
  // Closes the connection that is missed least. False: every one is in use.
  bool CloseOneToSpare();
  Connection* FindSpare(Connection::State state, int64_t age_ms);
  void FlushDirty();
  void OnTick();
  void OnDrainGraceOver();
  void CheckUploads();
  using StateList = ConnectionList<&Connection::state_links_>;
  using UploadList = ConnectionList<&Connection::upload_links_>;
  StateList& ListOf(Connection::State state) { return lists_[static_cast<size_t>(state)]; }
  // The front of the list if it has been there for `timeout_ms`.
  Connection* Due(Connection::State state, int64_t timeout_ms);
  void FinishDrain();

  Loop& loop_;
  const std::shared_ptr<Budgets> budgets_;
  const Settings settings_;
  const Handler handler_;
  Counters counters_;
  BufferPool buffers_;
  std::unique_ptr<char[]> read_buffer_;
  std::unique_ptr<char[]> plain_buffer_;  // what read_buffer_ decrypts to; null without TLS
  std::string seal_buffer_;               // lent to the session that is being written
  std::array<StateList, Connection::kStateCount> lists_;
  UploadList uploads_;
  std::vector<std::shared_ptr<Connection>> dirty_;
  std::vector<std::shared_ptr<Connection>> flushing_;
  size_t refused_open_ = 0;  // open connections outside the budget
  size_t unread_open_ = 0;   // open connections whose input is not read for now
  bool draining_ = false;
  bool drain_grace_over_ = false;
  UniqueFunction<void()> drained_;
  std::string fixed_headers_;
  int64_t fixed_headers_second_ = -1;
  Timer tick_;
  Timer drain_grace_;
  // Run FlushDirty after the loop's I/O and before it sleeps; freed by their close callbacks.
  uv_check_t* after_io_;
  uv_prepare_t* before_sleep_;
};

}  // namespace queen::http
