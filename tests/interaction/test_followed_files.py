"""A followed file's session holds what the file holds, whatever happens to either. A large file is read in pieces, and
its newest figures are known at once."""

import asyncio
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.claude_log import ClaudeLog
from support.codex_files import call as codex_call
from support.codex_files import counted, output, said, session
from support.followed_rig import IN_PIECES, DiskThatFillsUp, Rig, talk
from support.log_trees import SESSIONS, make_log, to_bytes
from support.memory_store import MemoryStore
from support.session_log import JsonObject, boundary, call, line, result, say, summary
from support.transcripts import conversation, conversation_files
from support.workspace import build_test_client
from ullage.agents.transcripts import detect_format, read, read_document
from ullage.model.errors import InputError, StoreUnavailable, UnknownFormat, UnreadableTranscript
from ullage.model.events import Event, MessageAppended, Record, UsageReported
from ullage.model.updates import Meta, SessionInfoUpdate, UsageUpdate
from ullage.service import sessions
from ullage.service.conversation.projection import Projection
from ullage.service.conversation.usage import usage_meta
from ullage.service.follow.followed_file import ENDED, FollowedFile
from ullage.service.ports.agent_files import FoundFile
from ullage.service.sessions import import_or_continue
from ullage.system.growing_files import GrowingFiles, read_transcript_file


async def test_a_conversation_appears_with_its_first_message_and_goes_on(tmp_path: Path) -> None:
    rig, lines = Rig(tmp_path), talk("Which port?", "8042.", "And the database?")
    rig.write([])
    assert not (await rig.followed.look()).changed
    assert rig.followed.conversation is None
    rig.write(lines[:1])
    assert (await rig.followed.look()).changed
    assert rig.texts == ["Which port?"]
    rig.add(to_bytes(lines[1:]))
    assert (await rig.followed.look()).changed
    assert rig.texts == ["Which port?", "8042.", "And the database?"]
    assert not (await rig.followed.look()).changed
    info = rig.workspace.ports.store.list()[0]
    assert (info.cwd, info.model, info.title) == ("/home/user/project", "claude-opus-4-5", "Which port?")


async def test_compactions_that_two_processes_read_at_once_are_recorded_once(tmp_path: Path) -> None:
    log, store = ClaudeLog().ask("Which port?").answer(20_000), MemoryStore()
    one, other = Rig(tmp_path, store), Rig(tmp_path, store)
    one.path.write_bytes(log.data)
    await one.followed.read_all()
    await other.followed.read_all()
    for before in (20_000, 5_000):
        one.path.write_bytes(log.compact(before, trigger="manual").data)
        await one.followed.read_all()
    for rig in (one, other, Rig(tmp_path, store)):
        await rig.followed.read_all()
        assert rig.followed.conversation
        assert rig.followed.conversation.transcript.compactions == 2


async def test_what_another_process_has_read_first_is_in_the_figure(tmp_path: Path) -> None:
    log, store = ClaudeLog().ask("Which port?").answer(20_000), MemoryStore()
    one, other = Rig(tmp_path, store), Rig(tmp_path, store)
    one.path.write_bytes(log.data.replace(b'"role": "assistant"', b'"role": "assistant", "stop_reason": "end_turn"'))
    await one.followed.look()
    await other.followed.read_all()
    await one.followed.settle(ENDED)
    assert one.followed.conversation
    assert (one.followed.conversation.used, await one.followed.look_ahead()) == (20_050, None)


async def test_a_compaction_that_another_process_records_meanwhile_is_no_edit_made_elsewhere(tmp_path: Path) -> None:
    lines, store = talk("Which port?", "8042."), MemoryStore()
    one, other = Rig(tmp_path, store), Rig(tmp_path, store)
    one.write(lines)
    await one.followed.read_all()
    await other.followed.read_all()
    one.add(to_bytes([boundary("b", "u1", trigger="manual"), summary("s", "b", "Ports.")]))
    await asyncio.gather(one.followed.read_all(), other.followed.read_all())
    one.add(to_bytes([line("user", "u9", "s", "And now?")]))
    await asyncio.gather(one.followed.read_all(), other.followed.read_all())
    assert one.followed.conversation
    assert one.followed.conversation.transcript.compactions == 1
    assert one.said() == other.said()


