"""The real pi with an extension that edits its context: what pi sends then is the context that Ullage reads in its
file."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.agents.launch import need
from support.agents.model_server import ModelServer
from support.agents.runs import ONE_SHOTS
from support.systems import needs_linux
from ullage.agents.transcripts import read_document
from ullage.model.message import Role
from ullage.system.growing_files import read_transcript_file
from ullage.transcript.fold import project

# Leaves the first answer out, and sends another text in place of the second.
_EXTENSION = """
const EDITS = { "This is answer 1.": null, "This is answer 2.": { content: "It is 7431." } };

export default function edit(pi) {
  pi.on("turn_end", ({ entries, message, messageEntryId: targetId }) => {
    const replacement = EDITS[message.content[0].text];
    if (replacement === undefined) return undefined;
    return { entries: [...entries, { type: "context_edit", targetId, replacement }] };
  });
}
"""
pytestmark = [pytest.mark.long, needs_linux]


def _said(message: Any) -> tuple[str, str]:
    content = message["content"]
    return message["role"], content if isinstance(content, str) else content[0]["text"]


async def test_the_context_is_what_pi_sends_after_an_extension_edited_it(tmp_path: Path) -> None:
    (agent,) = (shot for shot in ONE_SHOTS if shot.known.name == "pi")
    need(agent.known)
    extensions = tmp_path / "pi" / "extensions"
    extensions.mkdir(parents=True)
    (extensions / "edit.js").write_text(_EXTENSION)
    async with ModelServer().serving() as model:
        for number, prompt in enumerate(("Which port is it?", "And now?", "And then?")):
            await agent.ask(tmp_path, model.url, prompt, again=number > 0)
        sent = [_said(message) for message in json.loads(model.asked[-1])["messages"]]
    (path,) = (tmp_path / "pi" / "sessions").glob("*/*.jsonl")
    transcript = read_document(read_transcript_file(path))
    assert all(skipped.expected for skipped in transcript.skipped)
    context = [(message.role.value, message.text) for message in project(transcript.events)]
    assert sent[1:] == [
        ("user", "Which port is it?"),
        ("user", "And now?"),
        ("assistant", "It is 7431."),
        ("user", "And then?"),
    ]
    left_out = (Role.USER.value, "[pi left a message out of the context here.]")
    assert [said for said in context[1:-1] if said != left_out] == sent[1:]
    assert context.count(left_out) == 1
