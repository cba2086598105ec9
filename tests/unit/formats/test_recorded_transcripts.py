"""Every recorded conversation can be read, and nothing in it goes missing unexplained."""

from collections import Counter
from pathlib import Path

import pytest

from support.provider_rules import anthropic_violations, openai_violations
from support.transcripts import ROOT, conversation_files
from ullage.formats import read
from ullage.formats.anthropic_request import write_anthropic
from ullage.formats.openai_request import write_openai
from ullage.model.blocks import ToolResultBlock, ToolUseBlock
from ullage.model.events import MessageAppended
from ullage.model.message import Message

FILES = conversation_files()
pytestmark = pytest.mark.skipif(not FILES, reason="no recorded transcripts on this machine (set ULLAGE_TRANSCRIPTS)")
every_file = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))


def messages_of(path: Path) -> list[Message]:
    transcript = read(path.read_bytes(), path.name)
    return [event.message for event in transcript.events if isinstance(event, MessageAppended)]


@every_file
def test_no_part_is_skipped_unexplained(path: Path) -> None:
    transcript = read(path.read_bytes(), path.name)
    assert [skipped for skipped in transcript.skipped if not skipped.expected] == []


@every_file
def test_message_ids_are_unique(path: Path) -> None:
    ids = [message.id for message in messages_of(path)]
    assert ids
    assert len(set(ids)) == len(ids)


@every_file
def test_every_tool_result_follows_its_call(path: Path) -> None:
    called: Counter[str] = Counter()
    for message in messages_of(path):
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                called[block.id] += 1
            elif isinstance(block, ToolResultBlock):
                called[block.tool_use_id] -= 1
                assert called[block.tool_use_id] >= 0


@every_file
def test_the_conversation_becomes_a_request_both_providers_accept(path: Path) -> None:
    messages = messages_of(path)
    assert anthropic_violations(write_anthropic(messages).messages) == []
    assert openai_violations(write_openai(messages).messages) == []
