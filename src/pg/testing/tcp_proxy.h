// TcpProxy: a TCP port in front of PostgreSQL's Unix socket, with what networks do wrong as
// methods. Runs on a thread of its own; every method takes effect before it returns.
//
// It also records what the client side sent, one entry per read, so that a test can see what left
// in one write.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "pg/connect_options.h"

namespace queen::pg::testing {

class TcpProxy {
 public:
  explicit TcpProxy(std::string server_socket_path);
  ~TcpProxy();  // as Cut
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  int port() const { return port_; }
  // `options` pointed at this proxy.
  ConnectOptions Through(ConnectOptions options) const;

  // From now on nothing passes, in either direction, and new connections get no answer: a black
  // hole. Nothing is closed.
  void Freeze();
  // What the server answers no longer passes; what clients send still does.
  void FreezeAnswers();
  // Everything passes again, first what was held back.
  void Thaw();
  // Resets every connection, on both sides.
  void Cut();
  // Waits until the client side has sent `text` since the last StartRecording.
  void WaitForClientBytes(const std::string& text);

  void StartRecording();
  // What was read from clients since, in order, one entry per read.
  std::vector<std::string> Recorded();

 private:
  struct Pair {
    int client = -1;
    int server = -1;
    std::string to_server;
    std::string to_client;
    bool dead = false;
  };

  void Run();
  // Runs `f` on the proxy's thread, between two rounds, and waits for it.
  void Do(std::function<void()> f);
  void RunCommands();
  void Accept();
  // Moves what it can; marks the pair dead when one end hung up.
  void Pump(Pair& pair, short client_events, short server_events);
  void Close(Pair& pair) const;

  const std::string server_socket_path_;
  int listener_ = -1;
  int wake_[2] = {-1, -1};
  int port_ = 0;
  std::vector<Pair> pairs_;
  bool frozen_ = false;
  bool answers_frozen_ = false;
  bool stop_ = false;
  bool recording_ = false;
  std::vector<std::string> recorded_;

  std::mutex mutex_;
  std::vector<std::function<void()>> commands_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace queen::pg::testing