def published(rig: Rig) -> list[tuple[str, int]]:
    """Returns the figures that were published so far, each with the session's id."""
    return [
        (one.session_id, one.update.meta.ullage.breakdown.total)
        for one in rig.client.recorder.notifications
        if isinstance(one.update, UsageUpdate | SessionInfoUpdate) and isinstance(one.update.meta, Meta)
    ]


async def test_of_a_past_that_is_read_in_pieces_figures_come_once_and_of_what_is_added_at_once(
    tmp_path: Path,
) -> None:
    rig, lines = Rig(tmp_path, files=IN_PIECES), talk(*(f"Line {number} of the past" for number in range(200)))
    rig.write(lines[:198])
    looks = 0
    while (await rig.followed.look()).more:
        looks += 1
        assert published(rig) == []
    rig.followed.publish()
    assert looks > 3
    assert rig.followed.conversation
    assert published(rig) == [(rig.followed.conversation.id, rig.followed.conversation.used)]
    rig.add(to_bytes(lines[198:199]))
    await rig.followed.look()
    assert len(published(rig)) == 2


async def test_a_past_whose_file_is_gone_before_its_end_is_published_as_far_as_it_was_read(tmp_path: Path) -> None:
    rig = Rig(tmp_path, files=IN_PIECES)
    rig.write(talk(*(f"Line {number} of the past" for number in range(200))))
    assert (await rig.followed.look()).more
    rig.path.unlink()
    assert (await rig.followed.look()).missing
    rig.followed.publish()
    assert len(published(rig)) == 1


async def test_a_title_that_its_agent_changes_is_the_sessions_title(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.write(talk("Which port?"))
    await rig.followed.look()
    rig.add(to_bytes([{"type": "custom-title", "customTitle": "Ports", "sessionId": "s"}]))
    assert (await rig.followed.look()).changed
    assert rig.workspace.ports.store.list()[0].title == "Ports"


@pytest.mark.parametrize("late", ["counting", "appending"])
async def test_two_processes_that_read_the_same_lines_at_once_append_them_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: str
) -> None:
    store, lines = MemoryStore(), talk("One?", "1.", "Two?", "2.")
    rig, other = Rig(tmp_path, store), Rig(tmp_path, store)
    rig.write(lines[:1])
    for each in (rig, other):
        await each.followed.look()
    rig.add(to_bytes(lines[1:]))
    count, append = sessions.counted, store.append

    async def counted(projection: Projection, events: Sequence[Event]) -> list[Event]:
        """Has the other process read the lines while they are counted."""
        monkeypatch.setattr(sessions, "counted", count)
        if late == "counting":
            await other.followed.read_all()
            assert rig.followed.conversation is not None
            rig.followed.conversation.catch_up()
        return await count(projection, events)

    def appended(session_id: str, records: Sequence[Record]) -> None:
        """Has the other process's records be there a moment before."""
        monkeypatch.setattr(store, "append", append)
        append(session_id, records)
        append(session_id, records)

    monkeypatch.setattr(sessions, "counted", counted)
    if late == "appending":
        monkeypatch.setattr(store, "append", appended)
    await rig.followed.read_all()
    await other.followed.read_all()
    assert rig.said() == ["u0", "msg_u1", "u2", "msg_u3"]
    events = [record.event for record in store.read(rig.workspace.ports.store.list()[0].session_id)]
    assert sum(isinstance(event, UsageReported) for event in events) == 2


async def test_a_file_that_was_imported_as_a_whole_is_followed_in_the_same_session(tmp_path: Path) -> None:
    rig, lines = Rig(tmp_path), talk("One?", "1.", "Two?", "2.", "Three?")
    rig.write(lines[:2])
    imported = await import_or_continue(rig.workspace, read_document(read_transcript_file(rig.path)), "")
    for count in (2, 3, 4, 5):
        rig.write(lines[:count])
        await rig.followed.look()
    assert rig.followed.conversation is imported.conversation
    assert rig.said() == ["u0", "msg_u1", "u2", "msg_u3", "u4"]


