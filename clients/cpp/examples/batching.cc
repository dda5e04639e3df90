// Pushes 10,000 messages in the background, many in one request, and waits for all outcomes.
#include <atomic>
#include <cstdlib>
#include <iostream>

#include "queen/producer.h"

using namespace queen::client;

int main() {
  Options options;
  if (const char* url = std::getenv("QUEEN_URL")) options.urls = {url};
  Client client(options);

  Producer producer(client);
  std::atomic<int> failed = 0;
  for (int i = 0; i < 10'000; ++i) {
    NewMessage message;
    message.queue = "measurements";
    message.partition = "sensor-" + std::to_string(i % 50);
    message.payload = std::to_string(i);
    // Waits here while too much is unanswered.
    const auto taken = producer.Push(message, [&](const PushOutcome& outcome) {
      if (!outcome.ok()) ++failed;
    });
    if (!taken.ok()) std::cerr << taken.error().message << "\n";
  }
  producer.Flush();

  const ProducerCounts counts = producer.counts();
  std::cout << "stored " << counts.stored << ", failed " << failed << "\n";
  std::cout << (counts.requests < 1'000 ? "in few requests" : "in many requests") << "\n";
}
