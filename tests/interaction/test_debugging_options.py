"""Debugging options of `ullage lsp` (log, trace, debugger) and `ullage inspect`, with real processes."""

import json
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.command_line import SAMPLE, ullage
from support.lsp_client import frame


def test_the_options_may_come_from_the_environment(tmp_path: Path) -> None:
    trace, log = tmp_path / "trace.jsonl", tmp_path / "logs" / "server.log"
    options = f"--debug --log-file '{log}' --trace '{trace}'"
    ran = ullage("lsp", "--store", tmp_path / "s.db", env={"ULLAGE_LSP_OPTIONS": options}, stdin=_handshake())
    assert ran.status == 0, ran.err
    traced = [json.loads(line) for line in trace.read_text(encoding="utf-8").splitlines()]
    of_client = [line["message"]["method"] for line in traced if line["from"] == "client"]
    assert of_client == ["initialize", "shutdown", "exit"]
    assert [line["message"]["id"] for line in traced if line["from"] == "server"] == [1, 2]
    assert "DEBUG" in log.read_text(encoding="utf-8")
    assert "DEBUG" not in ran.err


def test_the_options_in_the_environment_are_the_servers_alone() -> None:
    assert ullage("schema", env={"ULLAGE_LSP_OPTIONS": "--trace x"}).status == 0


def test_debug_logs_to_standard_error(tmp_path: Path) -> None:
    ran = ullage("lsp", "--store", tmp_path / "s.db", "--debug", stdin=_handshake())
    assert ran.status == 0
    assert "DEBUG" in ran.err


def test_without_the_option_nothing_is_logged(tmp_path: Path) -> None:
    ran = ullage("lsp", "--store", tmp_path / "s.db", stdin=_handshake())
    assert (ran.status, ran.err) == (0, "")


@pytest.mark.parametrize("option", ["--trace", "--log-file"])
def test_a_file_that_cannot_be_written_is_said_in_one_line(tmp_path: Path, option: str) -> None:
    ran = ullage("lsp", option, tmp_path)
    assert ran.status == 2
    assert re.fullmatch(r"ullage: cannot write the \w+ .*; choose another file\n", ran.err)


@pytest.mark.skipif(find_spec("debugpy") is not None, reason="debugpy is installed")
def test_waiting_for_a_debugger_without_debugpy_says_how_to_get_it() -> None:
    ran = ullage("lsp", "--wait-for-debugger")
    assert ran.status == 2
    assert f"{sys.executable} -m pip install debugpy" in ran.err


def test_a_port_must_be_one() -> None:
    ran = ullage("lsp", "--wait-for-debugger", "70000")
    assert ran.status == 2
    assert "'70000' is not a port" in ran.err


def test_inspect_prints_each_event_of_a_session_on_a_line(tmp_path: Path) -> None:
    store = tmp_path / "s.db"
    session = ullage("import", SAMPLE, "--store", store, "--json").json["session_id"]
    ran = ullage("export", "--events", session, "--store", store)
    assert ran.status == 0, ran.err
    lines = ran.out.splitlines()
    assert [int(line.split()[0]) for line in lines] == list(range(len(lines)))
    assert lines[0].split()[3] == "session_created"
    assert any("message_appended" in line and "user" in line and "tokens:" in line for line in lines)
    as_json = [
        json.loads(line) for line in ullage("export", "--events", session, "--store", store, "--json").out.splitlines()
    ]
    assert [record["position"] for record in as_json] == list(range(len(lines)))
    assert as_json[0]["event"]["type"] == "session_created"


def test_inspecting_an_unknown_session_is_an_error_in_one_line(tmp_path: Path) -> None:
    ran = ullage("export", "--events", "nobody", "--store", tmp_path / "s.db")
    assert ran.status == 2
    assert ran.err.startswith("ullage: ")
    assert ran.err.count("\n") == 1


def _handshake() -> bytes:
    capabilities: dict[str, str] = {}
    initialize = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": capabilities}}
    shutdown = {"jsonrpc": "2.0", "id": 2, "method": "shutdown"}
    return frame(initialize) + frame(shutdown) + frame({"jsonrpc": "2.0", "method": "exit"})
