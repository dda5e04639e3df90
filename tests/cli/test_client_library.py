"""The C++ client library: the programs of its README against a real broker, faults, and its package."""

import os
import re
import subprocess
import threading

import pytest

from support.broker import REPOSITORY, base_environment, binary
from support.cli import run_cli
from support.process import wait_until

BUILD = os.path.dirname(binary())
LIBRARY = os.path.join(REPOSITORY, "clients", "cpp")


def example(name, url, timeout=60):
    """What the example prints; it must end well."""
    ended = subprocess.run([os.path.join(BUILD, "examples", name)], capture_output=True, text=True, timeout=timeout,
                           check=False, env=base_environment() | {"QUEEN_URL": url})
    assert ended.returncode == 0, ended
    return ended.stdout


def pop_all(broker, queue, group=""):
    reply = broker.get(f"/api/v1/pop/queue/{queue}?batch=10000&partitions=1000&autoAck=true&consumerGroup={group}")
    return [message["data"] for message in reply.json()["messages"]] if reply.status == 200 else []


def test_the_readme_shows_the_examples_as_they_are():
    with open(os.path.join(LIBRARY, "README.md"), encoding="utf-8") as file:
        shown = re.findall(r"```cpp\n(.*?)```", file.read(), re.DOTALL)
    names = sorted(name for name in os.listdir(os.path.join(LIBRARY, "examples")) if name.endswith(".cc"))
    for name in names:
        with open(os.path.join(LIBRARY, "examples", name), encoding="utf-8") as file:
            assert file.read() in shown, f"README.md does not show examples/{name} as it is"
    assert len(shown) == len(names)


def test_push(broker):
    assert re.fullmatch(r"(pushed [0-9a-f-]{36}\n){2}", example("push", broker.url))
    assert pop_all(broker, "orders") == [{"order": 42}, 'a text with "quotes"']


def test_batching(broker):
    assert example("batching", broker.url) == "stored 10000, failed 0\nin few requests\n"
    assert sorted(pop_all(broker, "measurements")) == list(range(10000))


def test_consume(broker):
    for payload in ["a", "poison", "throw", "b"]:
        broker.post("/api/v1/push", {"items": [{"queue": "jobs", "partition": payload, "payload": payload}]})
    broker.post("/api/v1/configure", {"queue": "jobs", "options": {"retryLimit": 0}})
    program = subprocess.Popen([os.path.join(BUILD, "examples", "consume")], stdout=subprocess.PIPE, text=True,
                               env=base_environment() | {"QUEEN_URL": broker.url})
    dead = lambda: {m["data"]: m["errorMessage"] for m in broker.get("/api/v1/dlq?queue=jobs").json()["messages"]}
    wait_until(lambda: len(dead()) == 2, what="both dead letters")
    broker.post("/api/v1/push", {"items": [{"queue": "jobs", "partition": "last", "payload": "stop"}]})
    out, _ = program.communicate(timeout=30)
    assert program.returncode == 0
    assert sorted(out.split("\n")[:-1]) == ['done "a"', 'done "b"']
    assert dead() == {"poison": "it is poison", "throw": "a bug"}
    assert pop_all(broker, "jobs", "workers") == []  # everything is settled, the last one too


class SlowHandler:
    """clients/cpp/tests/slow_handler.cc: a consumer of `slow` with a lease of 3 s."""

    def __init__(self, url):
        self._program = subprocess.Popen([os.path.join(BUILD, "tests", "client_cpp_slow_handler")], text=True,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         env=base_environment() | {"QUEEN_URL": url})

    def expect(self, start):
        line = self._program.stdout.readline()
        assert line.startswith(start), line

    def say(self, line):
        self._program.stdin.write(line + "\n")
        self._program.stdin.flush()

    def end(self):
        self._program.stdin.close()
        assert self._program.wait(30) == 0

    def kill(self):
        self._program.kill()
        self._program.wait()


@pytest.fixture(name="slow")
def make_slow(broker):
    broker.request("DELETE", "/api/v1/resources/queues/slow")
    broker.post("/api/v1/push", {"items": [{"queue": "slow", "payload": n} for n in (1, 2)]})
    program = SlowHandler(broker.url)
    yield program
    program.kill()


def test_a_handler_that_takes_longer_than_the_lease_keeps_its_messages(broker, slow):
    slow.expect("handle 1")
    # as long as the lease and longer, another consumer waits for them in vain
    assert broker.get("/api/v1/pop/queue/slow?wait=true&timeout=4000", timeout=60).status == 204
    slow.say("go")
    slow.expect("handle 2")
    slow.say("stop")
    slow.end()
    assert pop_all(broker, "slow") == []


