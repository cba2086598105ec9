"""`ullage acp --login` on a real terminal: the key is never shown, tried once, and kept where the agent finds it."""

import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from support.acp_schema import faults_in_result, has_schema
from support.file_keyring import BACKEND

if sys.platform == "win32":
    pytest.skip("Windows has no pseudo-terminals of POSIX", allow_module_level=True)

import pty

PATIENCE = 180
KEY = "sk-a-key-that-is-right"
TESTS = Path(__file__).parents[1]


class Models(BaseHTTPRequestHandler):
    """A provider that lists no models to those who have the key."""

    def do_GET(self) -> None:
        right = self.headers["Authorization"] == f"Bearer {KEY}"
        said: Any = {"object": "list", "data": []} if right else {"error": {"message": "wrong key", "type": "x"}}
        body = json.dumps(said).encode()
        self.send_response(200 if right else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the name in the standard library)
        pass


@pytest.fixture
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Models) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join(PATIENCE)


class Terminal:
    """A terminal in which a command runs. `seen` is everything that it has shown."""

    def __init__(self, command: list[str], env: dict[str, str]) -> None:
        self._main, own = pty.openpty()
        self.seen = ""
        self.process = subprocess.Popen(
            command, stdin=own, stdout=own, stderr=own, env={**os.environ, **env}, start_new_session=True
        )
        os.close(own)

    def answer(self, question: str, text: str) -> None:
        """Waits for a question and types the answer."""
        self._until(lambda: question in self.seen)
        os.write(self._main, f"{text}\n".encode())

    def end(self) -> int:
        """Waits until the command has ended, and returns its exit status."""
        self._until(lambda: self.process.poll() is not None and not self._read())
        os.close(self._main)
        assert "Traceback" not in self.seen
        return self.process.returncode

    def _until(self, holds: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < end, self.seen
            self._read()

    def _read(self) -> bool:
        if not select.select([self._main], [], [], 0.1)[0]:
            return False
        try:
            data = os.read(self._main, 1 << 16)
        except OSError:
            # Linux says so that no program has the other end open.
            return False
        self.seen += data.decode(errors="replace")
        return bool(data)


LogIn = Callable[..., Terminal]


@pytest.fixture
def log_in(tmp_path: Path, address: str) -> Iterator[LogIn]:
    started: list[Terminal] = []

    def start(base_url: str = address, backend: str = BACKEND, words: tuple[str, ...] = ("acp",)) -> Terminal:
        mine = {"kind": "openai_chat", "baseUrl": base_url, "keyEnv": "MY_KEY", "models": ["mine"]}
        settings = json.dumps({"model": "mine", "providers": {"mine": mine}})
        command = [sys.executable, "-m", "ullage", *words, "--settings", settings, "--login"]
        if not words:
            command = [sys.executable, "-m", "ullage", "--login", "--settings", settings]
        env = {"PYTHONPATH": str(TESTS), "PYTHON_KEYRING_BACKEND": backend, "MY_KEY": ""}
        started.append(Terminal(command, {**env, "FILE_KEYRING": str(tmp_path / "keyring.json")}))
        return started[-1]

    yield start
    for terminal in started:
        if terminal.process.poll() is None:
            terminal.process.kill()
            terminal.process.wait(PATIENCE)


@pytest.mark.parametrize("words", [("acp",), ()])
def test_a_key_is_asked_for_tried_and_kept_and_never_shown(log_in: LogIn, tmp_path: Path, words: tuple[str]) -> None:
    terminal = log_in(words=words)
    terminal.answer("Provider (anthropic, openai, mine) [mine]: ", "nobody")
    terminal.answer(
        "There is no provider 'nobody' that takes a key.\r\nProvider (anthropic, openai, mine) [mine]: ", ""
    )
    terminal.answer("Key of mine (not shown): ", KEY)
    assert terminal.end() == 0
    assert "kept in the system's keyring (ullage, MY_KEY); the provider answers" in terminal.seen
    assert KEY not in terminal.seen
    assert json.loads((tmp_path / "keyring.json").read_text()) == {"ullage MY_KEY": KEY}


def test_a_key_that_the_provider_refuses_is_not_kept(log_in: LogIn, tmp_path: Path) -> None:
    terminal = log_in()
    terminal.answer("[mine]: ", "mine")
    terminal.answer("(not shown): ", "sk-something-else")
    assert terminal.end() == 1
    assert "It is not kept." in terminal.seen
    assert "sk-something-else" not in terminal.seen
    assert not (tmp_path / "keyring.json").exists()


def test_a_key_is_kept_although_it_cannot_be_tried(log_in: LogIn, tmp_path: Path) -> None:
    terminal = log_in(base_url="http://127.0.0.1:9/v1")
    terminal.answer("[mine]: ", "")
    terminal.answer("(not shown): ", KEY)
    assert terminal.end() == 0
    assert "it could not be tried: mine at http://127.0.0.1:9" in terminal.seen
    assert KEY in (tmp_path / "keyring.json").read_text()


def test_without_a_keyring_no_key_is_asked_for(log_in: LogIn) -> None:
    terminal = log_in(backend="keyring.backends.fail.Keyring")
    terminal.answer("[mine]: ", "")
    assert terminal.end() == 2
    assert "Set MY_KEY in the agent's environment instead." in " ".join(terminal.seen.split())
    assert "not shown" not in terminal.seen


def test_no_key_is_kept_if_none_is_typed(log_in: LogIn, tmp_path: Path) -> None:
    terminal = log_in()
    terminal.answer("[mine]: ", "")
    terminal.answer("(not shown): ", "")
    assert terminal.end() == 1
    assert "none is kept" in terminal.seen
    assert not (tmp_path / "keyring.json").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [(["acp", "--login"], "needs a terminal"), (["acp", "--login", "--", "agent"], "takes no agent")],
)
def test_a_login_that_cannot_be_is_refused_in_one_line(words: list[str], said: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "ullage", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert said in ended.stderr
    assert ended.stderr.count("\n") == 1


def test_the_program_passes_the_check_of_the_registry_of_agents(tmp_path: Path) -> None:
    # What the registry's own checker sends, and what it demands (`verify_agents.py --auth-check`).
    can = {"terminal": True, "fs": {"readTextFile": True}, "_meta": {"terminal-auth": True}}
    greeting = {"protocolVersion": 1, "clientInfo": {"name": "check", "version": "1.0.0"}, "clientCapabilities": can}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": greeting}) + "\n"
    ended = subprocess.run(
        [sys.executable, "-m", "ullage", "acp", "--store", str(tmp_path / "s.db")],
        input=line,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    result = json.loads(ended.stdout.splitlines()[0])["result"]
    assert {method.get("type", "agent") for method in result["authMethods"]} & {"agent", "terminal"}
    assert all(method["id"] and method["name"] for method in result["authMethods"])
    if has_schema():
        assert faults_in_result("initialize", result) == []
