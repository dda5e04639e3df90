// The simplest server on libuv and llhttp: one loop, a fixed 200 to each parsed request,
// keep-alive, and nothing that a real server needs. What the full stack is measured against.
//   http_bare_server <port>
#include <llhttp.h>
#include <netinet/in.h>
#include <uv.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

constexpr std::string_view kReply =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n"
    "{\"status\":\"ok\"}";

char read_buffer[65536];
llhttp_settings_t settings;

struct Client {
  uv_tcp_t tcp;
  llhttp_t parser;
};

void Close(Client* client) {
  uv_close(reinterpret_cast<uv_handle_t*>(client),
           [](uv_handle_t* handle) { delete reinterpret_cast<Client*>(handle); });
}

int OnMessageComplete(llhttp_t* parser) {
  auto* client = static_cast<Client*>(parser->data);
  uv_buf_t reply = uv_buf_init(const_cast<char*>(kReply.data()), kReply.size());
  uv_try_write(reinterpret_cast<uv_stream_t*>(&client->tcp), &reply, 1);
  return 0;
}

void OnRead(uv_stream_t* stream, ssize_t size, const uv_buf_t* buffer) {
  auto* client = reinterpret_cast<Client*>(stream);
  if (size < 0) return Close(client);
  if (llhttp_execute(&client->parser, buffer->base, static_cast<size_t>(size)) != HPE_OK) {
    Close(client);
  }
}

void OnConnection(uv_stream_t* listener, int status) {
  if (status != 0) return;
  auto* client = new Client;
  uv_tcp_init(listener->loop, &client->tcp);
  if (uv_accept(listener, reinterpret_cast<uv_stream_t*>(client)) != 0) return Close(client);
  uv_tcp_nodelay(&client->tcp, 1);
  llhttp_init(&client->parser, HTTP_REQUEST, &settings);
  client->parser.data = client;
  uv_read_start(
      reinterpret_cast<uv_stream_t*>(client),
      [](uv_handle_t*, size_t, uv_buf_t* buffer) {
        *buffer = uv_buf_init(read_buffer, sizeof read_buffer);
      },
      OnRead);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::signal(SIGPIPE, SIG_IGN);
  llhttp_settings_init(&settings);
  settings.on_message_complete = OnMessageComplete;
  uv_tcp_t listener;
  uv_tcp_init(uv_default_loop(), &listener);
  sockaddr_in address;
  uv_ip4_addr("127.0.0.1", std::atoi(argv[1]), &address);
  uv_tcp_bind(&listener, reinterpret_cast<sockaddr*>(&address), 0);
  if (uv_listen(reinterpret_cast<uv_stream_t*>(&listener), 1024, OnConnection) != 0) {
    std::fprintf(stderr, "cannot listen on port %s\n", argv[1]);
    return 1;
  }
  return uv_run(uv_default_loop(), UV_RUN_DEFAULT);
}
