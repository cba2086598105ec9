"""Chat sessions of VS Code, as one object and as a log of operations."""

import json
from pathlib import Path
from typing import Any

from ullage.agents.transcripts import read_document
from ullage.system.transcript_files import read_transcript_file


def request(name: str, text: str = "fix it", **facts: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"text": text, "parts": []}
    return {"requestId": name, "message": message, "timestamp": 1_780_000_000_000} | facts


def answered(name: str, text: str, answer: str, **facts: Any) -> dict[str, Any]:
    return request(name, text, response=[{"value": answer}], responseId=f"{name}-answer", **facts)


def session(*requests: dict[str, Any], **facts: Any) -> dict[str, Any]:
    return {"version": 3, "sessionId": "s", "responderUsername": "GitHub Copilot", "requests": list(requests)} | facts


def test_the_folder_is_that_of_the_workspace(tmp_path: Path) -> None:
    folder = tmp_path / "workspaceStorage" / "0a1b"
    (folder / "chatSessions").mkdir(parents=True)
    (folder / "workspace.json").write_text('{"folder": "file:///home/dev/my%20project"}')
    file = folder / "chatSessions" / "s.json"
    file.write_text(json.dumps(session(answered("q", "one", "First."))))
    assert read_document(read_transcript_file(file)).cwd == "/home/dev/my project"
