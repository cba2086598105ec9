"""Measures the cost of Ullage's JSON-RPC code compared with stock pygls: round trips and start-up, as ratios of one
run.

Both servers run at the same time and get requests in turn, so that a busy machine slows both equally. Other programs
can only add time, and they make up most of a p99. So each server's figure is the lower quartile of its turns. Bytecode
is compiled before: each server is started once, and may write its bytecode.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benches.report import Report, at_most

SERVERS = ("stock", "ours")
# Of 200 requests two are slower than the p99 of their turn. Ten of 40 turns decide, enough to repeat on two busy cores.
TURNS = 40
REQUESTS = 200
STARTS = 15
ROUND_TRIP_AIM = 0.5
START_UP_AIM = 1.15
UNWANTED = {"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"}


class Client:
    """A blocking client of one server, so that no event loop of the client is measured."""

    def __init__(self, command: Sequence[str]) -> None:
        environment = {key: value for key, value in os.environ.items() if key not in UNWANTED}
        self._process = subprocess.Popen(
            [sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin = self._process.stdin
        self._stdout = self._process.stdout
        self._asked = 0

    def ask(self, method: str, params: Any) -> Any:
        """Sends a request and returns its result."""
        self._asked += 1
        self._send({"jsonrpc": "2.0", "id": self._asked, "method": method, "params": params})
        return self._receive()["result"]

    def initialize(self) -> None:
        """Makes the handshake."""
        self.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        self._send({"jsonrpc": "2.0", "method": "initialized", "params": {}})

    def close(self) -> None:
        """Closes the server's input, which ends the server."""
        self._stdin.close()
        self._process.wait(10)
        self._stdout.close()

    def _send(self, message: Any) -> None:
        body = json.dumps(message).encode()
        self._stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._stdin.flush()

    def _receive(self) -> Any:
        length = 0
        while (line := self._stdout.readline().strip()) or not length:
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        return json.loads(self._stdout.read(length))


def run(_paths: Sequence[Path]) -> Report:
    """Runs both comparisons."""
    for name in SERVERS:
        _start_up(name)
    rows = [*_round_trips(), _compare("start-up to initialize reply", _starts())]
    bounds = (ROUND_TRIP_AIM, ROUND_TRIP_AIM, START_UP_AIM)
    aims = [
        at_most(f"{row['what']}, share of stock pygls", row["ratio"], bound)
        for row, bound in zip(rows, bounds, strict=True)
    ]
    return Report(bench="protocol", rows=rows, aims=aims)


def _round_trips() -> list[dict[str, Any]]:
    clients = {name: Client(_plumbing(name)) for name in SERVERS}
    for client in clients.values():
        client.initialize()
        _turn(client)
    turns = [{name: _turn(client) for name, client in clients.items()} for _ in range(TURNS)]
    for client in clients.values():
        client.close()
    return [
        _compare(f"request round trip p{share}", [{name: turn[name][share - 1] for name in SERVERS} for turn in turns])
        for share in (50, 99)
    ]


def _turn(client: Client) -> list[float]:
    """Returns percentiles 1 to 99 of a turn's round trips, in milliseconds."""
    return statistics.quantiles([_time_request(client) for _ in range(REQUESTS)], n=100)


def _time_request(client: Client) -> float:
    began = time.perf_counter()
    result = client.ask("ullage/usage", {"sessionId": "sess_0123456789"})
    ended = time.perf_counter()
    assert result["used"] == 84_000
    return 1000 * (ended - began)


def _starts() -> list[dict[str, float]]:
    return [{name: _start_up(name) for name in SERVERS} for _ in range(STARTS)]


def _start_up(name: str) -> float:
    """Returns the milliseconds from the spawn to the answer of `initialize`. `ours` is the program that editors
    start."""
    command = _plumbing(name) if name == "stock" else ["-m", "ullage", "lsp", "--store", os.devnull]
    began = time.perf_counter()
    client = Client(command)
    client.initialize()
    ended = time.perf_counter()
    client.close()
    return 1000 * (ended - began)


def _plumbing(name: str) -> list[str]:
    """Returns the command of a server with one trivial method, so that only the protocol is measured."""
    return [str(Path(__file__).with_name("protocol_server.py")), name]


def _compare(what: str, turns: list[dict[str, float]]) -> dict[str, Any]:
    floor, ours = (statistics.quantiles([turn[name] for turn in turns], n=4)[0] for name in SERVERS)
    return {"what": f"{what}, floor: stock pygls", "floor_ms": floor, "ours_ms": ours, "ratio": ours / floor}
