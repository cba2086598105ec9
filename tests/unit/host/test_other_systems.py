"""What Ullage does by the rules of Windows and macOS, kept on Linux."""

import asyncio
import errno
import json
import os
import plistlib
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from unicodedata import normalize

import pytest

from support.systems import needs_linux
from ullage.agents.discovery import is_in
from ullage.agents.machine import Machine
from ullage.agents.table import AGENTS
from ullage.agents.wiring import HooksOff
from ullage.cli.hooks.hook_state import HookState
from ullage.host import Mac, System, Windows, this_system, write_whole
from ullage.model.errors import InvalidRequest, StoreUnavailable
from ullage.system.processes import ask_to_end, kill_group, start_with_us
from ullage.system.settings_files import apply, switched_off
from ullage.system.shared_files import replace_file
from ullage.wire.plan import FileChange

# Names that are devices in every folder, whatever their ending.
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10))}


def _open_files() -> set[str]:
    return {str(one.resolve()) for one in Path("/proc/self/fd").iterdir()}


def _denied(path: object) -> PermissionError:
    return PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


@contextmanager
def windows(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Has the rules of Windows while the block runs: no file that is open is replaced or removed, a name in another
    case is the same file, devices are no files, and processes have no signals and no groups."""
    replace, unlink, opened = os.replace, os.unlink, os.open

    def same(path: str) -> str:
        named = Path(path)
        if named.name.partition(".")[0].lower() in _DEVICES:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        there = named.parent.iterdir() if named.parent.is_dir() else ()
        return str(next((one for one in there if one.name.lower() == named.name.lower()), named))

    def demand_closed(path: str) -> str:
        if os.path.realpath(path) in _open_files():
            raise _denied(path)
        return path

    def no_signal(*_: object) -> None:
        raise AssertionError("Windows would have ended the process")

    def move(own: str, path: str) -> None:
        replace(demand_closed(own), demand_closed(same(path)))

    def remove(path: str) -> None:
        unlink(demand_closed(same(path)))

    def open_same(path: str, flags: int, mode: int = 0o777) -> int:
        return opened(same(path), flags, mode)

    with monkeypatch.context() as patch:
        patch.setattr(this_system, "__class__", Windows)
        patch.setattr(Windows, "pause", 0)
        patch.setattr(os, "replace", move)
        patch.setattr(os, "unlink", remove)
        patch.setattr(os, "open", open_same)
        patch.setattr(os, "kill", no_signal)
        patch.setattr(os, "killpg", no_signal)
        patch.setattr(signal, "alarm", no_signal)
        yield


def decomposed(path: Path) -> str:
    """Returns a path as macOS gives back the names of files that were made with whole letters."""
    return normalize("NFD", str(path))


pytestmark = needs_linux


def replaced_by_settings(path: Path) -> None:
    apply(FileChange(path=str(path), before=b"old", after=b"new"))


def replaced_next_to_the_store(path: Path) -> None:
    replace_file(path, b"new")


WAYS: tuple[tuple[Callable[[Path], None], type[Exception]], ...] = (
    (replaced_by_settings, InvalidRequest),
    (replaced_next_to_the_store, StoreUnavailable),
)


@pytest.mark.parametrize(("way", "error"), WAYS)
def test_a_file_that_a_program_keeps_open_on_windows_stays_as_it_is(
    way: Callable[[Path], None], error: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b"old")
    with windows(monkeypatch), path.open("rb"), pytest.raises(error, match="cannot write"):
        way(path)
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("settings.json", b"old")]
    with windows(monkeypatch):
        way(path)
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("settings.json", b"new")]


def test_a_file_that_is_open_for_a_moment_on_windows_is_replaced_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, waited = tmp_path / "live.json", list[float]()
    path.write_bytes(b"old")
    with windows(monkeypatch), path.open("rb") as reader:

        def wait(seconds: float) -> None:
            waited.append(seconds)
            reader.close()

        monkeypatch.setattr("ullage.host.time.sleep", wait)
        write_whole(str(path), b"new")
    assert (path.read_bytes(), len(waited)) == (b"new", 1)


def test_a_file_whose_name_is_a_device_on_windows_is_refused_and_another_case_is_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Said.json").write_bytes(b"old")
    with windows(monkeypatch):
        with pytest.raises(OSError, match="No such file"):
            write_whole(str(tmp_path / "nul.json"), b"new")
        write_whole(str(tmp_path / "said.json"), b"new")
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("Said.json", b"new")]


def test_a_brief_goes_from_the_worker_to_the_hook_on_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with windows(monkeypatch):
        kept = HookState(str(tmp_path / "sessions.db"), "s1")
        kept.ask("the summary")
        assert kept.take_summary() == "the summary"
        kept.leave(b'{"text": "brief"}')
        assert kept.claim() == {"text": "brief"}
        kept.set_worker(os.getpid())
        this_system.end_self_after(1)
        assert this_system.runs(kept.worker())
    assert not this_system.runs(2**40)


async def test_an_agent_is_started_and_killed_on_windows_without_a_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    process = await start_with_us(sys.executable, "-c", "input()", stdin=subprocess.PIPE)
    with windows(monkeypatch):
        assert this_system.ending == ()
        assert set(this_system.apart()) == set(this_system.detached()) == {"creationflags"}
        sent = list[int]()
        monkeypatch.setattr(process, "send_signal", sent.append)
        ask_to_end(process)
        assert sent == [1]
    with monkeypatch.context() as patch:
        patch.setattr(this_system, "__class__", Windows)
        async with asyncio.timeout(60):
            await kill_group(process)
    assert process.returncode is not None


@pytest.mark.parametrize(
    ("system", "variables", "folder"),
    [
        (System, {"XDG_DATA_HOME": "relative"}, "/home/bob/.local/share"),
        (System, {"XDG_DATA_HOME": "/data"}, "/data"),
        (Mac, {}, "/home/bob/Library/Application Support"),
        (Windows, {"LOCALAPPDATA": "D:\\Local"}, "D:\\Local"),
        (Windows, {}, "/home/bob\\AppData\\Local"),
    ],
)
def test_each_system_has_its_folder_for_data(
    system: type[System], variables: dict[str, str], folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert system().data_folder("/home/bob") == folder


def test_the_parent_of_a_process_is_asked_for_by_each_system() -> None:
    own = os.getpid()
    assert [System().parent(own), Windows().parent(own)] == [os.getppid()] * 2
    assert this_system.ancestors(own)[:2] == [own, os.getppid()]
    assert this_system.ancestors("1") == []


def test_a_process_that_has_ended_does_not_run_before_its_parent_asks() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert not this_system.runs(process.pid)


@pytest.mark.parametrize(
    ("folder", "parent"),
    [
        ("C:\\Users\\Bob\\shop\\src", "c:/users/bob/shop"),
        ("/mnt/c/Users/Bob/shop", "C:\\Users\\bob\\shop"),
        ("\\\\?\\C:\\Users\\Bob\\shop", "/mnt/c/users/bob"),
        ("\\\\wsl$\\Ubuntu\\home\\bob\\shop", "/home/bob/shop"),
        ("\\\\wsl.localhost\\Debian\\home\\bob", "/home/bob"),
        ("\\\\wsl$\\Ubuntu\\mnt\\d\\work", "D:\\Work"),
        ("/Users/Bob/Shop", "/Users/bob"),
        (decomposed(Path("/Users/zoé/café")), "/Users/Zoé"),
        ("D:\\", "d:/"),
    ],
)
def test_a_folder_is_the_same_by_each_of_its_names(folder: str, parent: str) -> None:
    assert is_in(folder, parent)


@pytest.mark.parametrize(
    ("folder", "parent"),
    [
        ("C:\\Users\\Bob", "D:\\Users\\Bob"),
        ("/home/Bob", "/home/bob"),
        ("/mnt/data/shop", "/mnt/d"),
        ("C:\\Users\\Bobby", "C:\\Users\\Bob"),
        ("\\\\server\\share\\home\\bob", "/home/bob"),
    ],
)
def test_another_folder_is_not_the_same(folder: str, parent: str) -> None:
    assert not is_in(folder, parent)


@pytest.mark.parametrize(
    ("system", "place", "settings", "named"),
    [
        ("win32", "HKLM/SOFTWARE/Policies/ClaudeCode/Settings", {"disableAllHooks": True}, "disableAllHooks"),
        ("win32", "HKCU/SOFTWARE/Policies/ClaudeCode/Settings", {"allowManagedHooksOnly": True}, "allowManagedHooks"),
        ("win32", "HKLM/SOFTWARE/Policies/ClaudeCode/Settings", {"disableAllHooks": False}, ""),
        ("darwin", "com.anthropic.claudecode.plist", {"allowManagedHooksOnly": True}, "allowManagedHooksOnly"),
        ("darwin", "bob/com.anthropic.claudecode.plist", {"disableAllHooks": True}, "disableAllHooks"),
        ("linux", "com.anthropic.claudecode.plist", {"disableAllHooks": True}, ""),
    ],
)
def test_settings_that_administrators_keep_outside_files_switch_hooks_off(  # noqa: PLR0917  (a row, and fixtures)
    system: str, place: str, settings: dict[str, object], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, folder = tmp_path / "bob", "/Library/Managed Preferences/"
    home.mkdir()
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).write_bytes(plistlib.dumps(settings, fmt=plistlib.FMT_BINARY))
    machine = Machine(system=system, home=str(home), cwd=str(home))
    wiring = next(agent.wiring for agent in AGENTS if agent.wiring and agent.wiring.word == "claude-code")
    assert wiring.hooks_off is not None
    # The folder of profiles is the test's own.
    sources = wiring.hooks_off.managed(machine)
    managed = tuple(tuple(one.replace(folder, f"{tmp_path}/") for one in source) for source in sources)
    policies = {place: json.dumps(settings)} if place.startswith("HK") else {}

    def policy(asked: str) -> str:
        return policies.get(asked, "")

    monkeypatch.setattr(this_system, "policy", policy)
    found = switched_off(HooksOff(layers=lambda _: (), managed=lambda _: managed, off_by=wiring.hooks_off.off_by))
    assert found.startswith(named) if named else found == ""
    assert not named or place in found


@pytest.mark.parametrize("system", ["win32", "darwin", "linux"])
def test_of_an_organisations_settings_only_the_first_source_counts(
    system: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(system=system, home=str(tmp_path / "bob"), cwd=str(tmp_path))
    wiring = next(agent.wiring for agent in AGENTS if agent.wiring and agent.wiring.word == "claude-code")
    assert wiring.hooks_off is not None
    sources = [source[0] for source in wiring.hooks_off.managed(machine)]
    kinds = {
        "remote": "remote-settings",
        "policy": "HKLM",
        "profile": "Managed Pref",
        "file": "managed-settings",
        "own": "HKCU",
    }
    order = [kind for one in sources for kind, mark in kinds.items() if mark in one]
    assert (
        order
        == {
            "win32": ["remote", "policy", "file", "own"],
            "darwin": ["remote", "profile", "profile", "file"],
            "linux": ["remote", "file"],
        }[system]
    )
    places = tuple((f"HK/{number}",) for number, _ in enumerate(sources))
    policies: dict[str, str] = {}

    def policy(asked: str) -> str:
        return policies.get(asked, "")

    monkeypatch.setattr(this_system, "policy", policy)
    off = HooksOff(layers=lambda _: (), managed=lambda _: places, off_by=wiring.hooks_off.off_by)
    for (place,) in reversed(places):
        policies[place] = json.dumps({"allowManagedHooksOnly": True})
        assert place in switched_off(off)
        # Another setting of a source is enough for those after it not to count.
        policies[place] = json.dumps({"model": "opus"})
        assert switched_off(off) == ""


def test_a_damaged_profile_says_nothing(tmp_path: Path) -> None:
    for number, data in enumerate((b"bplist00\xff", b"<plist><dict>", b"", b"<plist><string>x</string></plist>")):
        (tmp_path / f"{number}.plist").write_bytes(data)
    off = HooksOff(layers=lambda _: (f"{tmp_path}/*.plist",), off_by=lambda _, settings: "seen" if settings else None)
    assert switched_off(off) == ""