def test_a_lost_lease_stops_the_batch_and_the_handler_can_see_it(broker, slow):
    slow.expect("handle 1")
    sought = broker.post("/api/v1/consumer-groups/__QUEUE_MODE__/queues/slow/seek", {"offset": 0})
    assert sought.json()["partitionsUpdated"] == 1, sought
    slow.expect("error lost ")
    slow.say("go")
    slow.expect("handle 1")  # not the second one of the batch: everything comes again
    slow.say("go")
    slow.expect("handle 2")
    slow.say("stop")
    slow.end()
    assert pop_all(broker, "slow") == []


def test_transaction(broker):
    broker.post("/api/v1/push", {"items": [{"queue": "in", "payload": 7}]})
    assert example("transaction", broker.url) == "moved 7\n"
    assert pop_all(broker, "out") == [{"result of": 7}]
    assert pop_all(broker, "in") == []


def test_a_lost_reply_does_not_double_a_message(broker, make_proxy):
    proxy = make_proxy("127.0.0.1", broker.port)
    proxy.cut_reply(b'"queue":"lost"')
    ended = run_cli("push", "lost", "1", "-o", "json", url=f"http://127.0.0.1:{proxy.port}")
    assert ended.code == 0, ended
    assert proxy.replies_cut() == 1
    assert ended.json()["duplicate"] == 1  # the first try had stored it
    assert pop_all(broker, "lost") == [1]


def test_connections_cut_under_load_double_nothing(broker, make_proxy):
    """Connections that are cut while replies are on their way: the client tries again with the same ids."""
    proxy = make_proxy("127.0.0.1", broker.port)
    done = threading.Event()

    def cut():
        while not done.wait(0.05):
            proxy.cut()

    thread = threading.Thread(target=cut)
    thread.start()
    try:
        lines = "".join(f"{n}\n" for n in range(4000))
        ended = run_cli("push", "cut", "--batch", 100, "-o", "json", url=f"http://127.0.0.1:{proxy.port}", stdin=lines)
    finally:
        done.set()
        thread.join()
    assert ended.code == 0, ended
    counts = ended.json()
    assert counts["queued"] + counts["duplicate"] == 4000
    assert pop_all(broker, "cut") == list(range(4000))  # each once, and in order


PROJECT = """cmake_minimum_required(VERSION 3.25)
project(outside LANGUAGES CXX)
find_package(queen-client 0.1 REQUIRED)
add_executable(outside main.cc)
target_link_libraries(outside PRIVATE queen::client)
"""
PROGRAM = """#include <cstdlib>
#include <queen/client.h>
int main() {
  queen::client::Options options;
  options.urls = {std::getenv("QUEEN_URL")};
  queen::client::Client client(options);
  queen::client::NewMessage message;
  message.queue = "outside";
  message.payload = queen::client::JsonString("hello");
  return client.Push({message}).ok() ? 0 : 1;
}
"""


def test_a_project_outside_uses_the_installed_package(broker, directory):
    def run(*words):
        ended = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
        assert ended.returncode == 0, ended.stdout + ended.stderr

    run("cmake", "--install", BUILD, "--prefix", f"{directory}/installed", "--component", "client")
    os.mkdir(f"{directory}/project")
    for name, text in (("CMakeLists.txt", PROJECT), ("main.cc", PROGRAM)):
        with open(f"{directory}/project/{name}", "w", encoding="utf-8") as file:
            file.write(text)
    flags = "-fsanitize=address,undefined" if sanitizers() == "address" else "-fsanitize=thread" if sanitizers() else ""
    run("cmake", "-S", f"{directory}/project", "-B", f"{directory}/build", f"-DCMAKE_PREFIX_PATH={directory}/installed",
        f"-DCMAKE_EXE_LINKER_FLAGS={flags}")
    run("cmake", "--build", f"{directory}/build")
    ended = subprocess.run([f"{directory}/build/outside"], timeout=60, check=False,
                           env=base_environment() | {"QUEEN_URL": broker.url})
    assert ended.returncode == 0
    assert pop_all(broker, "outside") == ["hello"]


def sanitizers():
    """What the library under test was built with: "address", "thread", or None."""
    with open(binary(), "rb") as program:
        code = program.read()
    return "address" if b"__asan_init" in code else "thread" if b"__tsan_init" in code else None
