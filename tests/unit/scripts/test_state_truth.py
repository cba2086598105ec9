"""What the state bench takes from files of Claude Code, and what it folds from them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benches.state import first_and_tail, tail
from benches.state_records import COMPACTED, Recording, read_recording, typed_text
from benches.state_truth import Truth, fold, outcomes

FOLDER = "/home/ada/cards"


# Files of Claude Code, as small as they get


class ClaudeFile:
    """Records that Claude Code would write, one under the other."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []

    def add(self, kind: str, **more: Any) -> None:
        parent = self.records[-1]["uuid"] if self.records else None
        given = {"type": kind, "uuid": f"u{len(self.records)}", "parentUuid": parent, "cwd": FOLDER}
        self.records.append(given | more)

    def user(self, content: Any, **more: Any) -> None:
        self.add("user", message={"role": "user", "content": content}, **more)

    def agent(self, text: str) -> None:
        self.add("assistant", message={"content": [{"type": "text", "text": text}]})

    def call(self, name: str, given: Mapping[str, Any], output: str, *, failed: bool = False, **of: Any) -> None:
        called = f"c{len(self.records)}"
        self.add("assistant", message={"content": [{"type": "tool_use", "id": called, "name": name, "input": given}]})
        block = {"type": "tool_result", "tool_use_id": called, "content": output, "is_error": failed}
        self.user([block], toolUseResult=of)

    def bash(self, command: str, output: str, *, failed: bool = False) -> None:
        self.call("Bash", {"command": command}, output, failed=failed)

    def edit(self, path: str, old: str, new: str) -> None:
        self.call("Edit", {"file_path": f"{FOLDER}/{path}", "old_string": old, "new_string": new}, "updated")

    def compact(self, summary: str) -> None:
        self.add("system", subtype="compact_boundary")
        self.user(summary, isCompactSummary=True)

    def read(self, tmp_path: Path) -> Recording:
        path = tmp_path / "session.jsonl"
        path.write_bytes(b"\n".join(msgspec.json.encode(record) for record in self.records))
        recording = read_recording(path)
        assert recording is not None
        return recording

    def truth(self, tmp_path: Path) -> Truth:
        self.compact("It is about gift cards.")
        recording = self.read(tmp_path)
        at = next(at for at, event in enumerate(recording.events) if event.kind == COMPACTED)
        return fold(recording.events[:at], recording.folder)


# Reading


@pytest.mark.parametrize(
    "inserted",
    [
        "<system-reminder>\nBe brief\n</system-reminder>",
        "<local-command-stdout>Bye!</local-command-stdout>",
        "[Request interrupted by user]",
        "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>",
        "This session is being continued from a previous conversation.",
        "Base directory for this skill: /home/ada/.claude/skills/review",
    ],
)
def test_what_a_harness_inserts_is_not_typed(inserted: str) -> None:
    assert typed_text(inserted) == ""


def test_what_is_typed_beside_an_insertion_is_kept() -> None:
    assert (
        typed_text("Do it.\n\n\nIf you need specific details from before exiting plan mode (a), read: /b") == "Do it."
    )
    assert typed_text("<ide_opened_file>a.py</ide_opened_file>\nuse pnpm") == "use pnpm"
    given = "<command-name>/review</command-name>\n<command-args>only the tests</command-args>"
    assert typed_text(given) == "only the tests"


def test_words_of_a_refusal_and_of_a_queue_are_typed(tmp_path: Path) -> None:
    file = ClaudeFile()
    file.user("add gift cards")
    file.call("Edit", {"file_path": f"{FOLDER}/a.py"}, "The user doesn't want to proceed with this tool use. "
              "To tell you how to proceed, the user said:\nnot in this branch", failed=True)  # fmt: skip
    file.add("queue-operation", operation="enqueue", content="and a changelog")
    file.add("queue-operation", operation="remove")
    file.add("queue-operation", operation="enqueue", content="taken back")
    file.add("queue-operation", operation="popAll")
    file.user([{"type": "text", "text": "skill text"}], isMeta=True)
    file.add("user", message={"content": "a sub-agent's prompt"}, isSidechain=True)
    file.records[-1]["parentUuid"] = "elsewhere"
    file.records.append({**file.records[0], "uuid": "u99", "parentUuid": "u10"})
    words = file.truth(tmp_path).words
    assert [each.text for each in words][:3] == ["add gift cards", "not in this branch", "and a changelog"]
    assert [each.refuses for each in words][:3] == [False, True, False]
    assert not {"taken back", "skill text", "a sub-agent's prompt"} & {each.text for each in words}


def test_a_branch_that_was_left_is_no_part_of_the_conversation(tmp_path: Path) -> None:
    file = ClaudeFile()
    file.user("first")
    file.agent("yes")
    file.user("left behind")
    file.user("instead")
    file.records[-1]["parentUuid"] = "u1"
    assert [each.text for each in file.truth(tmp_path).words] == ["first", "instead"]


