"""The commands in a terminal: `top`, `tail`, and a progress bar, as a person sees them."""

import threading

import pytest

from support.broker import base_environment, binary
from support.terminal import Terminal

from test_commands import kill


@pytest.fixture(name="terminal")
def make_terminal(broker, closing):
    """terminal(*words) -> Terminal in which `queen words...` runs."""
    environment = base_environment() | {"QUEEN_URL": broker.url, "LANG": "C.UTF-8"}
    return lambda *words, **options: closing(Terminal([binary(), *words], environment, **options))


def test_top(broker, cli, terminal):
    """A table that is renewed and sorted by keys, and q gives the screen back."""
    for queue, count in (("small", 3), ("large", 50)):
        broker.post("/api/v1/push", {"items": [{"queue": queue, "payload": n} for n in range(count)]})
    broker.post("/api/v1/stats/refresh")
    top = terminal("top", "--interval", "1")
    top.wait_for("q quits")
    top.type("d")
    screen = top.wait_for(lambda text: "by depth" in text and " 50 " in text)
    queues = [line.split()[0] for line in screen.splitlines()[3:] if line]
    assert queues.index("large") < queues.index("small")
    assert "\033[" in top.screen(colours=True)  # a terminal gets colours
    done = threading.Event()

    def load():
        while not done.is_set():
            broker.post("/api/v1/push", {"items": [{"queue": "busy", "payload": n} for n in range(20)]})
    thread = threading.Thread(target=load)
    thread.start()
    try:
        top.wait_for(lambda text: any(line.startswith("busy ") and "/s" in line for line in text.splitlines()))
    finally:
        done.set()
        thread.join()
    top.type("q")
    assert "q quits" not in top.wait_for("ended with 0")


def test_tail(cli, terminal):
    tail = terminal("tail", "news")
    tail.wait_for("Following news")
    cli("push", "news", '{"head": "line"}', "--partition", "today")
    assert 'today@0  {"head": "line"}' in tail.wait_for("today@0")
    tail.type("C-c")
    tail.wait_for("ended with 0")


def test_a_progress_bar(broker, terminal):
    """It is seen on the way and gone at the end."""
    for n in range(3):
        kill(broker, f"many-{n}", 9000)
    redrive = terminal("dlq", "redrive", "--yes")
    screen = redrive.wait_for(lambda text: "[#" in text and " of 27,000" in text)
    assert " left" in screen
    end = redrive.wait_for("ended with 0")
    assert "[#" not in end and "Redriven: 27,000 dead letters." in end


def test_a_question_before_something_is_deleted(cli, terminal):
    cli("push", "precious", "1")
    asked = terminal("queue", "delete", "precious")
    asked.wait_for("Delete the queue precious with all of its messages and groups? [y/N]")
    asked.type("n")
    asked.type("Enter")
    asked.wait_for("ended with 1")
    cli("pop", "precious")
