"""What holds for the memory tool with every path and every sequence of commands."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from support.canary import picture, plant
from support.memory_twin import MemoryTwin
from ullage.memory.memory_tool import insert_text, lines_of, parse_path, replace_text
from ullage.model.errors import InvalidRequest
from ullage.store.memories.memory_files import FolderMemory, Open, PathFolder, open_folder
from ullage.tools.toolbox import run_memory

pieces = st.sampled_from(
    ["/", "..", ".", "memories", "outside", "canary.txt", "notes.md", "a", "\\", "%2e", "\x00", "~", "Å", "․", " ", ":"]
)
paths = st.one_of(
    st.text(max_size=40),
    st.text(max_size=40).map("/memories/".__add__),
    st.lists(pieces, max_size=12).map("".join),
    st.lists(pieces, max_size=12).map(lambda parts: "/memories/" + "".join(parts)),
)


@settings(max_examples=300, deadline=None)
@given(path=paths, other=paths)
def test_no_path_touches_what_is_outside(path: str, other: str) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        outside = plant(root)
        files = FolderMemory(root / "base")
        before = picture(outside)
        commands: list[dict[str, Any]] = [
            {"command": "create", "path": path, "file_text": "x"},
            {"command": "view", "path": path},
            {"command": "str_replace", "path": path, "old_str": "must stay", "new_str": "x"},
            {"command": "insert", "path": path, "insert_line": 0, "insert_text": "x"},
            {"command": "rename", "old_path": path, "new_path": other},
            {"command": "delete", "path": other},
        ]
        assert all("CANARY" not in run_memory(files, command).text for command in commands)
        assert picture(outside) == before
        assert {entry.name for entry in root.iterdir()} <= {"outside", "base", "base.lock"}


@given(paths)
def test_path_that_is_accepted_is_written_as_it_was_given(text: str) -> None:
    try:
        path = parse_path(text)
    except InvalidRequest:
        return
    assert str(path) == text.removesuffix("/")
    assert all(name not in ("", ".", "..") and "/" not in name and "\x00" not in name for name in path.parts)
    assert parse_path(str(path)) == path


@given(st.text(alphabet="ab\n\r", max_size=30), st.text(alphabet="ab\n", min_size=1, max_size=3), st.text(max_size=5))
def test_replacement_changes_one_place_or_nothing(text: str, old: str, new: str) -> None:
    path = parse_path("/memories/a")
    starts = [at for at in range(len(text)) if text.startswith(old, at)]
    try:
        edited = replace_text(path, text, old, new).text
    except InvalidRequest:
        assert len(starts) != 1
    else:
        assert [text[: starts[0]] + new + text[starts[0] + len(old) :]] == [edited]
        assert len(starts) == 1


@given(st.text(alphabet="ab\n\r", max_size=30), st.integers(0, 10), st.text(alphabet="xy\n", max_size=6))
def test_insertion_adds_lines_and_keeps_the_others(text: str, line: int, inserted: str) -> None:
    lines = lines_of(text)
    if line <= len(lines):
        edited = lines_of(insert_text(parse_path("/memories/a"), text, line, inserted).text)
        assert edited == lines[:line] + lines_of(inserted + "\n" * (not inserted.endswith("\n"))) + lines[line:]


names = st.sampled_from(["a", "b", "A", "notes.md", "日本"])
spots = st.lists(names, min_size=0, max_size=4).map(lambda parts: "/".join(("/memories", *parts)))
texts = st.text(alphabet="ab\né", max_size=12)


class MemoryOnDisk(RuleBasedStateMachine):
    """Runs commands on a folder and on a dict. Both must give the same answers and hold the same files."""

    open_base: Open = staticmethod(open_folder)

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.outside = plant(Path(self.folder.name))
        self.before = picture(self.outside)
        self.disk = FolderMemory(Path(self.folder.name) / "base", open_base=self.open_base)
        self.twin = MemoryTwin()

    @rule(path=spots, text=texts)
    def create(self, path: str, text: str) -> None:
        self.both(command="create", path=path, file_text=text)

    @rule(path=spots, old=st.text(alphabet="ab", min_size=1, max_size=2), new=texts)
    def str_replace(self, path: str, old: str, new: str) -> None:
        self.both(command="str_replace", path=path, old_str=old, new_str=new)

    @rule(path=spots, line=st.integers(-1, 4), text=texts)
    def insert(self, path: str, line: int, text: str) -> None:
        self.both(command="insert", path=path, insert_line=line, insert_text=text)

    @rule(path=spots)
    def delete(self, path: str) -> None:
        self.both(command="delete", path=path)

    @rule(old=spots, new=spots)
    def rename(self, old: str, new: str) -> None:
        self.both(command="rename", old_path=old, new_path=new)

    @rule(path=spots)
    def view(self, path: str) -> None:
        self.both(command="view", path=path)

    @invariant()
    def both_hold_the_same(self) -> None:
        self.both(command="view", path="/memories")
        assert picture(self.outside) == self.before

    def both(self, **command: Any) -> None:
        on_disk, in_dict = run_memory(self.disk, command), run_memory(self.twin, command)
        assert on_disk.is_error == in_dict.is_error, (command, on_disk.text, in_dict.text)
        assert on_disk.is_error or on_disk.text == in_dict.text

    def teardown(self) -> None:
        self.folder.cleanup()


class MemoryByPath(MemoryOnDisk):
    """The same commands on folders that are opened by path."""

    open_base = staticmethod(PathFolder.open)


TestMemoryOnDisk = MemoryOnDisk.TestCase
TestMemoryOnDisk.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
TestMemoryByPath = MemoryByPath.TestCase
TestMemoryByPath.settings = TestMemoryOnDisk.settings
