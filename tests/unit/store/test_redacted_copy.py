"""What leaves the machine for a team's archive."""

import pytest

from support.logs import records
from ullage.model.events import Event, MessageAppended, MessagePinned, SessionCreated
from ullage.model.message import (
    Block,
    ImageBlock,
    Message,
    ResourceBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ullage.service.ports.store import SessionInfo
from ullage.store.team.team_archive import copy_id, redacted_copy

INFO = SessionInfo(
    session_id="s_1", title="Quince", cwd="/orchard", model="m", created_at=5, updated_at=9, messages=3, parent_id=None
)
PASSWORD = "correct-horse-9Zq"


def copied(*events: Event, patterns: tuple[str, ...] = ()) -> list[Event]:
    log = records(SessionCreated(cwd="/orchard", title="Quince"), *events)
    return [record.event for record in redacted_copy(INFO, log, patterns)]


def texts(*events: Event, patterns: tuple[str, ...] = ()) -> list[str]:
    return [one.message.text for one in copied(*events, patterns=patterns) if isinstance(one, MessageAppended)]


def said(*content: Block, role: Role = Role.USER) -> MessageAppended:
    return MessageAppended(message=Message(id="own-id", role=role, content=content))


def test_only_what_was_said_is_copied_as_text_and_under_other_ids() -> None:
    events = copied(
        said(TextBlock(text="be kind"), role=Role.SYSTEM),
        said(TextBlock(text="one"), ImageBlock(data="aGVsbG8=")),
        said(ThinkingBlock(thinking="hm", signature="sig"), TextBlock(text="two"), role=Role.ASSISTANT),
        said(ThinkingBlock(thinking="alone"), role=Role.ASSISTANT),
        MessagePinned(message_id="own-id"),
    )
    created, *messages = events
    assert created == SessionCreated(cwd="/orchard", title="Quince", model="m")
    found = [one.message for one in messages if isinstance(one, MessageAppended)]
    assert [(one.id, one.role, one.content) for one in found] == [
        ("m1", Role.USER, (TextBlock(text="one"),)),
        ("m2", Role.ASSISTANT, (TextBlock(text="two"),)),
    ]
    assert copy_id("s_1") not in ("s_1", copy_id("s_2"))


@pytest.mark.parametrize(
    "block",
    [
        TextBlock(text=f"DB_PASSWORD={PASSWORD}"),
        ToolUseBlock(id="u", name="Bash", input={"password": PASSWORD}),
        ToolUseBlock(id="u", name="Bash", input={"data": [{"text": f"export DB_PASSWORD={PASSWORD}\nls"}]}),
        ToolResultBlock(tool_use_id="u", content=(TextBlock(text=f"DB_PASSWORD={PASSWORD}"),)),
        ToolResultBlock(tool_use_id="u", content=(ResourceBlock(uri="file:///x", text=f"DB_PASSWORD={PASSWORD}"),)),
        ResourceBlock(uri=f"https://ada:{PASSWORD}@host/", text=""),
    ],
)
def test_a_secret_stays_here_wherever_it_is(block: Block) -> None:
    (text,) = texts(said(block))
    assert PASSWORD not in text
    assert "[redacted]" in text


def test_private_text_stays_here_in_titles_and_tools_too() -> None:
    events = copied(
        said(TextBlock(text="the quince tree")),
        said(ToolUseBlock(id="u", name="Bash", input={"id": "quince"})),
        patterns=("(?i)quince",),
    )
    assert "uince" not in repr(events)
    assert "the [redacted] tree" in repr(events)


def test_the_same_log_gives_the_same_copy_and_a_longer_one_begins_with_it() -> None:
    one, two = said(TextBlock(text="one")), said(TextBlock(text="two"))
    assert copied(one) == copied(one)
    assert copied(one, two)[:2] == copied(one)
