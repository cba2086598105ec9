"""The door on real descriptors: a server process driven over pipes, sockets and files."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import msgspec
import pytest

from support.lsp_client import PATIENCE, ROOT, frame, start_server, toy_server
from support.systems import needs_process_ids, needs_socket_descriptors

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "server"), str(ROOT / "tests")))}
HANDSHAKE = frame({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}})
PING = frame({"jsonrpc": "2.0", "id": 2, "method": "ullage/ping", "params": {"sessionId": "a"}})
EXIT = frame({"jsonrpc": "2.0", "method": "exit"})


def run(command: Sequence[str], stdin: IO[bytes] | int = subprocess.DEVNULL) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, stdin=stdin, capture_output=True, env=ENVIRONMENT, timeout=PATIENCE, check=False)


async def test_the_orderly_end_is_status_0() -> None:
    async with start_server() as client:
        await client.initialize()
        assert await client.request("ullage/ping", {"sessionId": "a"}) == {"sessionId": "a"}
        assert await client.shutdown() == 0


async def test_exit_without_shutdown_is_status_1() -> None:
    async with start_server() as client:
        await client.initialize()
        await client.notify("exit")
        assert await client.wait_closed() == 1


async def test_the_end_of_input_ends_the_server() -> None:
    async with start_server() as client:
        await client.initialize()
        await client.close_input()
        assert await client.wait_closed() == 0


async def test_a_torn_message_at_the_end_is_answered() -> None:
    async with start_server() as client:
        await client.initialize()
        await client.send_bytes(b"Content-Length: 100\r\n\r\n{")
        await client.close_input()
        assert (await client.wait_for_orphan())["error"]["message"] == "The stream ended inside a message."
        assert await client.wait_closed() == 0


@pytest.mark.parametrize("unbuffered", ["", "1"])
async def test_stray_prints_and_large_messages_do_not_break_the_framing(unbuffered: str) -> None:
    async with start_server(env={"PYTHONUNBUFFERED": unbuffered}) as client:
        await client.initialize()
        value = ["x" * 100_000] * 10
        answers = [await client.start("ullage/echo", {"value": value}) for _ in range(5)]
        assert await client.request("ullage/print", {"times": 3}) == "printed"
        assert await asyncio.wait_for(asyncio.gather(*answers), PATIENCE) == [value] * 5


async def test_a_client_that_stops_reading_ends_the_server() -> None:
    ours, theirs = os.pipe()
    process = await asyncio.create_subprocess_exec(
        *toy_server(), stdin=asyncio.subprocess.PIPE, stdout=theirs, stderr=subprocess.DEVNULL, env=ENVIRONMENT
    )
    os.close(theirs)
    os.close(ours)
    assert process.stdin is not None
    process.stdin.write(HANDSHAKE)
    await process.stdin.drain()
    assert await asyncio.wait_for(process.wait(), PATIENCE) == 0
    process.stdin.close()


@needs_process_ids
async def test_the_death_of_the_client_s_process_ends_the_server() -> None:
    client_process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "import sys; sys.stdin.read()", stdin=asyncio.subprocess.PIPE
    )
    async with start_server() as client:
        await client.initialize(processId=client_process.pid)
        assert client_process.stdin is not None
        client_process.stdin.close()
        await client_process.wait()
        assert await client.wait_closed() == 0


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system does not say which processes are zombies")
async def test_a_client_s_process_whose_end_nobody_asked_for_ends_the_server_too() -> None:
    # The server is a child of this test, so only the test could wait for this process, and it does so afterwards.
    client_process = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    async with start_server() as client:
        await client.initialize(processId=client_process.pid)
        assert client_process.stdin is not None
        client_process.stdin.close()
        assert await client.wait_closed() == 0
    client_process.wait()


async def test_a_client_process_that_cannot_be_seen_is_not_mourned() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    async with start_server() as client:
        await client.initialize(processId=gone.pid)
        assert await client.request("ullage/ping", {}) == {"sessionId": ""}


def test_input_may_be_a_file_and_every_request_in_it_is_answered(tmp_path: Path) -> None:
    session = tmp_path / "requests"
    session.write_bytes(HANDSHAKE + PING)
    with session.open("rb") as stdin:
        done = run(toy_server(), stdin)
    assert done.returncode == 0
    assert done.stdout.endswith(b'{"id":2,"result":{"sessionId":"a"},"jsonrpc":"2.0"}')


def test_a_file_may_hold_an_exit_in_the_middle(tmp_path: Path) -> None:
    session = tmp_path / "requests"
    session.write_bytes(HANDSHAKE + EXIT + PING * 100_000)
    with session.open("rb") as stdin:
        done = run(toy_server(), stdin)
    assert (done.returncode, done.stderr) == (1, b"")


def test_no_input_at_all_is_an_orderly_end() -> None:
    done = run(toy_server())
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@needs_socket_descriptors
def test_input_and_output_may_be_one_socket() -> None:
    ours, theirs = socket.socketpair()
    with (
        ours,
        theirs,
        subprocess.Popen(toy_server(), stdin=theirs.fileno(), stdout=theirs.fileno(), env=ENVIRONMENT) as process,
    ):
        ours.settimeout(PATIENCE)
        large = frame({"jsonrpc": "2.0", "id": 3, "method": "ullage/echo", "params": {"value": "x" * 2_000_000}})
        ours.sendall(HANDSHAKE + large)
        ours.shutdown(socket.SHUT_WR)
        theirs.close()
        received = b"".join(iter(lambda: ours.recv(1 << 16), b""))
        assert process.wait(PATIENCE) == 0
    assert len(msgspec.json.decode(received[received.rindex(b"\r\n\r\n") :])["result"]) == 2_000_000


def test_nothing_heavy_is_imported_before_initialize_is_answered() -> None:
    heavy = {"rich", "tiktoken", "sqlite3", "platformdirs", "anthropic", "openai", "hypothesis", "pytest"}
    code = (
        "import sys; before = set(sys.modules); import support.lsp_toy as toy; toy.Toy().server(); "
        f"print(sorted({heavy!r} & (sys.modules.keys() - before)))"
    )
    done = run([sys.executable, "-c", code])
    assert done.stdout.strip() == b"[]"
