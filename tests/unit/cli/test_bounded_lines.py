"""Hooks that run at the same time add to the same files of lines."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.command_line import PATIENCE
from ullage import host
from ullage.cli.commands.hook import append_line
from ullage.host import write_whole

_PROCESSES, _LINES = 8, 300
_CODE = """
import sys
from ullage.cli.commands.hook import append_line
path, name, lines, longest = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
sys.stdin.read()
for number in range(lines):
    append_line(path, b'{"by":"%s","number":%d,"text":"%s"}\\n' % (name.encode(), number, b"x" * 200), longest)
"""


def _run_beside_each_other(path: Path, longest: int) -> list[tuple[str, int]]:
    """Has processes add lines, and returns whose are there, in their order. Raises `ValueError` for a broken one."""
    command = [sys.executable, "-c", _CODE, str(path)]
    started = [
        subprocess.Popen([*command, str(name), str(_LINES), str(longest)], stdin=subprocess.PIPE)
        for name in range(_PROCESSES)
    ]
    # All begin together.
    for process in started:
        assert process.stdin is not None
        process.stdin.close()
    assert [process.wait(PATIENCE) for process in started] == [0] * _PROCESSES
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    return [(row["by"], row["number"]) for row in rows]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows locks no file that is only appended to")
def test_processes_that_add_at_once_lose_no_line(tmp_path: Path) -> None:
    found = _run_beside_each_other(tmp_path / "lines", 10_000_000)
    assert sorted(found) == sorted((str(name), number) for name in range(_PROCESSES) for number in range(_LINES))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows locks no file that is only appended to")
def test_processes_that_add_at_once_keep_to_the_limit_and_lose_only_what_is_old(tmp_path: Path) -> None:
    path, longest = tmp_path / "lines", 50_000
    found = _run_beside_each_other(path, longest)
    assert longest / 3 < path.stat().st_size <= longest
    assert len({*found}) == len(found)
    # Of each process that has a line here, all later ones are here, too.
    for name in {by for by, _ in found}:
        numbers = [number for by, number in found if by == name]
        assert numbers == [*range(numbers[0], _LINES)]


def test_the_older_half_is_dropped_by_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    for number in range(100):
        append_line(str(path), b"line %d\n" % number, 200)
        assert path.stat().st_size <= 200
    lines = path.read_text().splitlines()
    assert lines[-1] == "line 99"
    assert lines == [f"line {number}" for number in range(100 - len(lines), 100)]


# Files that hooks and status lines write as a whole while others do the same


def test_a_link_that_waits_under_the_name_of_the_temporary_file_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs, place = tmp_path / "theirs", tmp_path / "said.json"
    theirs.write_text("theirs", "utf-8")
    monkeypatch.setattr(host.time, "time_ns", lambda: 1)
    for name in (f"{place}.{os.getpid()}", f"{place}.{os.getpid()}.1"):
        Path(name).symlink_to(theirs)
    with pytest.raises(FileExistsError):
        write_whole(str(place), b"ours")
    assert (theirs.read_text("utf-8"), place.exists()) == ("theirs", False)


def test_a_process_of_the_same_id_in_another_container_keeps_its_file(tmp_path: Path) -> None:
    place = tmp_path / "said.json"
    other = Path(f"{place}.{os.getpid()}")
    other.write_text("half of what", "utf-8")
    write_whole(str(place), b"ours")
    assert (place.read_bytes(), other.read_text("utf-8")) == (b"ours", "half of what")
    assert sorted(tmp_path.iterdir()) == sorted([place, other])
