"""The parts of pygls that Ullage depends on: its public names, and how `initialize` uses them."""

import ast
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from lsprotocol import types

from ullage.lsp.connection import LspConnection, Pygls

LSP = Path(__file__).resolve().parents[3] / "server" / "ullage" / "lsp"
# The versions of pygls whose source was read: `handle_message` writes the answer to `initialize` to the given writer,
# in one piece and without headers. Add the next version when these tests pass with it.
KNOWN = ("2.1.",)


def pygls_imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "pygls":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "pygls")


def test_only_public_names_of_pygls_are_imported() -> None:
    imported = {name for path in LSP.glob("*.py") for name in pygls_imports(path)}
    assert imported == {
        "pygls.lsp.server.LanguageServer",
        "pygls.protocol.default_converter",
        "pygls.uris.to_fs_path",
    }


def test_no_class_of_pygls_is_extended_and_no_private_attribute_of_it_touched() -> None:
    tree = ast.parse((LSP / "connection.py").read_text())
    bases = {ast.unparse(base) for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for base in node.bases}
    touched = {
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value).startswith("self._server")
    }
    assert "LanguageServer" not in bases
    assert touched == {
        "self._server.protocol",
        "self._server.protocol.set_writer",
        "self._server.protocol.handle_message",
    }


def test_the_installed_pygls_is_one_that_was_read() -> None:
    installed = version("pygls")
    assert installed.startswith(KNOWN), (
        f"pygls {installed} is not one of {KNOWN}. Check that protocol.set_writer(writer, include_headers=False) and "
        "protocol.handle_message(message) are still public and still give the answer to initialize to writer.write as "
        "one JSON body, then add the version to KNOWN."
    )


async def test_initialize_is_answered_by_pygls_through_its_writer_and_nothing_is_kept() -> None:
    pygls = Pygls("ullage", "0.0.test", LspConnection().converter)
    params = types.InitializeParams(capabilities=types.ClientCapabilities())
    for _ in range(3):
        result = await pygls.initialize(params)
        assert result["serverInfo"] == {"name": "ullage", "version": "0.0.test"}
        assert "positionEncoding" in result["capabilities"]


async def test_a_failure_inside_pygls_is_an_error_not_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("inside")

    monkeypatch.setattr("pygls.protocol.language_server.ServerCapabilitiesBuilder.choose_position_encoding", fail)
    pygls = Pygls("ullage", "0", LspConnection().converter)
    with pytest.raises(RuntimeError, match="pygls did not initialize"):
        await pygls.initialize(types.InitializeParams(capabilities=types.ClientCapabilities()))
