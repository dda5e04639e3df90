// Pushes two messages and says what became of them.
#include <cstdlib>
#include <iostream>

#include "queen/client.h"

using namespace queen::client;

int main() {
  Options options;
  if (const char* url = std::getenv("QUEEN_URL")) options.urls = {url};
  Client client(options);

  NewMessage order;
  order.queue = "orders";
  order.partition = "customer-7";  // messages of one partition stay in order
  order.payload = R"({"order": 42})";
  NewMessage note = order;
  note.payload = JsonString("a text with \"quotes\"");

  const auto outcomes = client.Push({order, note});
  if (!outcomes.ok()) {
    std::cerr << "not pushed: " << outcomes.error().message << "\n";
    return 1;
  }
  for (const PushOutcome& outcome : *outcomes) {
    std::cout << (outcome.ok() ? "pushed " : "failed ") << outcome.transaction_id << "\n";
  }
}
