"""Settings of other programs are changed under their lock, and what stands in the way is named."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from ullage.agents.table import agent_of_word
from ullage.model.errors import InvalidRequest
from ullage.system import settings_files
from ullage.system.settings_files import apply, cautions, switched_off
from ullage.system.team_choices import PrivatePatterns, all_patterns, keep_private, kept_private
from ullage.wire import json_files
from ullage.wire.json_files import add, read_text, take_out
from ullage.wire.plan import Added, FileChange, McpServer

OTHERS = pytest.mark.skipif(sys.platform == "win32", reason="POSIX's modes and links")


def change(path: Path, after: bytes | None) -> FileChange:
    return FileChange(path=str(path), before=path.read_bytes() if path.exists() else None, after=after)


def test_a_change_waits_for_the_lock_of_another_program_and_leaves_none(tmp_path: Path) -> None:
    path, lock = tmp_path / "state.json", tmp_path / "state.json.lock"
    path.write_bytes(b"{}")
    lock.mkdir()
    done = threading.Thread(target=apply, args=(change(path, b"{ }"),))
    done.start()
    done.join(0.3)
    assert (done.is_alive(), path.read_bytes()) == (True, b"{}")
    lock.rmdir()
    done.join(10)
    assert (path.read_bytes(), lock.exists()) == (b"{ }", False)


def test_a_change_that_another_program_made_under_its_lock_is_not_overwritten(tmp_path: Path) -> None:
    path, lock, raised = tmp_path / "state.json", tmp_path / "state.json.lock", list[str]()
    path.write_bytes(b"{}")
    ours = change(path, b"{ }")

    def make() -> None:
        try:
            apply(ours)
        except InvalidRequest as error:
            raised.append(str(error))

    lock.mkdir()
    done = threading.Thread(target=make)
    done.start()
    path.write_bytes(b'{"theirs": 1}')
    lock.rmdir()
    done.join(10)
    assert path.read_bytes() == b'{"theirs": 1}'
    assert "has changed" in raised[0]


def test_the_lock_of_a_program_that_was_killed_is_taken_over(tmp_path: Path) -> None:
    path, lock = tmp_path / "state.json", tmp_path / "state.json.lock"
    path.write_bytes(b"{}")
    lock.mkdir()
    os.utime(lock, (1, 1))
    apply(change(path, b"{ }"))
    assert (path.read_bytes(), lock.exists()) == (b"{ }", False)


@pytest.mark.skipif(sys.platform == "win32", reason="asking whether a process runs could end it there")
def test_the_lock_of_a_run_that_was_killed_is_taken_over_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, lock = tmp_path / "state.json", tmp_path / "state.json.lock"
    path.write_bytes(b"{}")
    killed = (
        "import os, pathlib, sys; from ullage.system import settings_files as files\n"
        "with files._locked(pathlib.Path(sys.argv[1])): os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", killed, str(path)], check=False).returncode == -9
    assert lock.exists()
    monkeypatch.setattr(settings_files, "_PATIENCE", 1.0)
    apply(FileChange(path=str(path), before=b"{}", after=b"{ }"))
    assert [file.name for file in tmp_path.iterdir()] == ["state.json"]
    # Another program's lock is not taken for it.
    subprocess.run([sys.executable, "-c", killed, str(path)], check=False)
    lock.rmdir()
    lock.mkdir()
    with pytest.raises(InvalidRequest, match="locked by another program"):
        apply(FileChange(path=str(path), before=b"{ }", after=b"{}"))


def test_a_lock_that_stays_held_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings_files, "_PATIENCE", 0.1)
    path = tmp_path / "state.json"
    path.write_bytes(b"{}")
    (tmp_path / "state.json.lock").mkdir()
    with pytest.raises(InvalidRequest, match=r"locked by another program .*state\.json\.lock"):
        apply(change(path, b"{ }"))
    assert path.read_bytes() == b"{}"


def test_what_a_killed_run_has_left_is_removed_by_the_next_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "set[1].json"
    path.write_bytes(b"{}")
    left, others = tmp_path / ".set[1].json.ullage-abc", tmp_path / ".set1.json.ullage-abc"
    left.write_bytes(b"half")
    others.write_bytes(b"another's")
    apply(change(path, b"{ }"))
    assert (left.exists(), others.exists()) == (False, True)


@OTHERS
def test_read_only_and_hard_linked_settings_are_named_and_keep_their_mode(tmp_path: Path) -> None:
    path, other = tmp_path / "settings.json", tmp_path / "other"
    path.write_bytes(b"{}")
    assert not [*cautions(path)]
    other.hardlink_to(path)
    path.chmod(0o400)
    told = " ".join(cautions(path))
    assert "read-only" in told
    assert "another name" in told
    apply(change(path, b"{ }"))
    assert (other.read_bytes(), path.stat().st_mode & 0o777) == (b"{}", 0o400)


def _off(word: str) -> str:
    agent = agent_of_word(word)
    assert agent is not None
    assert agent.wiring is not None
    return switched_off(agent.wiring.hooks_off)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CLAUDE_CONFIG_DIR", "QWEN_HOME", "GEMINI_CLI_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


@pytest.mark.parametrize(
    ("word", "place", "settings", "named"),
    [
        ("claude-code", ".claude/settings.json", {"disableAllHooks": True}, "disableAllHooks"),
        ("claude-code", ".claude/settings.json", {"disableAllHooks": False}, ""),
        ("claude-code", ".claude/settings.json", {"allowManagedHooksOnly": True}, ""),
        ("claude-code", "work/.claude/settings.json", {"disableAllHooks": True}, "disableAllHooks"),
        ("claude-code", "work/.claude/settings.local.json", {"disableAllHooks": "yes"}, "disableAllHooks"),
        ("claude-code", ".claude/remote-settings.json", {"allowManagedHooksOnly": True}, "allowManagedHooksOnly"),
        ("claude-code", ".claude/remote-settings.json", {"strictPluginOnlyCustomization": ["hooks"]}, "strictPlugin"),
        ("claude-code", ".claude/remote-settings.json", {"strictPluginOnlyCustomization": ["skills"]}, ""),
        ("qwen-code", ".qwen/settings.json", {"disableAllHooks": True}, "disableAllHooks"),
        ("qwen-code", "work/.qwen/settings.json", {"disableAllHooks": True}, "disableAllHooks"),
        ("gemini-cli", ".gemini/settings.json", {"hooksConfig": {"enabled": False}}, "hooksConfig.enabled"),
        ("gemini-cli", "work/.gemini/settings.json", {"hooksConfig": {"enabled": True}}, ""),
    ],
)
def test_a_setting_that_switches_hooks_off_is_named_with_its_file(
    home: Path, word: str, place: str, settings: dict[str, object], named: str
) -> None:
    path = home / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(settings), "utf-8")
    said = _off(word)
    assert said.startswith(named) if named else not said
    assert not named or path.name in said


def test_a_folder_that_has_hooks_on_again_overrides_the_users_settings(home: Path) -> None:
    for place, is_off in ((".claude", True), ("work/.claude", False)):
        (home / place).mkdir(parents=True)
        (home / place / "settings.json").write_text(json.dumps({"disableAllHooks": is_off}), "utf-8")
    assert _off("claude-code") == ""


@OTHERS
def test_settings_that_are_a_pipe_or_a_device_say_nothing(home: Path) -> None:
    (home / ".claude").mkdir()
    os.mkfifo(home / ".claude" / "settings.json")
    (home / ".claude" / "remote-settings.json").symlink_to("/dev/zero")
    assert _off("claude-code") == ""


def test_settings_that_are_nested_too_deeply_name_no_plugin() -> None:
    deep = '{"a":' * 3_000 + "1" + "}" * 3_000
    for word in ("claude-code", "gemini-cli"):
        agent = agent_of_word(word)
        assert agent is not None
        assert agent.wiring is not None
        assert agent.wiring.plugin is not None
        assert not agent.wiring.plugin.is_on(deep)


# A program's own state of many megabytes is changed in one place, and the rest is not read piece by piece


ADDED = Added(mcp=McpServer(name="ullage", command="/opt/u", arguments=("mcp",)))


def _state(inside: str = "") -> str:
    projects = {f"/p{number}": {"history": [{"display": "a"}] * 20} for number in range(500)}
    text = json.dumps({"numStartups": 1, "projects": projects, "mcpServers": {}}, indent=2)
    return text.replace('"/p0"', f'{inside}"/p0"')


def test_what_is_not_changed_is_not_read_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces, read = list[int](), vars(json_files)["_read"]

    def counted(text: str, at: int, depth: int) -> Any:
        pieces.append(at)
        return read(text, at, depth)

    monkeypatch.setattr(json_files, "_read", counted)
    text = _state()
    after = add(text, ADDED)
    assert json.loads(after)["mcpServers"]["ullage"]["command"] == "/opt/u"
    assert take_out(after, ADDED, text) == text
    assert len(pieces) < 200


@pytest.mark.parametrize("inside", ["// a comment\n", "/* a comment with } */ "])
def test_comments_in_what_is_not_changed_stay(inside: str) -> None:
    text = _state(inside)
    after = add(text, ADDED)
    assert inside in after
    assert take_out(after, ADDED, text) == text


@pytest.mark.parametrize("wrong", ["NaN", "{a: 1}", "[1", "Infinity", '"\\u12"'])
def test_what_is_no_json_is_refused_where_it_is_not_changed_too(wrong: str) -> None:
    with pytest.raises(InvalidRequest, match="not JSON"):
        read_text(f'{{"projects": [{wrong}], "mcpServers": {{}}}}')


@pytest.mark.parametrize(
    ("text", "unit"),
    [('{\n\t"a": 1\n}', "\t"), ('{\n   "a": 1\n}', "   "), ('{"a": 1}', "  "), ('{\n  \n    "a": 1\n}', "    ")],
)
def test_what_is_added_has_the_indentation_of_the_text(text: str, unit: str) -> None:
    assert f'\n{unit}"mcpServers": {{' in add(text, ADDED) or "\n" not in text


# What editors' settings call private, kept for commands without an editor


def private(editor: str, *patterns: str, folder: str = "file:///orchard") -> PrivatePatterns:
    return PrivatePatterns(editor=editor, folders=(folder,), patterns=patterns)


def test_each_editor_and_folder_replaces_its_own_patterns_alone(tmp_path: Path) -> None:
    place = tmp_path / "team.private"
    assert kept_private(place) == ()
    keep_private(place, private("Neovim", "quince"))
    keep_private(place, private("Visual Studio Code", "pear", "quince"))
    keep_private(place, private("Neovim", "apple", folder="file:///cellar"))
    keep_private(place, private("Neovim", "plum"))
    assert sorted(all_patterns(kept_private(place))) == ["apple", "pear", "plum", "quince"]
    keep_private(place, private("Visual Studio Code"))
    assert sorted(all_patterns(kept_private(place))) == ["apple", "plum"]


def test_nothing_is_written_without_patterns_and_others_read_nothing(tmp_path: Path) -> None:
    place = tmp_path / "team.private"
    keep_private(place, private("Neovim"))
    assert not place.exists()
    keep_private(place, private("Neovim", "quince"))
    (file,) = place.iterdir()
    assert file.stat().st_mode & 0o077 == 0


def test_a_file_that_cannot_be_read_stops_what_would_send_with_fewer_patterns(tmp_path: Path) -> None:
    keep_private(tmp_path, private("Neovim", "quince"))
    (file,) = tmp_path.iterdir()
    file.write_text("{")
    with pytest.raises(InvalidRequest, match="delete it, and open the editor again"):
        kept_private(tmp_path)
