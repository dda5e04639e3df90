// Consumes until a message says "stop": four handlers at a time, leases renewed while they run.
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <stdexcept>

#include "queen/consumer.h"

using namespace queen::client;

int main() {
  Options options;
  if (const char* url = std::getenv("QUEEN_URL")) options.urls = {url};
  Client client(options);

  ConsumerOptions consuming;
  consuming.pop.queue = "jobs";
  consuming.pop.group = "workers";
  consuming.pop.batch = 10;
  consuming.concurrency = 4;
  consuming.on_error = [](const Error& error) { std::cerr << error.message << "\n"; };

  std::mutex output;
  Consumer* running = nullptr;
  Consumer consumer(client, consuming, [&](const Message& message) {
    const std::lock_guard lock(output);
    if (message.payload == "\"stop\"") {
      running->Stop();
      return Answer::Completed();
    }
    if (message.payload == "\"poison\"") return Answer::DeadLetter("it is poison");
    if (message.payload == "\"throw\"") throw std::runtime_error("a bug");  // counts as failed
    std::cout << "done " << message.payload << std::endl;
    return Answer::Completed();
  });
  running = &consumer;

  const auto ended = consumer.Run();
  if (!ended.ok()) std::cerr << ended.error().message << "\n";
  return ended.ok() ? 0 : 1;
}