async def test_a_file_that_was_written_anew_becomes_another_session(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.write(talk("One?", "1."))
    await rig.followed.look()
    first = rig.followed.conversation
    rig.write(talk("Other?", "Yes.", "Sure?"))
    assert (await rig.followed.look()).changed
    assert rig.texts == ["Other?", "Yes.", "Sure?"]
    assert rig.followed.conversation is not first
    assert rig.sessions == 2


async def test_a_shortened_file_leaves_the_session_as_it_was(tmp_path: Path) -> None:
    rig, lines = Rig(tmp_path), talk("One?", "1.", "Two?", "2.", "Three?")
    rig.write(lines[:3])
    await rig.followed.look()
    rig.write(lines[:2])
    assert not (await rig.followed.look()).changed
    assert rig.texts == ["One?", "1.", "Two?"]
    rig.write(lines)
    await rig.followed.look()
    assert rig.said() == ["u0", "msg_u1", "u2", "msg_u3", "u4"]


async def test_a_deleted_file_leaves_its_session(tmp_path: Path) -> None:
    rig, lines = Rig(tmp_path), talk("One?", "1.", "Two?")
    rig.write(lines[:1])
    await rig.followed.look()
    rig.path.unlink()
    assert (await rig.followed.look()).missing
    assert rig.texts == ["One?"]
    rig.write(lines)
    assert (await rig.followed.look()).changed
    assert rig.said() == ["u0", "msg_u1", "u2"]


async def test_a_session_that_was_deleted_here_is_made_again_when_its_file_grows(tmp_path: Path) -> None:
    rig, lines = Rig(tmp_path), talk("One?", "1.", "Two?")
    rig.write(lines[:2])
    await rig.followed.look()
    assert rig.followed.conversation is not None
    rig.workspace.ports.store.delete(rig.followed.conversation.id)
    rig.workspace.drop(rig.followed.conversation.id)
    rig.add(to_bytes(lines[2:]))
    await rig.followed.look()
    assert rig.texts == ["One?", "1.", "Two?"]


async def test_what_could_not_be_stored_is_stored_later(tmp_path: Path) -> None:
    disk = DiskThatFillsUp()
    rig, lines = Rig(tmp_path, disk), talk("One?", "1.", "Two?", "2.", "Three?", "3.", "Four?")
    rig.write(lines[:3])
    await rig.followed.look()
    disk.is_full = True
    rig.add(to_bytes(lines[3:5]))
    with pytest.raises(StoreUnavailable):
        await rig.followed.look()
    disk.is_full = False
    rig.add(to_bytes(lines[5:]))
    await rig.followed.look()
    assert rig.said() == ["u0", "msg_u1", "u2", "msg_u3", "u4", "msg_u5", "u6"]


async def test_a_file_that_begins_with_other_lines_is_followed_from_its_first_message(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.write([{"type": "mode", "mode": "plan", "sessionId": "s"}])
    with pytest.raises(UnknownFormat):
        await rig.followed.look()
    assert not (await rig.followed.look()).changed
    rig.add(to_bytes(talk("One?")))
    assert (await rig.followed.look()).changed
    assert rig.texts == ["One?"]


async def test_an_answer_that_has_ended_is_taken_when_nothing_more_is_written(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.write(talk("One?", "1."))
    await rig.followed.look()
    assert rig.texts == ["One?"]
    assert await rig.followed.settle()
    assert rig.texts == ["One?", "1."]
    assert not await rig.followed.settle()
    rig.add(to_bytes(talk("One?", "1.", "Two?")[2:]))
    await rig.followed.look()
    assert rig.said() == ["u0", "msg_u1", "u2"]


async def test_a_line_that_is_half_written_for_long_is_taken_once_when_it_is_whole(tmp_path: Path) -> None:
    rig, lines = Rig(tmp_path), talk("One?", "1.", "Two?", "2.")
    rig.write(lines[:1])
    await rig.followed.look()
    half = to_bytes(lines[1:2])
    # Cut in the middle of a line, and at its end without the line end.
    for cut in (len(half) // 2, len(half) - 1):
        rig.path.write_bytes(to_bytes(lines[:1]) + half[:cut])
        for _ in range(600):
            await rig.followed.look()
        await rig.followed.settle()
    assert rig.said()[0] == "u0"
    rig.path.write_bytes(to_bytes(lines[:1]) + half)
    rig.add(to_bytes(lines[2:]))
    await rig.followed.look()
    await rig.followed.settle()
    assert rig.said() == ["u0", "msg_u1", "u2", "msg_u3"]
    assert rig.sessions == 1


async def test_a_file_whose_time_goes_back_is_read_on(tmp_path: Path) -> None:
    rig, lines = Rig(tmp_path), talk("One?", "1.", "Two?", "2.", "Three?")
    rig.write(lines[:1])
    await rig.followed.look()
    for count in range(2, 6):
        rig.add(to_bytes(lines[count - 1 : count]))
        yesterday = rig.path.stat().st_mtime_ns - count * 86_400 * 10**9
        os.utime(rig.path, ns=(yesterday, yesterday))
        rig.client.clock.advance(-3_600)
        await rig.followed.look()
    assert rig.said() == ["u0", "msg_u1", "u2", "msg_u3", "u4"]
    assert rig.sessions == 1


async def test_a_rotated_file_is_followed_under_its_name_and_loses_nothing(tmp_path: Path) -> None:
    rig, lines = Rig(tmp_path), talk("One?", "1.", "Two?", "2.", "Three?")
    rig.write(lines[:3])
    await rig.followed.look()
    rig.path.rename(tmp_path / "log.jsonl.1")
    assert (await rig.followed.look()).missing
    rig.write(talk("Other?", "Yes.", "Sure?"))
    await rig.followed.look()
    assert rig.texts == ["Other?", "Yes.", "Sure?"]
    assert rig.sessions == 2
    # The old file grows under its new name.
    old = FollowedFile(rig.workspace, GrowingFiles(), FoundFile(path=tmp_path / "log.jsonl.1"))
    old_path = tmp_path / "log.jsonl.1"
    old_path.write_bytes(old_path.read_bytes() + to_bytes(lines[3:]))
    await old.look()
    assert rig.sessions == 2
    rig.followed = old
    assert rig.said() == ["u0", "msg_u1", "u2", "msg_u3", "u4"]


async def test_following_changes_neither_a_file_nor_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "agent"
    folder.mkdir()
    rig, lines = Rig(folder), talk("One?", "1.", "Two?", "2.", "Three?")
    rig.write(lines[:3])
    kept = rig.path.read_bytes(), rig.path.stat().st_mtime_ns, folder.stat().st_mtime_ns
    # Neither the file nor its folder may be written.
    rig.path.chmod(0o400)
    folder.chmod(0o500)
    try:
        await rig.followed.look()
        await rig.followed.settle()
    finally:
        folder.chmod(0o700)
    assert rig.texts == ["One?", "1.", "Two?"]
    assert (rig.path.read_bytes(), rig.path.stat().st_mtime_ns, folder.stat().st_mtime_ns) == kept


async def test_a_file_of_one_value_on_several_lines_is_read_again_when_it_has_changed(tmp_path: Path) -> None:
    rig, said = Rig(tmp_path), [{"role": "user", "content": "One?"}]
    for text in ("1.", "2."):
        said.append({"role": "assistant", "content": text})
        # Without a line end after it, as JavaScript's `JSON.stringify` leaves it.
        rig.path.write_text(json.dumps(said, indent=2))
        assert await rig.read()
    assert rig.texts == ["One?", "1.", "2."]
    assert rig.sessions == 1


async def test_a_long_result_of_a_tool_warns_before_the_call_that_it_is_for(tmp_path: Path) -> None:
    # This version compacts at 167,000 tokens.
    rig, common = Rig(tmp_path), {"version": "2.1.197", "model": "claude-opus-4-6"}
    usage = {"input_tokens": 138_000, "output_tokens": 100}
    asking: JsonObject = {"id": "a1", "stop_reason": "tool_use", "usage": usage}
    rig.write([line("user", "u1", None, "Why?"), line("assistant", "a1", "u1", [call("t1")], **asking, **common)])
    await rig.read()
    await rig.followed.settle()
    assert rig.followed.conversation is not None
    before = usage_meta(rig.followed.conversation)
    assert (before.source, before.level, before.calls_left) == ("reported", "normal", None)
    rig.add(to_bytes([line("user", "u2", "a1", [result("t1", "cask " * 30_000)])]))
    await rig.read()
    after = usage_meta(rig.followed.conversation)
    assert (after.source, after.level, after.compact_at) == ("stale", "critical", 167_000)


# Half of the file's conversation may be in the store already, and every shape of a file must come out as when it is
# imported at once.
@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize("path", conversation_files(), ids=lambda path: path.name)
async def test_a_recorded_conversation_that_grows_is_what_it_is_as_a_whole(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    rig = Rig(tmp_path)
    rig.path = tmp_path / path.name
    rig.followed = FollowedFile(rig.workspace, GrowingFiles(), FoundFile(path=rig.path))
    for share in range(1, 8):
        rig.path.write_bytes(data[: len(data) * share // 7])
        try:
            await rig.followed.look()
        except InputError:
            # The beginning of a JSON file isn't JSON.
            rig.followed = FollowedFile(rig.workspace, GrowingFiles(), FoundFile(path=rig.path))
    document = read_transcript_file(rig.path)
    known = detect_format(document)
    if known.name == "codex-log":
        pytest.skip("a terminal log holds many conversations, of which the longest is read")
    try:
        transcript = known.read(document)
    except UnreadableTranscript:
        pytest.skip("the file holds no message without the other files of its folder")
    whole = (await import_or_continue(build_test_client().workspace, transcript, "")).conversation
    grown = (await import_or_continue(rig.workspace, transcript, "")).conversation
    assert grown.transcript.view == whole.transcript.view
    assert grown.used == whole.used
    assert rig.sessions == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    files=st.sampled_from([GrowingFiles(), GrowingFiles(300), IN_PIECES]),
    session=SESSIONS,
    cuts=st.lists(st.integers(0, 20_000), max_size=6),
    waits=st.lists(st.sampled_from(["", "look", "settle", "restart"]), min_size=7),
)
async def test_however_a_file_grows_its_session_has_everything_once(
    tmp_path_factory: pytest.TempPathFactory,
    files: GrowingFiles,
    session: list[tuple[str, int, int]],
    cuts: list[int],
    waits: list[str],
) -> None:
    log = make_log([("prompt", 0, 0), *session, ("prompt", 0, 0), *[("aside", 0, 0)] * 51])
    rig, whole, at = Rig(tmp_path_factory.mktemp("followed"), files=files), to_bytes(log.lines), 0
    rig.path.touch()
    for number, cut in enumerate([*sorted(cuts), len(whole)]):
        rig.add(whole[at : max(at, cut)])
        at = max(at, min(cut, len(whole)))
        if waits[number] == "restart":
            rig.restart()
        with suppress(UnknownFormat):
            # The file may grow, or its follower may end, before it has been read to its end.
            await (rig.followed.look() if waits[number] == "look" else rig.read())
        if waits[number] == "settle" and whole[:at].endswith(b"\n") and rig.followed.conversation:
            await rig.followed.settle()
    await rig.read()
    transcript = read_document(read_transcript_file(rig.path))
    wanted = [event.message.id for event in transcript.events if isinstance(event, MessageAppended)]
    assert rig.said() == wanted
    assert rig.followed.conversation is not None
    other = await import_or_continue(build_test_client().workspace, transcript, "")
    assert rig.followed.conversation.transcript.view == other.conversation.transcript.view
    assert rig.followed.conversation.used == other.conversation.used
    assert rig.sessions == 1


async def test_a_recorded_compaction_of_gemini_cli_is_one_while_the_file_is_followed(tmp_path: Path) -> None:
    data = conversation("live/gemini-cli/session-2026-11-22T01-30-11111111.jsonl").read_bytes()
    rig = Rig(tmp_path)
    head, *rest = data.splitlines(keepends=True)
    rig.add(head + rest.pop(0))
    for record in rest:
        rig.add(record)
        await rig.read()
        await rig.followed.settle()
    assert rig.followed.conversation is not None
    followed = rig.followed.conversation.transcript
    whole = (await import_or_continue(build_test_client().workspace, read(data), "")).conversation
    assert (followed.compactions, rig.sessions) == (1, 1)
    assert [message.text for message in followed.view] == [message.text for message in whole.transcript.view]
    assert rig.followed.conversation.used == whole.used


async def test_a_large_file_is_read_in_pieces_and_its_session_has_everything_once(tmp_path: Path) -> None:
    rig, lines = Rig(tmp_path, files=IN_PIECES), talk(*(f"Number {number}" for number in range(41)))
    rig.write(lines)
    assert (await rig.followed.look()).more
    assert 0 < len(rig.said()) < 41
    await rig.read()
    assert rig.said() == [one["message"].get("id", one["uuid"]) for one in lines]
    # Another follower continues, whether or not the first one came to the end.
    rig.add(to_bytes(talk(*["Once more."] * 43)[41:]))
    for _ in range(2):
        rig.restart()
        await rig.read()
        assert len(rig.said()) == 43
    assert rig.sessions == 1


async def test_a_large_file_with_other_messages_at_its_end_becomes_another_session(tmp_path: Path) -> None:
    rig, lines = Rig(tmp_path, files=IN_PIECES), talk(*(f"Number {number}" for number in range(41)))
    rig.write(lines)
    await rig.read()
    rig.write(lines[:37] + talk(*["Other."] * 41)[37:])
    await rig.read()
    assert rig.texts[35:] == ["Number 35", "Number 36", "Other.", "Other."]
    assert rig.sessions == 2


async def test_a_large_file_of_another_shape_is_read_as_a_whole(tmp_path: Path) -> None:
    rig = Rig(tmp_path, files=IN_PIECES)
    rig.path.write_text(json.dumps([{"role": "user", "content": f"Number {number}"} for number in range(99)], indent=1))
    assert not (await rig.followed.look()).more
    assert len(rig.said()) == 99


async def test_the_figures_at_the_end_of_a_large_file_are_known_before_it_is_read(tmp_path: Path) -> None:
    rig = Rig(tmp_path, files=GrowingFiles(20_000))
    lines = talk(*(f"word {number} " * 200 for number in range(201)))
    lines[199]["message"]["usage"] = {"input_tokens": 140_000, "output_tokens": 11}
    rig.write(lines)
    await rig.followed.look()
    ahead = await rig.followed.look_ahead()
    assert ahead is not None
    # The answer's usage, and a local count of the prompt after it.
    assert ahead.used > 140_011
    await rig.read()
    assert rig.followed.conversation is not None
    # The count is calibrated by as many reports as were read.
    assert rig.followed.conversation.used == pytest.approx(ahead.used, rel=0.1)


async def test_a_figure_is_not_taken_for_the_newest_where_the_order_of_lines_is_not_known(tmp_path: Path) -> None:
    rig = Rig(tmp_path, files=GrowingFiles(20_000))
    lines = talk(*(f"word {number} " * 200 for number in range(202)))
    for number, one in enumerate(lines):
        one["timestamp"] = f"2026-01-02T03:{number // 60:02}:{number % 60:02}.000Z"
    # An answer of a branch that the user left: its parent is in the unread part, as is that of the lines before it.
    usage = {"input_tokens": 190_000, "output_tokens": 1}
    left = line("assistant", "left", "u3", [say("Left.")], usage=usage, timestamp=lines[198]["timestamp"])
    rig.write([*lines[:199], left, *lines[199:]])
    await rig.followed.look()
    assert await rig.followed.look_ahead() is None
    await rig.read()
    assert rig.followed.conversation is not None
    assert rig.followed.conversation.used < 190_000


async def test_a_file_that_does_not_say_its_figures_at_its_end_has_none_ahead(tmp_path: Path) -> None:
    rig = Rig(tmp_path, files=GrowingFiles(20_000))
    rig.write(talk(*["word " * 200] * 3))
    prompts = [line("user", f"u{number}", f"u{number - 1}", "word " * 200) for number in range(1, 300)]
    rig.add(to_bytes(prompts))
    assert await rig.followed.look_ahead() is None


async def test_the_figure_ahead_of_codexs_end_is_read_from_the_beginning_of_a_turn_on(tmp_path: Path) -> None:
    rig = Rig(tmp_path, files=GrowingFiles(2_000))
    # The usage is before its answer, which shows at the beginning of the turn alone.
    rig.write([
        session(id="0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9", cwd="/home/ada"),
        said("user", "Here is all of it. " * 10_000),
        counted(58_000),
        said("assistant", "Thanks."),
        said("user", "Look."),
        counted(59_000),
        said("assistant", "I look at it. " * 4_000),
        codex_call("c1"),
        output("c1"),
        counted(81_000),
        said("assistant", "All of it is fine. " * 400),
    ])  # fmt: skip
    assert (await rig.followed.look()).more
    ahead = await rig.followed.look_ahead()
    assert ahead is not None
    assert ahead.used == 81_007
