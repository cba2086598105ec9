"""The tools of a prompt turn: what they return, what they refuse, and that they stay inside the session's folder."""

from pathlib import Path
from typing import Any

import pytest

from support.memory_twin import MemoryTwin
from support.systems import needs_links
from ullage.model.message import ToolUseBlock
from ullage.model.updates import ToolKind
from ullage.service.ports.models import Question, ToolOutcome
from ullage.tools.toolbox import LocalToolbox, OpenedFolders


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src" / "app.py").write_text("import os\n\ndef main():\n    return os.name\n")
    (root / "README.md").write_text("# The app\n")
    (root / "picture.bin").write_bytes(b"\0\1\2")
    (root / "node_modules").mkdir()
    (root / "node_modules" / "app.py").write_text("def main(): pass\n")
    (tmp_path / "secret.txt").write_text("the secret")
    return root


def toolbox(memory: MemoryTwin | None = None, opened: OpenedFolders = lambda _: None) -> LocalToolbox:
    async def look_up(session_id: str, arguments: Any) -> ToolOutcome:
        return ToolOutcome(text=f"{session_id}: {arguments['query']}")

    async def open_text(session_id: str, path: str) -> str | None:
        return "as the editor has it" if path.endswith("src/unsaved.py") else None

    return LocalToolbox(lambda _cwd: memory or MemoryTwin(), look_up, open_text, opened)


async def use(project: Path, name: str, **given: Any) -> ToolOutcome:
    return await toolbox().run("s", str(project), ToolUseBlock(id="t", name=name, input=given))


async def test_a_file_is_read_with_line_numbers_and_says_how_to_go_on(project: Path) -> None:
    outcome = await use(project, "read_file", path="src/app.py", start_line=3, line_count=1)
    assert outcome.text == "     3\tdef main():\n[1 more lines; go on with start_line 4]"


async def test_files_are_listed_without_what_other_programs_made(project: Path) -> None:
    outcome = await use(project, "list_files", pattern="*.py")
    assert outcome.text == "src/app.py"


async def test_matching_lines_are_found_with_their_places(project: Path) -> None:
    outcome = await use(project, "search_text", pattern=r"def \w+")
    assert outcome.text == "src/app.py:3: def main():"


@pytest.mark.parametrize("path", ["../secret.txt", "/etc/passwd", "src/../../secret.txt"])
@pytest.mark.parametrize("name", ["read_file", "list_files", "search_text"])
async def test_nothing_outside_the_folder_is_shown(project: Path, name: str, path: str) -> None:
    outcome = await use(project, name, path=path, **({"pattern": "secret"} if name == "search_text" else {}))
    assert outcome.is_error
    assert "outside" in outcome.text


@needs_links
@pytest.mark.parametrize("name", ["read_file", "list_files", "search_text"])
async def test_a_link_out_of_the_folder_shows_nothing(project: Path, name: str) -> None:
    (project / "way-out").symlink_to(project.parent)
    pattern = {"pattern": "secret"} if name == "search_text" else {}
    outcome = await use(project, name, path="way-out/secret.txt", **pattern)
    assert outcome.is_error
    assert "outside" in outcome.text


@needs_links
async def test_a_walk_does_not_follow_links_out_of_the_folder(project: Path) -> None:
    (project / "src" / "link.txt").symlink_to(project.parent / "secret.txt")
    (project / "way-out").symlink_to(project.parent)
    found = await use(project, "search_text", pattern="the secret")
    listed = await use(project, "list_files")
    assert found.text == "[No line matches.]"
    assert "link.txt" not in listed.text


@pytest.mark.parametrize(
    ("name", "given", "word"),
    [
        ("read_file", {"path": "picture.bin"}, "not a text file"),
        ("read_file", {"path": "src"}, "not a file"),
        ("read_file", {"path": "a\0b"}, "NUL"),
        ("read_file", {}, "path"),
        ("read_file", {"path": 3}, "str"),
        ("list_files", {"path": "README.md"}, "not a folder"),
        ("search_text", {"pattern": "("}, "regular expression"),
        ("write_file", {"path": "x"}, "read_file"),
    ],
)
async def test_an_impossible_call_is_reported_to_the_model(
    project: Path, name: str, given: dict[str, Any], word: str
) -> None:
    outcome = await use(project, name, **given)
    assert outcome.is_error
    assert word in outcome.text


async def test_a_pattern_that_takes_for_ever_is_given_up(project: Path) -> None:
    (project / "long.txt").write_text("a" * 60 + "b\n")
    outcome = await use(project, "search_text", pattern=r"(a|aa)+$", path="long.txt")
    assert outcome.is_error
    assert "takes too long" in outcome.text


