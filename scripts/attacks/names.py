"""Commands in a folder, and with conversations, whose names and texts would steer the terminal or the program."""

import json
import re
from pathlib import Path

from attacks.attack import Ground, Outcome, ullage
from support.log_trees import to_bytes
from support.session_log import JsonObject, line

# A clipboard, a colour, a link, an erased screen, and text that runs from right to left.
_HOSTILE = "\x1b]52;c;aGk=\x07\x1b[31m\x1b]8;;x\x1b\\X\x9b2J\u202e[red]abc[/x]\u2028\b"
# A file's name, which has no slash.
_NAME = "\x1b[31m\x9b[bold]`id`$(id)"
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029]")
_SESSION = "11111111-1111-4111-8111-111111111111"
# What Python imports from its own folders, and would import from the user's.
_MODULES = ("ullage", "msgspec", "json", "typing")


def hostile_names(ground: Ground) -> Outcome:
    """Guards against control characters of names and texts that reach the terminal, against modules of the folder that
    are run in place of Python's, and against tracebacks."""
    home, project = ground.folder / "home", ground.folder / f"project{_NAME}"
    agents = home / ".claude" / "projects" / re.sub("[^A-Za-z0-9]", "-", str(project))
    for folder in (agents, project):
        folder.mkdir(parents=True)
    for module in _MODULES:
        (project / f"{module}.py").write_text("open('ran', 'w').close()\n", "utf-8")
    log = agents / f"{_SESSION}.jsonl"
    log.write_bytes(to_bytes(_records(project)))
    broken = project / f"broken{_NAME}.jsonl"
    broken.write_text('{"a\x1b[31m": 1}\n', "utf-8")
    given = json.dumps({"session_id": _SESSION, "transcript_path": str(log), "model": {"display_name": _HOSTILE}})
    commands: list[tuple[tuple[str, ...], str]] = [
        *(((word, str(file)), "") for word in ("context", "compact", "lost", "import") for file in (log, broken)),
        *((words, "") for words in ((), ("sessions",), ("search", "Hello"), ("continue",), ("doctor",), ("archive",))),
        *((("wire", _NAME), ""), (("context", f"none{_NAME}"), ""), (("statusline",), given)),
    ]
    faults = [fault for words, text in commands if (fault := _run(home, project, words, text))]
    if (project / "ran").exists():
        faults.append("a module of the folder was run")
    survived = f"{len(commands) - len(faults)} printed no control character"
    return Outcome(tried=len(commands), survived=survived, faults=tuple(faults))


def _records(project: Path) -> list[JsonObject]:
    call = {"type": "tool_use", "id": "t", "name": _HOSTILE, "input": {"command": _HOSTILE, "description": _HOSTILE}}
    said: list[tuple[str, object]] = [
        ("user", f"Hello {_HOSTILE}"),
        ("assistant", [{"type": "text", "text": f"I look. {_HOSTILE}"}, call]),
        ("user", [{"type": "tool_result", "tool_use_id": "t", "content": f"FAILED {_HOSTILE}", "is_error": True}]),
        ("assistant", [{"type": "text", "text": f"Done. {_HOSTILE}"}]),
    ]
    facts = {"sessionId": _SESSION, "version": f"2.1.39{_HOSTILE}", "cwd": str(project), "gitBranch": _HOSTILE}
    answer = {"model": f"claude{_HOSTILE}", "usage": {"input_tokens": 150_000, "output_tokens": 10}}
    return [
        line(role, f"u{n}", f"u{n - 1}" if n else None, content, **facts, **(answer if role == "assistant" else {}))
        for n, (role, content) in enumerate(said)
    ]


def _run(home: Path, project: Path, words: tuple[str, ...], given: str) -> str:
    """Runs a command in the project's folder. Returns what is wrong with what it has printed, or an empty text."""
    ran = ullage(home, words, project, given)
    printed = (ran.stdout + ran.stderr).decode("utf-8", "replace")
    if "Traceback" in printed:
        return f"{words!r}: {printed.splitlines()[-1]!r}"
    found = _OBEYED.search(printed)
    return f"{words!r} prints {printed[found.start() : found.end() + 20]!r}" if found else ""
