// Takes a message and pushes its result: both happen, or neither.
#include <cstdlib>
#include <iostream>

#include "queen/client.h"

using namespace queen::client;

int main() {
  Options options;
  if (const char* url = std::getenv("QUEEN_URL")) options.urls = {url};
  Client client(options);

  PopRequest request;
  request.queue = "in";
  request.wait = std::chrono::seconds(10);
  const auto messages = client.Pop(request);
  if (!messages.ok() || messages->empty()) return 1;

  NewMessage result;
  result.queue = "out";
  result.payload = R"({"result of": )" + messages->front().payload + "}";
  const auto committed = client.Commit(Transaction().Push(result).Ack(messages->front()));
  if (!committed.ok()) {
    std::cerr << "nothing happened: " << committed.error().message << "\n";
    return 1;
  }
  std::cout << "moved " << messages->front().payload << "\n";
}