def test_a_file_without_a_compaction_is_nothing_to_measure(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(b'{"type":"user","message":{"content":"go"}}\nnot json\n')
    assert read_recording(path) is None


# Folding


def test_tasks_have_their_newest_state_by_the_number_in_the_result(tmp_path: Path) -> None:
    file = ClaudeFile()
    file.user("add gift cards")
    for number, subject in ((4, "Add the field"), (5, "Wire the form")):
        file.call("TaskCreate", {"subject": subject}, f"Task #{number} created successfully: {subject}")
    file.call("TaskUpdate", {"taskId": "4", "status": "completed"}, "Updated task #4 status")
    file.call("TaskUpdate", {"taskId": "5", "status": "in_progress"}, "Updated task #5 status")
    assert [(task.subject, task.state) for task in file.truth(tmp_path).tasks] == [
        ("Add the field", "done"),
        ("Wire the form", "in progress"),
    ]


def test_a_list_replaces_the_list_before(tmp_path: Path) -> None:
    file = ClaudeFile()
    file.user("add gift cards")
    for subject in ("Old", "Add the field"):
        file.call("TodoWrite", {"todos": [{"content": subject, "status": "pending"}]}, "ok")
    assert [(task.subject, task.state) for task in file.truth(tmp_path).tasks] == [("Add the field", "open")]


def test_files_have_their_net_change(tmp_path: Path) -> None:
    file = ClaudeFile()
    file.user("add gift cards")
    file.edit("changed.py", "old_name", "new_name")
    file.edit("reverted.py", "old_name", "new_name")
    file.edit("reverted.py", "new_name", "old_name")
    file.call("Write", {"file_path": f"{FOLDER}/new.py", "content": "gift_card"}, "", type="create")
    file.call("Write", {"file_path": f"{FOLDER}/gone.py", "content": "gift_card"}, "", type="create")
    file.bash("rm gone.py", "")
    file.call("Write", {"file_path": "/tmp/elsewhere.py", "content": "x"}, "", type="create")
    file.call("Edit", {"file_path": f"{FOLDER}/no.py", "old_string": "a", "new_string": "b"}, "no match", failed=True)
    assert {each.path: each.change for each in file.truth(tmp_path).files} == {
        "changed.py": "changed",
        "reverted.py": "not changed",
        "new.py": "created",
        "gone.py": "not changed",
    }


@pytest.mark.parametrize(
    ("command", "output", "failed", "ended"),
    [
        ("pytest -q", "3 passed", False, [("tests", True)]),
        ("pytest -q 2>&1 | tail -3", "1 failed, 2 passed", False, [("tests", False)]),
        ("pytest -q | tail -3", "see above", False, [("tests", None)]),
        ("go build ./... && go test ./...", "ok  \tcards\t0.1s", False, [("build", True), ("tests", True)]),
        ("go build ./... && go test ./...", "a.go:1:2: undefined: x", True, [("build", None), ("tests", None)]),
        ("cd app && CI=1 timeout 60 uv run mypy .", "", False, [("types", True)]),
        ("cd app && pytest", "cd: app: No such file or directory", True, [("tests", None)]),
        ("grep -rn pytest .", "", False, []),
        ("mise run fmt && mise run lint", "0 issues.", False, [("lint", True)]),
        ("cat <<'EOF' > a.sh\npytest -q\nEOF", "", False, []),
    ],
)
def test_how_checks_ended(command: str, output: str, failed: bool, ended: list[tuple[str, bool | None]]) -> None:
    assert [(each.purpose, each.passed) for each in outcomes(command, output, failed)] == ended


def test_a_failure_is_mended_by_the_next_success_and_has_its_mend(tmp_path: Path) -> None:
    file = ClaudeFile()
    file.user("go")
    file.bash("go test ./...", "--- FAIL: TestBalance_Empty\nFAIL", failed=True)
    file.edit("balance.go", "old_total", "new_total")
    file.bash("go test ./...", "ok  \tcards\t0.1s")
    truth = file.truth(tmp_path)
    assert [(run.passed, run.mended) for run in truth.runs] == [(False, True), (True, False)]
    (problem,) = truth.problems
    assert problem.signs == {"TestBalance_Empty"}
    assert problem.mend == {"old_total", "new_total", "balance.go"}


def test_a_commit_of_a_probe_is_not_the_projects(tmp_path: Path) -> None:
    file = ClaudeFile()
    file.user("go")
    file.bash("git commit -m 'add cards'", "[main 4f1c2aa] add cards\n 1 file changed")
    file.bash("cd /tmp && git init && git commit -m initial", "[main (root-commit) 9d0e77b] initial")
    assert [each.sha for each in file.truth(tmp_path).commits] == ["4f1c2aa"]


def test_baselines_keep_to_their_room(tmp_path: Path) -> None:
    file = ClaudeFile()
    file.user("add gift cards " * 30)
    for number in range(30):
        file.bash(f"grep -n gift_card_{number} .", f"a.py:{number}: gift_card_{number} = {number}\n" * 3)
    file.compact("It is about gift cards.")
    events = file.read(tmp_path).events
    for make in (first_and_tail, tail):
        page = make(events, 2_000)
        assert 1_200 < len(page) <= 2_000
