"""Texts that no user has written, as hostile transcripts have them: reading takes a time that grows with the length."""

import json
from collections.abc import Iterator

import pytest

from support.build import user
from support.foreign import reports_of
from support.steps import ends
from ullage.agents.claude_code import WIRING
from ullage.agents.file_reads import file_reads
from ullage.agents.inserted import without_inserted
from ullage.agents.outcomes import judge, said_in_result
from ullage.agents.shell import first_line, touched_files
from ullage.agents.transcripts import read
from ullage.tokens.families import bare_name

pytestmark = pytest.mark.no_cover

# Characters. If the work grew with the square of them, each text would take minutes.
_LENGTH = 1_000_000
_CARRIED = ('<file_content path="a">', '<final_file_content path="a">')
_CALLED = 'Called the Read tool with the following input: {"file_path":"'
_STARTED = "# aider chat started at 2026-09-21 10:00:00\n\n> Aider v0.86.2\n#### hello\n\nHello.\n\n"


def _long(part: str) -> str:
    return part * (_LENGTH // len(part))


def _documents() -> Iterator[tuple[str, str]]:
    """Yields hostile transcripts, each with its path."""
    yield "/p/.aider.chat.history.md", f"{_STARTED}> Tokens: {_long('0')}\n"
    folder = {"role": "user", "parts": [{"text": f"Workspace Directories:**{_long(chr(10))}x"}]}
    yield "/p/session.json", json.dumps({"history": [folder]})
    chosen = f"changed setting `Model Selection` from {_long('a to b')}"
    step = {"step_index": 0, "source": "USER", "type": "USER_INPUT", "status": "DONE", "content": chosen}
    yield "/p/steps.jsonl", json.dumps(step) + "\n"


def _read_all() -> None:
    for part in ("[", "[a", ":free"):
        bare_name(_long(part))
    for part in ("E", ".a", "/a", "a."):
        touched_files(f"touch {_long(part)}")
    first_line(f"# a\n{_long(' ')}x")
    for part in (*_CARRIED, _CALLED):
        assert len([*file_reads([user("u", _long(part))])]) == 0
    for part in ("\n", "Tests: 1"):
        judge(_long(part))
    said_in_result(f"The user doesn't want to proceed with this, the user said: x{_long(' ')}y", failed=True)
    for part in ("The user ", "\nThe user", "feedback", "\nThe user gave feedback:\n<feedback>\n"):
        said_in_result(f"The user rejected {_long(part)}", failed=True)
        said_in_result(_long(part), failed=True)
    for part in (
        "# a:\n",
        "## My request for Codex:",
        "<user_query>",
        "<task>",
        "</task>",
        "<image name=[Image #1]>",
        "<a>",
        "--- Content from referenced files ---\n",
    ):
        without_inserted(_long(part))
        without_inserted(f"# a:\n{_long(part)}")
    WIRING.summary_in(_long("<analysis>"))
    for path, text in _documents():
        read(text.encode(), path)


def test_texts_of_a_million_characters_are_read_in_a_time_that_grows_with_them() -> None:
    assert ends(_read_all)


def test_a_count_that_no_number_can_hold_is_no_count() -> None:
    text = f"{_STARTED}> Tokens: {'9' * 400} sent, 10 received.\n"
    (report,) = reports_of(read(text.encode(), "/p/.aider.chat.history.md"))
    assert (report.usage.prompt, report.usage.output_tokens) == (0, 10)
