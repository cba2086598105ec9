"""Sessions of Droid, from its store and as it prints them."""

import json
from pathlib import Path
from typing import Any

from support.foreign import reports_of, to_lines
from ullage.agents.transcripts import read_document
from ullage.system.transcript_files import read_transcript_file

START = {"type": "session_start", "id": "s", "title": "first words", "sessionTitle": "Casks", "cwd": "/home/dev/shop"}


def said(name: str, role: str, *content: Any, **facts: Any) -> dict[str, Any]:
    message = {"role": role, "content": list(content)} | facts
    return {"type": "message", "id": name, "timestamp": "2026-01-01T00:00:00Z", "message": message}


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def test_the_model_is_the_one_of_the_settings_beside_the_session(tmp_path: Path) -> None:
    folder = tmp_path / ".factory" / "sessions" / "-home-dev-shop"
    folder.mkdir(parents=True)
    (folder / "s.jsonl").write_bytes(to_lines(START, said("m1", "user", text("go"))))
    (folder / "s.settings.json").write_text(json.dumps({"model": "some-model", "tokenUsage": {"inputTokens": 9}}))
    transcript = read_document(read_transcript_file(folder / "s.jsonl"))
    assert (transcript.model, reports_of(transcript)) == ("some-model", [])