async def test_a_session_without_a_folder_has_no_files() -> None:
    outcome = await toolbox().run("s", "", ToolUseBlock(id="t", name="list_files", input={}))
    assert outcome.is_error
    assert "no folder" in outcome.text


def test_a_call_is_described_before_it_is_made() -> None:
    about = toolbox().describe(ToolUseBlock(id="t", name="read_file", input={"path": "a.py"}))
    assert (about.title, about.locations[0].path) == ("Read a.py", "a.py")
    assert toolbox().describe(ToolUseBlock(id="t", name="other", input={"path": 3})).title == "other"


async def test_notes_are_kept_from_call_to_call_without_a_question() -> None:
    box = toolbox(MemoryTwin())
    create = ToolUseBlock(
        id="t", name="memory", input={"command": "create", "path": "/memories/a.md", "file_text": "tabs, not spaces"}
    )
    view = ToolUseBlock(id="t", name="memory", input={"command": "view", "path": "/memories/a.md"})

    assert not (await box.run("s", "", create)).is_error
    assert "tabs, not spaces" in (await box.run("s", "", view)).text
    assert box.describe(create).title == "Memory: create /memories/a.md"
    assert await box.question("s", "", create) is None
    assert (box.describe(create).kind, box.describe(view).kind) == (ToolKind.EDIT, ToolKind.READ)


async def test_the_archive_of_the_sessions_own_conversation_is_asked_without_a_question() -> None:
    call = ToolUseBlock(id="t", name="recall", input={"query": "retry limit"})
    assert (await toolbox().run("s_1", "", call)).text == "s_1: retry limit"
    assert await toolbox().question("s_1", "", call) is None


def test_a_model_is_offered_five_tools_with_their_inputs() -> None:
    offered = {tool.name: tool.input_schema["properties"] for tool in toolbox().definitions}
    assert offered.keys() == {"read_file", "list_files", "search_text", "memory", "recall"}
    assert all(offered.values())


async def test_a_file_is_read_as_the_editor_has_it_if_it_lies_in_the_folder(project: Path) -> None:
    (project / "src" / "unsaved.py").write_text("as it is on disk")
    assert "as the editor has it" in (await use(project, "read_file", path="src/unsaved.py")).text
    (project.parent / "src").mkdir()
    (project.parent / "src" / "unsaved.py").write_text("elsewhere")
    outside = await use(project, "read_file", path="../src/unsaved.py")
    assert outside.is_error
    assert "outside" in outside.text


def reading(path: str, name: str = "read_file") -> ToolUseBlock:
    return ToolUseBlock(id="t", name=name, input={"path": path})


async def test_where_every_reading_is_asked_for_so_is_one_in_the_project(project: Path) -> None:
    asked = await toolbox().question("s", str(project), reading("README.md"))
    assert asked == Question(key="read_file")


async def test_what_the_user_has_opened_is_read_without_a_question(project: Path, tmp_path: Path) -> None:
    further = tmp_path / "library"
    further.mkdir()
    (further / "lib.py").write_text("def helper(): pass\n")
    box = toolbox(opened=lambda _: (str(further),))
    for path in ("README.md", "src/../README.md", str(further / "lib.py")):
        assert await box.question("s", str(project), reading(path)) is None
        assert not (await box.run("s", str(project), reading(path))).is_error
    listed = await box.run("s", str(project), reading(str(further), "list_files"))
    assert listed.text == f"[Paths are relative to {further}]\nlib.py"


@needs_links
async def test_outside_the_open_folders_the_user_is_asked_about_the_path_that_will_be_read(
    project: Path, tmp_path: Path
) -> None:
    (project / "link.txt").symlink_to("../secret.txt")
    box = toolbox(opened=lambda _: ())
    for path in ("../secret.txt", "link.txt", str(tmp_path / "secret.txt")):
        assert (await box.run("s", str(project), reading(path))).is_error
        asked = await box.question("s", str(project), reading(path))
        secret = (tmp_path / "secret.txt").resolve()
        assert asked == Question(key=f"read_file {secret.parent}", title=f"Read {secret}")
        assert "the secret" in (await box.run("s", str(project), reading(path))).text
        # The user was asked about one call, not about a later one.
        assert (await box.run("s", str(project), reading(path))).is_error


@needs_links
async def test_a_link_that_is_changed_after_the_question_leads_nowhere(project: Path, tmp_path: Path) -> None:
    (tmp_path / "harmless.txt").write_text("harmless")
    (project / "link.txt").symlink_to("../harmless.txt")
    box = toolbox(opened=lambda _: ())
    assert await box.question("s", str(project), reading("link.txt")) is not None
    (project / "link.txt").unlink()
    (project / "link.txt").symlink_to("../secret.txt")
    outcome = await box.run("s", str(project), reading("link.txt"))
    assert outcome.is_error
    assert "the secret" not in outcome.text
