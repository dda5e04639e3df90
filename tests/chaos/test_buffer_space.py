"""The disk of the file buffer is full, or has only what PostgreSQL needs: a clear answer, and few lines in the log."""

import os

import pytest

from chaos.test_disk_full import SmallDisk
from chaos.test_file_buffer import buffered, direct, item, numbers, push, take_all
from support.process import unprivileged

LINE = "the disk of the file buffer is full"


def assert_refused(broker, *parts):
    """Every push is answered with the reason, and the log does not repeat it for each."""
    large = {**item("a", 0), "payload": "x" * 8_000}  # more than is left of a block that is in use
    for _ in range(50):
        reply = push(broker, [large])
        assert reply.status == 503, reply
        assert reply.json()["code"] == "disk_full"
        for part in parts:
            assert part in reply.json()["error"], reply
        assert int(reply.headers["retry-after"]) > 0
    lines = [line for line in broker.log().splitlines() if LINE in line]
    assert 1 <= len(lines) <= 10, lines
    for name in ("directory=", "free_bytes=", "kept_free_bytes=", "needed_bytes="):
        assert name in lines[0]


def test_the_reserve_is_left_to_postgresql(make_broker, postgres):
    broker = make_broker(env={**postgres.env(), "FILE_BUFFER_MIN_FREE_BYTES": "1048576GiB"}).start()
    postgres.stop()
    broker.wait_for("/readyz", 503)
    directory = os.path.join(broker.data_dir, "buffer")
    assert_refused(broker, directory, "FILE_BUFFER_MIN_FREE_BYTES", "PostgreSQL")
    assert not [name for name in os.listdir(directory) if name.endswith(".log")]
    postgres.start()
    broker.wait_for("/readyz", 200)
    direct(broker, "a", 1)


@pytest.mark.skipif(os.geteuid() != 0, reason="a small file system needs root")
def test_a_full_disk_is_named(make_broker, postgres, closing, directory):
    disk = closing(SmallDisk(os.path.join(directory, "disk"), 4, unprivileged()))
    broker = make_broker(env={**postgres.env(), "FILE_BUFFER_MIN_FREE_BYTES": "0",
                              "FILE_BUFFER_DIR": os.path.join(disk.path, "buffer")}).start()
    postgres.stop()
    broker.wait_for("/readyz", 503)
    buffered(broker, [item("a", 1)])
    disk.fill()
    assert_refused(broker, disk.path, "No space left on device")
    disk.empty()
    buffered(broker, [item("a", 2)])
    postgres.start()
    assert numbers(take_all(broker, 2)) == {"a": [1, 2]}
