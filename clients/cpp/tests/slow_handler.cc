// A consumer whose handler takes as long as its test wants: it says which message it has and waits
// for a line on standard input. tests/cli/test_client_library.py drives it.
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <string>

#include "queen/consumer.h"

using namespace queen::client;

int main() {
  Options options;
  options.urls = {std::getenv("QUEEN_URL")};
  Client client(options);

  std::atomic<const Message*> handled = nullptr;
  ConsumerOptions consuming;
  consuming.pop.queue = "slow";
  consuming.pop.batch = 10;
  consuming.pop.lease_seconds = 3;
  consuming.on_error = [&](const Error& error) {
    const Message* message = handled;
    std::cout << "error " << (message != nullptr && message->LeaseLost() ? "lost" : "not lost")
              << " " << error.message << std::endl;
  };

  Consumer* running = nullptr;
  Consumer consumer(client, consuming, [&](const Message& message) {
    handled = &message;
    std::cout << "handle " << message.payload << std::endl;
    std::string line;
    if (!std::getline(std::cin, line) || line == "stop") running->Stop();
    handled = nullptr;
    return Answer::Completed();
  });
  running = &consumer;
  return consumer.Run().ok() ? 0 : 1;
}
