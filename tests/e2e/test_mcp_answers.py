"""A scripted agent answers 30 questions about recorded conversations by `ullage mcp`, each with at most two calls.

The agent searches with the question's own words. If no passage has the answer, it opens the first reference. The
questions and answers are our own words; the conversations are outside the repository.
"""

import re
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pytest

from support.command_line import ullage
from support.corpus import cases
from support.mcp_client import MOST_RESULT, McpClient, mcp_client, shown
from support.transcripts import conversation

QUESTIONS = cases("questions_about_sessions.json")
# Words with which questions are asked, and which say nothing of what is looked for.
_ASKING = re.compile(
    r"a|all|an|and|are|at|be|by|can|code|did|does|for|from|had|has|have|he|her|him|himself|his|how|i|in|instead|into|is|"
    r"it|its|kind|many|must|not|of|on|once|one|or|should|some|that|the|their|them|then|to|try|use|user|uses|was|we|"
    r"were|what|when|where|which|while|who|whom|why|with|without|worked|you|your",
    re.IGNORECASE,
)
_WORD = re.compile(r"[\w./#\\-]*\w|\S+\(\)")
_REFERENCE = re.compile(r"^(\S*#\d+) ", re.MULTILINE)


async def calls_for(client: McpClient, question: str, answers: Sequence[str]) -> int | None:
    """Returns how many calls the agent needs, None if it has no answer after two."""
    words = [word for word in _WORD.findall(question) if not _ASKING.fullmatch(word)]
    found, failed = await client.call("search", query=" ".join(words))
    assert not failed
    assert len(found.encode()) <= MOST_RESULT
    if is_quoted(answers, found):
        return 1
    references = _REFERENCE.findall(found)
    if not references:
        return None
    opened, failed = await client.call("open", ref=references[0])
    assert not failed
    assert len(opened.encode()) <= MOST_RESULT
    return 2 if is_quoted(answers, opened) else None


def is_quoted(answers: Sequence[str], text: str) -> bool:
    history = "\n".join(shown(text))
    return any(answer in history for answer in answers)


@pytest.mark.slow
async def test_each_question_is_answered_with_two_calls_at_most(tmp_path: Path) -> None:
    needed: dict[str, int | None] = {}
    for name, asked in groupby(QUESTIONS, key=lambda case: case["transcript"]):
        store = tmp_path / "sessions.db"
        ran = ullage("import", conversation(name), "--json", "--store", store)
        assert ran.status == 0, ran.err
        async with mcp_client(tmp_path, tmp_path, "--session", ran.json["session_id"]) as client:
            for case in asked:
                needed[case["question"]] = await calls_for(client, case["question"], case["answers"])
    assert len(needed) == len(QUESTIONS) == 30
    # One of them has words that many messages have, and the answer has others.
    assert len([question for question, calls in needed.items() if calls is None]) <= 1, needed
    assert list(needed.values()).count(1) >= 27, needed
