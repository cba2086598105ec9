"""Errors show the names of files as text."""

import pytest

from ullage.cli.main import main
from ullage.cli.terminal import visible


def test_what_a_terminal_would_obey_is_escaped() -> None:
    assert visible("a\x1b[31m\x9b\u202e\r\n é 漢 \udc9b") == "a\\x1b[31m\\x9b\\u202e\\r\\n é 漢 \\udc9b"


def test_an_error_obeys_no_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["context", "none\x1b]52;c;aGk=\x07\x9b31m"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("ullage: none\\x1b]52;c;aGk=\\x07\\x9b31m: there is no such file")
    assert said.removesuffix("\n").isprintable()
