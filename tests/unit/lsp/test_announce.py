"""The notifications that each kind of client gets about its sessions."""

from typing import Any

import pytest
from msgspec.structs import replace

from support.lsp_rig import Rig
from ullage.model.updates import (
    CompactionMeta,
    CompactionStatus,
    CompactionSummaryChunk,
    CompactionUpdate,
    Meta,
    Notice,
    SessionInfoUpdate,
    Severity,
    TextContent,
    Update,
)
from ullage.model.usage import FollowedRow, Nearness
from ullage.service.ports.models import Indexing

CREATES_TOKENS = {"window": {"workDoneProgress": True}}
DONE = "Compacted 45 messages: 164K → 31K. Everything is kept; undo any time."


def compaction(status: CompactionStatus, trigger: str = "automatic") -> CompactionUpdate:
    meta = CompactionMeta(
        trigger=trigger,
        compaction_number=1,
        messages_archived=45,
        context_size_before=164_000,
        context_size_after=31_000,
    )
    return CompactionUpdate(compaction_id="c1", status=status, meta=Meta(ullage=meta))


def chunk(text: str) -> CompactionSummaryChunk:
    return CompactionSummaryChunk(compaction_id="c1", content=TextContent(text=text))


async def start(capabilities: dict[str, Any] | None = None, options: Any = None) -> Rig:
    rig = Rig()
    rig.answers["window/workDoneProgress/create"] = lambda _: None
    await rig.initialize(capabilities, options)
    await rig.ask("ullage/ping", {})
    rig.sent.clear()
    return rig


async def tell(rig: Rig, *updates: Update) -> None:
    for update in updates:
        rig.toy.listeners[0].session_updated("s1", update)
        await rig.settle()


def progress(rig: Rig) -> list[tuple[str, str | None]]:
    return [
        (params["value"]["kind"], params["value"].get("title") or params["value"].get("message"))
        for params in rig.notified("$/progress")
    ]


@pytest.mark.parametrize(
    ("capabilities", "options"),
    [
        ({"experimental": {"ullage": True}}, None),
        ({"experimental": {"ullage": {}}}, None),
        ({}, {"client": "nvim"}),
        ({}, {"client": {}}),
        ({"experimental": {"ullage": None}}, {"client": {}}),
    ],
)
async def test_a_client_that_knows_us_gets_each_update_in_the_shape_of_acp(
    capabilities: dict[str, Any], options: Any
) -> None:
    rig = await start(capabilities, options)
    await tell(rig, chunk("The "), SessionInfoUpdate(title="fix login"))
    assert rig.sent == [
        {"jsonrpc": "2.0", "method": "ullage/session/update", "params": {"sessionId": "s1", "update": update}}
        for update in (
            {
                "sessionUpdate": "compaction_summary_chunk",
                "compactionId": "c1",
                "content": {"type": "text", "text": "The "},
            },
            {"sessionUpdate": "session_info_update", "title": "fix login"},
        )
    ]


@pytest.mark.parametrize(("severity", "kind"), [(Severity.INFO, 3), (Severity.WARNING, 2), (Severity.ERROR, 1)])
async def test_a_plain_client_is_shown_notices(severity: Severity, kind: int) -> None:
    rig = await start()
    await tell(rig, Notice(severity=severity, title="Context 82% full.", description="Compacts at 144K."))
    assert rig.notified("window/showMessage") == [
        {"type": kind, "message": "Context 82% full. Compacts at 144K."},
    ]


async def test_a_plain_client_is_shown_nothing_for_figures() -> None:
    rig = await start()
    await tell(rig, SessionInfoUpdate(title="x"))
    assert rig.sent == []


async def test_a_plain_client_is_told_once_that_an_agent_compacts_soon_also_if_a_compaction_fails() -> None:
    rig = await start()
    for nearness in (Nearness.FAR, Nearness.IMMINENT, Nearness.COMPACTING, Nearness.IMMINENT):
        row = FollowedRow(
            session_id="s1",
            agent="Claude Code",
            title="Ports",
            used=160_000,
            window=200_000,
            compacts_at=167_000,
            nearness=nearness,
        )
        rig.toy.listeners[0].following_changed([row], [])
        await rig.settle()
    told = "“Ports”: Context 80% full (160K of 200K). Claude Code compacts it at 84% (167K)."
    assert [shown["message"] for shown in rig.notified("window/showMessage")] == [told]


async def test_an_automatic_compaction_is_a_progress_bar_that_ends_with_what_it_did() -> None:
    rig = await start(CREATES_TOKENS)
    await tell(
        rig,
        compaction(CompactionStatus.IN_PROGRESS),
        chunk("a" * 1200),
        chunk("b"),
        compaction(CompactionStatus.COMPLETED),
    )
    assert progress(rig) == [
        ("begin", "Compacting"),
        ("report", "Writing the summary: 1,200 characters"),
        ("report", "Writing the summary: 1,201 characters"),
        ("report", DONE),
        ("end", None),
    ]
    assert rig.connection.unfinished() == 0


@pytest.mark.parametrize("status", [CompactionStatus.FAILED, CompactionStatus.CANCELLED])
async def test_the_bar_ends_however_the_compaction_ends(status: CompactionStatus) -> None:
    rig = await start(CREATES_TOKENS)
    await tell(rig, compaction(CompactionStatus.IN_PROGRESS), compaction(status))
    assert [kind for kind, _ in progress(rig)] == ["begin", "end"]


async def test_a_compaction_over_before_the_bar_is_drawn_still_ends_it() -> None:
    rig = await start(CREATES_TOKENS)
    listener = rig.toy.listeners[0]
    for status in (CompactionStatus.IN_PROGRESS, CompactionStatus.COMPLETED):
        listener.session_updated("s1", compaction(status))
    await rig.settle()
    assert progress(rig) == [("begin", "Compacting"), ("report", DONE), ("end", None)]


async def test_cancelling_the_bar_cancels_the_session_s_compaction() -> None:
    rig = await start(CREATES_TOKENS)
    await tell(rig, compaction(CompactionStatus.IN_PROGRESS))
    (token,) = [params["token"] for params in rig.notified("$/progress")]
    rig.notify("window/workDoneProgress/cancel", {"token": token})
    await rig.settle()
    assert rig.toy.cancelled_compactions == ["s1"]


async def test_a_compaction_that_was_asked_for_has_its_command_s_bar_alone() -> None:
    rig = await start(CREATES_TOKENS)
    await tell(rig, compaction(CompactionStatus.IN_PROGRESS, "manual"), chunk("a"))
    await tell(rig, compaction(CompactionStatus.COMPLETED, "manual"))
    assert rig.sent == []


async def test_a_search_that_has_to_index_gets_a_progress_bar() -> None:
    rig = await start(CREATES_TOKENS)
    first = Indexing(id="i1", left=900, total=1_000, cancel=list)
    for left in (900, 400, 0):
        rig.toy.listeners[0].indexing(replace(first, left=left))
        await rig.settle()
    assert progress(rig) == [
        ("begin", "Indexing the archive"),
        ("report", "900 of 1,000 records left"),
        ("report", "400 of 1,000 records left"),
        ("end", None),
    ]


async def test_cancelling_that_bar_gives_the_search_up() -> None:
    rig = await start(CREATES_TOKENS)
    cancelled: list[str] = []
    rig.toy.listeners[0].indexing(Indexing(id="i1", left=9, total=9, cancel=lambda: cancelled.append("search")))
    await rig.settle()
    token = rig.notified("$/progress")[0]["token"]
    rig.notify("window/workDoneProgress/cancel", {"token": token})
    await rig.settle()
    assert cancelled == ["search"]
