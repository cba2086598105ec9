"""Logs that hold several conversations, one after the other or mixed: each is a session of its own, also while the log
grows."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from support.codex_files import logged
from support.followed_rig import IN_PIECES, Rig
from support.log_trees import to_bytes
from support.session_log import JsonObject, line, say
from support.workspace import build_test_client
from ullage.agents.transcripts import read_document
from ullage.model.errors import UnknownFormat
from ullage.model.message import TextBlock
from ullage.service.ports.agent_files import Growth, Mark, Pieces, Replaced
from ullage.service.sessions import import_or_continue
from ullage.system.growing_files import GrowingFiles, read_transcript_file


def codex_talk(name: str, turns: int) -> list[dict[str, Any]]:
    """Returns the lines of a conversation in Codex's terminal log, whose last prompt had 100 tokens per turn."""
    lines = [logged("session_configured", model="gpt-5-codex", session_id=name)]
    for turn in range(1, turns + 1):
        lines += [
            logged("user_message", message=f"{name} {turn}?"),
            logged("task_started", model_context_window=100_000),
            logged("agent_message", message=f"{name} {turn}."),
            logged("token_count", input_tokens=100 * turn, output_tokens=1),
        ]
    return lines


async def test_a_new_conversation_in_a_terminal_log_is_not_added_to_the_one_before(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.write(codex_talk("one", 2))
    await rig.read()
    one = rig.followed.conversation
    for turn in range(1, 4):
        rig.write(codex_talk("one", 2) + codex_talk("two", turn))
        await rig.read()
    # The longest is followed: at last, the second.
    assert rig.texts == ["two 1?", "two 1.", "two 2?", "two 2.", "two 3?", "two 3."]
    assert rig.followed.conversation is not None and one is not None
    assert rig.followed.conversation.used == 301
    assert [message.text for message in one.transcript.view] == ["one 1?", "one 1.", "one 2?", "one 2."]
    assert one.used == 201
    assert rig.sessions == 2


async def test_a_large_terminal_log_of_several_conversations_has_one_session_of_the_longest(tmp_path: Path) -> None:
    rig = Rig(tmp_path, files=IN_PIECES)
    rig.write(codex_talk("one", 9) + codex_talk("two", 20) + codex_talk("three", 3))
    assert not (await rig.followed.look()).more
    assert rig.texts[0] == "two 1?"
    assert len(rig.texts) == 40
    assert rig.followed.conversation is not None
    assert rig.followed.conversation.used == 2_001
    assert rig.sessions == 1


async def test_the_end_of_a_log_of_several_conversations_says_no_figures_ahead(tmp_path: Path) -> None:
    rig = Rig(tmp_path, files=GrowingFiles(2_000))
    rig.write(codex_talk("one", 40) + codex_talk("two", 10))
    assert rig.files.read_ends(rig.path, 2_000) is not None
    assert await rig.followed.look_ahead() is None


async def test_a_restart_of_aider_begins_a_session_of_its_own(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.path = rig.path.with_name(".aider.chat.history.md")
    rig.restart()
    rig.add(b"\n# aider chat started at 2026-09-21 10:00:00\n\n#### one?  \n\nOne.\n\n> Tokens: 9 sent, 1 received.\n")
    await rig.followed.read_all()
    one = rig.followed.conversation
    rig.add(b"\n# aider chat started at 2026-09-22 11:00:00\n\n#### two?  \n\nTwo.\n\n> Tokens: 9 sent, 1 received.\n")
    await rig.followed.read_all()
    assert rig.texts == ["two?", "Two."]
    assert one is not None
    assert [message.text for message in one.transcript.view] == ["one?", "One."]
    assert rig.sessions == 2


async def test_a_conversation_alone_in_a_terminal_log_is_read_line_by_line(tmp_path: Path) -> None:
    rig, lines = Rig(tmp_path), codex_talk("one", 3)
    rig.write(lines[:5])
    await rig.read()
    one = rig.followed.conversation
    rig.add(to_bytes(lines[5:]))
    await rig.read()
    assert rig.texts == ["one 1?", "one 1.", "one 2?", "one 2.", "one 3?", "one 3."]
    assert rig.followed.conversation is one


# The main conversation, one of a sub-agent that is not named, and two of sub-agents that are.
MAIN, UNNAMED, FIRST, SECOND = "main", "unnamed", "a1", "a2"


def mixed(order: list[str]) -> list[JsonObject]:
    """Returns lines of these conversations in this order: in each one, prompts and answers in turn."""
    counts, lines = dict.fromkeys(order, 0), list[JsonObject]()
    for who in order:
        number = counts[who]
        counts[who] += 1
        uuid, parent = f"{who}-{number}", f"{who}-{number - 1}" if number else None
        more: JsonObject = {"isSidechain": who != MAIN}
        if who in (FIRST, SECOND):
            more["agentId"] = who
        if number % 2:
            usage = {"input_tokens": 100 * number, "output_tokens": 7}
            lines.append(
                line("assistant", uuid, parent, [say(f"So {uuid}.")], id=uuid, stop_reason="end_turn", usage=usage)
                | more
            )
        else:
            lines.append(line("user", uuid, parent, f"Why {uuid}?") | more)
    return lines


async def follow(rig: Rig, data: bytes, cuts: list[int], waits: list[str]) -> None:
    """Follows a file that grows up to each of the places `cuts`, in percent, and does one of `waits` after each."""
    rig.path.touch()
    at = 0
    for percent, wait in zip([*sorted(cuts), 100], waits, strict=False):
        cut = len(data) * percent // 100
        rig.add(data[at:cut])
        at = cut
        if wait == "restart":
            rig.restart()
        with suppress(UnknownFormat):
            await (rig.followed.look() if wait == "look" else rig.read())
        if wait == "settle" and data[:at].endswith(b"\n") and rig.followed.conversation:
            await rig.followed.settle()
    await rig.read()
    await rig.followed.settle()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    files=st.sampled_from([GrowingFiles(), GrowingFiles(300), IN_PIECES]),
    order=st.lists(st.sampled_from([MAIN, UNNAMED, FIRST, SECOND]), min_size=1, max_size=24),
    cuts=st.lists(st.integers(0, 99), min_size=2, max_size=8),
    waits=st.lists(st.sampled_from(["", "look", "settle", "restart"]), min_size=9, max_size=9),
)
async def test_however_conversations_are_mixed_the_followed_one_is_that_of_the_whole_file(
    tmp_path_factory: pytest.TempPathFactory,
    files: GrowingFiles,
    order: list[str],
    cuts: list[int],
    waits: list[str],
) -> None:
    # A sub-agent without a name is only in files that have the main conversation, too.
    order = [*order, MAIN] if UNNAMED in order else order
    rig = Rig(tmp_path_factory.mktemp("mixed"), files=files)
    await follow(rig, to_bytes(mixed(order)), cuts, waits)
    transcript = read_document(read_transcript_file(rig.path))
    whole = (await import_or_continue(build_test_client().workspace, transcript, "")).conversation
    assert rig.followed.conversation is not None
    grown = rig.followed.conversation
    assert grown.transcript.view == whole.transcript.view
    assert grown.used == whole.used
    assert whole.transcript.origin is not None
    assert grown.transcript.origin == replace(whole.transcript.origin, path=str(rig.path))


@pytest.mark.parametrize("named", [FIRST, UNNAMED])
async def test_a_sub_agents_lines_before_the_users_first_prompt_are_another_conversation(
    tmp_path: Path, named: str
) -> None:
    rig = Rig(tmp_path)
    for number, one in enumerate(lines := mixed([named, named, MAIN, named, MAIN])):
        rig.write(lines[: number + 1])
        await rig.read()
        assert one["isSidechain"] or rig.followed.conversation is not None
    await rig.followed.settle()
    assert rig.texts == ["Why main-0?", "So main-1."]


async def test_a_file_that_ends_with_a_sub_agents_lines_is_read_on_from_where_it_was_read(tmp_path: Path) -> None:
    reads = list[int]()

    class Counting(GrowingFiles):
        def read_on(
            self, path: Path, mark: Mark | None, origin_id: str = "", *, pieces: Pieces = Pieces.LARGE
        ) -> Growth:
            reads.append(mark.offset if mark else 0)
            return super().read_on(path, mark, origin_id, pieces=pieces)

    rig = Rig(tmp_path, files=Counting())
    lines = mixed([MAIN, MAIN, *[UNNAMED] * 20, MAIN])
    for number in range(6, len(lines) + 1):
        rig.write(lines[:number])
        await rig.read()
    assert rig.texts == ["Why main-0?", "So main-1.", "Why main-2?"]
    assert reads.count(0) == 1


class CountedFiles(GrowingFiles):
    """The files of this machine, with the number of times that a file was read from its beginning."""

    whole = 0

    def read_on(self, path: Path, mark: Mark | None, origin_id: str = "", *, pieces: Pieces = Pieces.LARGE) -> Growth:
        growth = super().read_on(path, mark, origin_id, pieces=pieces)
        self.whole += isinstance(growth, Replaced)
        return growth


def event(kind: str, **fields: str) -> JsonObject:
    payload = {"id": "1", "msg": {"type": kind, **fields}}
    return {"ts": "2025-08-09T15:51:04.000Z", "dir": "to_tui", "kind": "codex_event", "payload": payload}


def conversation(name: str, answers: int) -> list[JsonObject]:
    said = [event("agent_message", message=f"{name} {number}") for number in range(answers)]
    return [event("session_configured", session_id=name, model="gpt-5-codex"), *said, event("task_complete")]


async def test_a_log_is_not_read_again_for_each_line_of_a_later_conversation(tmp_path: Path) -> None:
    files = CountedFiles()
    rig = Rig(tmp_path, files=files)
    for record in [*conversation("first", 30), *conversation("second", 20), *conversation("third", 31)]:
        rig.add(to_bytes([record]))
        await rig.read()
    # At the first line, at the beginning of the second and the third, and when the third is the longest.
    assert files.whole <= 5
    assert rig.followed.conversation
    said = [
        block.text
        for message in rig.followed.conversation.transcript.view
        for block in message.content
        if isinstance(block, TextBlock)
    ]
    assert said == [f"third {number}" for number in range(31)]
