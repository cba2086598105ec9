"""What is no plain file, or too large, is refused at once, and takes no memory."""

import os
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ullage.bounds import open_plain, read_most, read_plain, read_text

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")
MOST = 1_000


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 30)


def _loop(path: Path) -> None:
    path.symlink_to(path)


def _fifo_behind_links(path: Path) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.with_name("link").symlink_to(path.with_name("pipe"))
    path.symlink_to(path.with_name("link"))


@pytest.mark.parametrize("make", [_fifo, _device, _socket, _sparse, _loop, _fifo_behind_links, Path.mkdir])
def test_what_is_no_small_plain_file_is_refused(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "settings.json")
    with pytest.raises(OSError, match=r"."):
        read_plain(tmp_path / "settings.json", MOST)


def test_a_file_of_the_most_bytes_is_read_and_one_byte_more_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * MOST)
    assert read_plain(path, MOST) == b"x" * MOST
    path.write_bytes(b"x" * (MOST + 1))
    with pytest.raises(OSError, match="more than"):
        read_plain(path, MOST)


def test_a_file_that_says_that_it_is_empty_is_bounded_too() -> None:
    if sys.platform != "linux":
        pytest.skip("only Linux has such files")
    assert read_plain("/proc/self/status", 1 << 20).startswith(b"Name:")
    with pytest.raises(OSError, match="more than"):
        read_plain("/proc/self/status", 10)


def test_a_link_to_a_plain_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"a\r\nb\rc")
    (tmp_path / "link").symlink_to("real")
    assert read_text(tmp_path / "link", MOST) == "a\nb\nc"


def test_a_file_that_became_a_pipe_before_it_is_opened_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, open_file = tmp_path / "file", os.open
    path.write_bytes(b"x")

    def swapped(name: Path, flags: int) -> int:
        path.unlink()
        os.mkfifo(path)
        return open_file(name, flags)

    monkeypatch.setattr(os, "open", swapped)
    with pytest.raises(OSError, match="plain"):
        open_plain(path)


def test_a_pipe_is_read_up_to_the_bound() -> None:
    read, write = os.pipe()
    with os.fdopen(read, "rb") as source, os.fdopen(write, "wb", buffering=0) as sink:
        writer = threading.Thread(target=sink.write, args=(b"x" * (MOST + 1),))
        writer.start()
        with pytest.raises(OSError, match="more than"):
            read_most(source, MOST)
        writer.join(10)
