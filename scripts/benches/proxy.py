"""Measures what the proxy costs: time per message and per turn, and memory when one side stops reading.

An agent gets requests in turn directly and through the proxy, so that a busy machine slows both equally. Other programs
can only add time, so each figure is the lower quartile of its turns. A round trip is two messages.
"""

import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benches.follower import environment, memory
from benches.proxy_agent import SESSION
from benches.report import Report, Row, at_least, at_most, percentile, seconds

_AGENT = Path(__file__).with_name("proxy_agent.py")
_ULLAGE = Path(sys.executable).with_name("ullage")
TURNS, MESSAGES, PROMPTS = 20, 200, 10
# The aims: milliseconds a message, and megabytes held for a side that does not read.
OVERHEAD_AIM, MEMORY_AIM = 1.0, 32.0
FLOOD, FLOOD_SIZE = 20_000, 10_000
SMALL_FLOOD, SMALL_SIZE = 30_000, 40
# Seconds. If nothing more is read for this long, the other side has stopped reading.
_STILL = 1.0
_MEGABYTE = 1 << 20


class Client:
    """A blocking client, so that no event loop of the client is measured."""

    def __init__(self, command: Sequence[str]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(Path.home())
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._in, self.out = self.process.stdin, self.process.stdout
        self._asked = 0
        self.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        self.session = self.new_session()

    def new_session(self) -> str:
        """Begins a session. Returns its id."""
        return self.ask("session/new", {"cwd": "/", "mcpServers": []})["sessionId"]

    def send(self, message: dict[str, Any]) -> None:
        self._in.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._in.flush()

    def ask(self, method: str, params: Any) -> dict[str, Any]:
        """Sends a request and reads up to its answer. Messages before the answer are dropped. Returns its result."""
        self._asked += 1
        self.send({"id": self._asked, "method": method, "params": params})
        # The proxy writes an answer that it changes without blanks.
        marks = b'"id": %d,' % self._asked, b'"id":%d,' % self._asked
        while marks[0] not in (line := self.out.readline()) and marks[1] not in line:
            pass
        return json.loads(line)["result"]

    def tick(self) -> None:
        """Sends a notification and reads up to the chunk that the agent sends for it."""
        self.send({"method": "_bench/tick", "params": {}})
        while b"a few words" not in self.out.readline():
            pass

    def prompt(self) -> None:
        """Runs a prompt turn after two chunks."""
        self.tick()
        self.tick()
        self.ask("session/prompt", {"sessionId": SESSION, "prompt": [{"type": "text", "text": "And now?"}]})

    def peak(self) -> float:
        """Returns the most memory that the process has held, in megabytes."""
        return memory(self.process.pid, "VmHWM")

    def close(self) -> None:
        self._in.close()
        self.out.read()
        self.process.wait(30)


def run(_: Sequence[Path]) -> Report:
    with tempfile.TemporaryDirectory() as folder:
        alone = [sys.executable, str(_AGENT)]
        proxied = [str(_ULLAGE), "acp", "--store", str(Path(folder) / "sessions.db"), "--", *alone]
        clients = {"alone": Client(alone), "proxied": Client(proxied)}
        rows = [_measured(what, clients, call, count) for what, call, count in _KINDS]
        rate = _flood_rate(clients["proxied"])
        for client in clients.values():
            client.close()
        held = [_held_for_client(Client(proxied)), _held_for_agent(Client(proxied))]
    per_message = max(row["overhead ms"] / 2 for row in rows[:2])
    aims = [
        at_most("overhead per message, p50, milliseconds", per_message, OVERHEAD_AIM),
        at_least("messages per second through the proxy", rate, 5_000),
        at_most("memory grown while the client reads nothing, MB", held[0], MEMORY_AIM),
        at_most("memory grown while the agent reads nothing, MB", held[1], MEMORY_AIM),
    ]
    return Report(bench="proxy", rows=rows, aims=aims)


_KINDS: tuple[tuple[str, Callable[[Client], object], int], ...] = (
    ("request and answer", lambda client: client.ask("_bench/echo", {"x": 1}), MESSAGES),
    ("notification and chunk of an answer", Client.tick, MESSAGES),
    ("prompt turn, recorded", Client.prompt, PROMPTS),
)


def _measured(what: str, clients: dict[str, Client], call: Callable[[Client], object], count: int) -> Row:
    turns: dict[str, list[list[float]]] = {name: [] for name in clients}
    for _ in range(TURNS):
        for name, client in clients.items():
            turns[name].append([1_000 * seconds(lambda client=client: call(client)) for _ in range(count)])
    p50, p99 = (
        {name: percentile([percentile(turn, at) for turn in taken], 0.25) for name, taken in turns.items()}
        for at in (0.5, 0.99)
    )
    return {
        "round trip": what,
        "alone p50 ms": p50["alone"],
        "proxied p50 ms": p50["proxied"],
        "overhead ms": p50["proxied"] - p50["alone"],
        "alone p99 ms": p99["alone"],
        "proxied p99 ms": p99["proxied"],
    }


def _flood_rate(client: Client) -> float:
    """Returns the chunks per second when the agent sends as fast as it can."""
    client.send({"method": "_bench/flood", "params": {"count": SMALL_FLOOD, "size": SMALL_SIZE}})
    return SMALL_FLOOD / seconds(lambda: [client.out.readline() for _ in range(SMALL_FLOOD)])


def _held_for_client(client: Client) -> float:
    """Returns the MB that memory grows by while 200 MB of answers wait unread. All answers are read afterwards."""
    # Recording needs a tokenizer, which is loaded with the first recorded message.
    client.prompt()
    before = client.peak()
    client.send({"method": "_bench/flood", "params": {"count": FLOOD, "size": FLOOD_SIZE}})
    time.sleep(_STILL)
    grown = client.peak() - before
    left = FLOOD
    while left:
        left -= len(client.out.readline()) > FLOOD_SIZE
    client.close()
    return grown


def _held_for_agent(client: Client) -> float:
    """Returns the MB that memory grows by while a client writes to an agent that reads nothing, until the client
    must wait."""
    # Recording needs a tokenizer, which is loaded with the first recorded message.
    client.prompt()
    before = client.peak()
    client.send({"method": "_bench/sleep", "params": {}})
    line = json.dumps({"jsonrpc": "2.0", "method": "_bench/much", "params": {"x": "x" * FLOOD_SIZE}}).encode() + b"\n"
    descriptor, written = client.process.stdin.fileno() if client.process.stdin else -1, 0
    os.set_blocking(descriptor, False)
    while written < 200 * _MEGABYTE and select.select([], [descriptor], [], _STILL)[1]:
        written += os.write(descriptor, line)
    grown = client.peak() - before
    client.process.kill()
    client.process.wait()
    return grown if written < 200 * _MEGABYTE else 200.0
