"""Every agent's conversation on the machine is known with its figure, which is that of the whole file, from the end of
it."""

import asyncio
import json
import os
import sqlite3
from base64 import b64encode
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from support.agent_databases import DONE, GROWING, USER, Put, T, opencode, opencode_session, put, usage
from support.agent_databases import said as said_in_database
from support.claude_log import VERSION, ClaudeLog
from support.codex_files import call, counted, event, said, session
from support.codex_files import line as codex_line
from support.codex_files import usage as codex_usage
from support.foreign import to_lines
from support.homes import PROJECT, Home, put_all, put_claude, put_codex
from support.systems import needs_names_of_bytes
from support.transcripts import ROOT, recorded
from support.workspace import build_test_client
from ullage.agents.discovery import Wanted
from ullage.agents.transcripts import read_document
from ullage.app import catalogue
from ullage.app.catalogue import KnownConversations, StoredCopies, families, find_known, whole_document
from ullage.app.compose import SessionTraces
from ullage.cli.main import main
from ullage.cli.session_source import open_listed
from ullage.cli.statusline.files import keep
from ullage.formats.parsing import Document, Line
from ullage.host.side_files import CATALOGUE, beside
from ullage.model.errors import NotFound, UnknownFormat, UnreadableTranscript
from ullage.model.events import CompactionCause, ContextEdited, UsageReported
from ullage.model.settings import Notices
from ullage.model.usage import FollowedRow, LiveSessions, RateLimit, UsageSource
from ullage.policy.evidence import Compacted
from ullage.service.archive.forgetting import HeldConversation, find_named
from ullage.service.archive.naming import find_session, known_info
from ullage.service.conversation.workspace import Workspace
from ullage.service.follow.followed_file import FollowedFile, read_conversation
from ullage.service.follow.rows import row_of
from ullage.service.ports.agent_files import FoundFile
from ullage.service.sessions import project_transcript, title_of
from ullage.store.sqlite.catalogue import FollowedNow, SqliteCatalogue
from ullage.system.growing_files import GrowingFiles, read_database, read_transcript_file
from ullage.watch import database_rows
from ullage.watch.candidates import own_path
from ullage.watch.file_parts import FileEnds, file_ends

ID = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
# Where recorded conversations are put, by where they were recorded, and the number of files of each.
PLACES = {
    "claude_code_*/*.jsonl": ".claude/projects/-home-ada-weather/{name}.jsonl",
    "live/claude_code/*.jsonl": ".claude/projects/-home-ada-live/{name}.jsonl",
    "codex_rollout/rollout-*.jsonl": ".codex/sessions/2026/11/22/{name}.jsonl",
    "live/codex/*.jsonl": ".codex/sessions/2026/11/23/rollout-{name}.jsonl",
    "pi/*.jsonl": ".pi/agent/sessions/--home-ada-weather--/{name}.jsonl",
    "live/pi*/*.jsonl": ".pi/agent/sessions/--home-ada-live--/{name}.jsonl",
    "live/qwen-code/*.jsonl": ".qwen/projects/-home-ada-weather/chats/{name}.jsonl",
    "live/gemini-cli/chats/*.jsonl": ".gemini/tmp/weather/chats/{name}.jsonl",
    "live/kimi-code/agents/main/wire.jsonl": ".kimi-code/sessions/wd_weather_1/session_1/agents/main/wire.jsonl",
    "live/copilot-cli/*/events.jsonl": ".copilot/session-state/{folder}/events.jsonl",
}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "ada")


@pytest.fixture
def workspace() -> Workspace:
    return build_test_client().workspace


def known(home: Home, workspace: Workspace) -> KnownConversations:
    return KnownConversations(workspace, home.path.parent / "store.db", home.machine)


def test_the_window_of_a_long_turn_is_what_its_beginning_says(home: Home, workspace: Workspace) -> None:
    started = event("task_started", model_context_window=258_400)
    begun = [session(cwd=PROJECT), started, codex_line("turn_context", model="gpt-5")]
    asked = [said("user", "Which port?"), said("developer", "x" * 90_000), said("user", "Test it."), call("c1")]
    answered = codex_line("token_usage_record", usage=codex_usage(21_000))
    home.put(f".codex/sessions/2026/11/22/rollout-{ID}.jsonl", to_lines(*begun, *asked, answered))
    (one,) = known(home, workspace).found
    assert (one.used, one.window, one.window_source) == (21_007, 258_400, "agent")


def figure(one: FollowedRow) -> tuple[object, ...]:
    return one.used, one.percent, one.window, one.window_source, one.compacts_at, one.compacts_at_source


def test_each_agents_figure_is_that_of_all_that_belongs_to_its_file(home: Home, workspace: Workspace) -> None:
    put_all(home)
    conversations = known(home, workspace)
    candidates = {one.path: candidate for one, candidate in conversations.of_folder(None)}
    for quick in conversations.found:
        (shown,) = conversations.read_closer([quick])
        with suppress(UnknownFormat, UnreadableTranscript):
            whole = read_document(whole_document(candidates[quick.path]))
            assert figure(shown) == figure(row_of(asyncio.run(project_transcript(workspace, whole)))), quick.agent


@pytest.mark.no_cover
@pytest.mark.parametrize(("pattern", "place"), PLACES.items())
def test_what_is_shown_is_the_figure_of_the_whole_file(
    home: Home, workspace: Workspace, pattern: str, place: str
) -> None:
    files = {
        home.put(place.format(name=file.stem, folder=file.parent.name), file.read_bytes()): file
        for file in sorted(ROOT.glob(pattern))
    }
    if not files:
        pytest.skip("the recorded transcripts are not on this machine (set ULLAGE_TRANSCRIPTS)")
    conversations = known(home, workspace)
    assert conversations.found
    for quick in conversations.found:
        (shown,) = conversations.read_closer([quick])
        whole = row_of(asyncio.run(project_transcript(workspace, recorded(Path(quick.path)))))
        assert (shown.used_source, shown.model) == (whole.used_source, whole.model), quick.path
        assert figure(shown) == figure(whole), quick.path
        # In the order of the list a figure counts that is not sure yet.
        assert abs((quick.used or 0) - (whole.used or 0)) <= max(100, (whole.window or 0) // 50), quick.path
        if quick.used_source is UsageSource.REPORTED and whole.used_source is UsageSource.REPORTED:
            assert quick.used == whole.used, quick.path


def test_only_what_has_changed_is_read_again(home: Home, workspace: Workspace) -> None:
    same, changing = put_claude(home, ID, "Snow", tokens=9_000), put_codex(home, "1" + ID[1:], "Rain", tokens=9_000)
    assert {one.title: one.used for one in known(home, workspace).found} == {"Snow": 9_050, "Rain": 9_007}
    status = same.stat()
    # Other words, and nothing that the operating system would say.
    same.write_bytes(same.read_bytes().replace(b"Snow", b"Hail"))
    os.utime(same, ns=(status.st_atime_ns, status.st_mtime_ns))
    changing.write_bytes(
        changing.read_bytes() + to_lines(said("user", "Now?"), said("assistant", "Yes."), counted(12_000))
    )
    assert {one.title: one.used for one in known(home, workspace).found} == {"Snow": 9_050, "Rain": 12_007}
    changing.unlink()
    assert [one.title for one in known(home, workspace).found] == ["Snow"]


def test_of_all_conversations_only_the_one_that_is_named_is_read(home: Home, workspace: Workspace) -> None:
    put_all(home)
    store, name = home.path.parent / "store.db", "7f3a0000-0000-4000-8000-000000000000"
    put_claude(home, name, "this one")
    wanted = Wanted(limit=5, origin="7f3a")
    (found,) = find_known(workspace, store, wanted, home.machine).conversations
    assert found.title == "this one"
    assert [one.agent_session_id for one in SqliteCatalogue(store).read().values()] == [name]
    assert len(known(home, workspace).found) > 1
    everything = SqliteCatalogue(store).read().keys()
    find_known(workspace, store, wanted, home.machine)
    assert SqliteCatalogue(store).read().keys() == everything


def test_a_conversation_is_found_by_an_id_that_only_its_file_says(home: Home, workspace: Workspace) -> None:
    put_all(home)
    file = home.put(
        ".gemini/tmp/weather/chats/session-2026-11-22T11-00-7f3a.jsonl",
        to_lines({"sessionId": "seldom", "projectHash": "x", "startTime": "2026-11-22T11:00:00Z", "kind": "main"}),
    )
    for _ in range(2):
        wanted = Wanted(limit=5, origin="seld")
        (found,) = find_known(workspace, home.path.parent / "store.db", wanted, home.machine).conversations
        assert found.path == str(file)


def test_an_id_with_which_others_begin_means_its_own_conversation(home: Home, workspace: Workspace) -> None:
    for name in ("20261122_1", "20261122_10"):
        home.put(f".factory/sessions/p/{name}.jsonl", to_lines({"type": "session_start", "id": name, "cwd": PROJECT}))
    for origin, names in {"20261122_1": {"20261122_1"}, "20261122_": {"20261122_1", "20261122_10"}}.items():
        wanted = Wanted(limit=5, origin=origin)
        found = find_known(workspace, home.path.parent / "store.db", wanted, home.machine).conversations
        assert {one.origin_id for one in found} == names


async def test_an_id_means_the_same_to_what_forgets_and_after_its_file_went(home: Home, workspace: Workspace) -> None:
    ids = ("20261122_1", "20261122_10", ID)
    known = [HeldConversation(title=one, cwd="", agent="", updated_at=0, origins=((one, ""),)) for one in ids]
    for name, meant in {"20261122_1": ids[0], "20261122_10": ids[1], ID[:13].replace("-", ""): ID}.items():
        assert [one.title for one in find_named(known, workspace, [name])] == [meant]
    for name in ("20261122_", "-", ""):
        with pytest.raises(NotFound):
            find_named(known[:2], workspace, [name])
    with pytest.raises(NotFound):
        find_named(known[2:], workspace, ["-"])
    file = put_claude(home, ID, "Is it wet?")
    conversation = await read_conversation(workspace, GrowingFiles(), FoundFile(path=file, agent="Claude Code"))
    assert conversation is not None
    assert find_session(workspace.ports.store, ID[:13].replace("-", "")) == conversation.id


async def test_a_session_that_another_process_deletes_while_it_is_listed_ends_no_list(
    home: Home, workspace: Workspace
) -> None:
    file, store = put_claude(home), workspace.ports.store
    assert await read_conversation(workspace, GrowingFiles(), FoundFile(path=file, agent="Claude Code"))
    (one,), copies, infos = known(home, workspace).found, StoredCopies(workspace), store.list(None, 9)
    assert copies.of(one) == infos[0].session_id
    await workspace.end(infos[0].session_id)
    store.delete(infos[0].session_id)
    assert copies.of(one) is None
    assert [*open_listed(workspace, infos)] == []
    assert known_info(store, infos[0].session_id) is None


async def test_the_figure_that_a_file_beside_the_conversations_own_says_is_the_newest(
    home: Home, workspace: Workspace
) -> None:
    task = ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/tasks/7"
    texts = [("user", "<task>\nIce?\n</task>"), ("assistant", "Yes.")]
    said = [{"role": role, "content": [{"type": "text", "text": text}], "ts": 10} for role, text in texts]
    history = home.put(f"{task}/api_conversation_history.json", json.dumps(said))

    def count(tokens: int) -> None:
        counts = json.dumps({"tokensIn": tokens, "tokensOut": 7})
        request = {"ts": 9, "type": "say", "say": "api_req_started", "text": counts}
        home.put(f"{task}/ui_messages.json", json.dumps([request]))

    count(9_000)
    followed = FollowedFile(workspace, GrowingFiles(), FoundFile(path=history, agent="Roo Code"))
    for tokens in (9_000, 12_000):
        count(tokens)
        await followed.read_all()
        assert followed.conversation is not None
        assert [one.used for one in known(home, workspace).found] == [followed.conversation.used] == [tokens + 7]


class DroidFiles:
    """A log of Droid, and the file beside it with the usage of its last request."""

    def __init__(self, home: Home) -> None:
        self._home, self._lines = home, to_lines({"type": "session_start", "id": "s", "cwd": PROJECT})
        self.path = home.path / ".factory" / "sessions" / "p" / "s.jsonl"

    def use(self, tokens: int) -> None:
        used = {"inputTokens": 12, "cacheReadTokens": tokens - 53, "outputTokens": 41}
        settings = {"model": "claude-opus-4-5", "tokenUsage": {"inputTokens": 9 * tokens}, "lastCallTokenUsage": used}
        self._home.put(".factory/sessions/p/s.settings.json", json.dumps(settings))

    def say(self, role: str, text: str) -> None:
        message = {"role": role, "content": [{"type": "text", "text": text}]}
        self._lines += to_lines({"type": "message", "id": f"m{len(self._lines)}", "message": message})
        self._home.put(".factory/sessions/p/s.jsonl", self._lines)


async def test_the_usage_beside_droids_log_is_that_of_the_answer_before_or_after_which_it_is_written(
    home: Home, workspace: Workspace
) -> None:
    droid, words = DroidFiles(home), "Rain, snow and hail. " * 400
    followed = FollowedFile(workspace, GrowingFiles(), FoundFile(path=droid.path, agent="Droid"))

    async def figures() -> tuple[int, int, UsageSource]:
        """Returns the figure of who follows the file, of a list, and what the latter is."""
        await followed.read_all()
        (row,), conversation = known(home, workspace).found, await followed.look_ahead() or followed.conversation
        assert conversation is not None and row.used is not None and row.used_source is not None
        return conversation.used, row.used, row.used_source

    droid.say("user", "How is the weather?")
    droid.say("assistant", "I look.")
    estimated, _, source = await figures()
    assert (estimated < 100, source) == (True, UsageSource.ESTIMATED)
    droid.use(20_000)
    assert await figures() == (20_000, 20_000, UsageSource.REPORTED)
    droid.say("user", words)
    now, listed, source = await figures()
    assert (now > 21_000, listed > 21_000, source) == (True, True, UsageSource.ESTIMATED)
    # A usage that is there before its answer is not that of the answer before.
    droid.use(22_500)
    assert (await figures())[0] == now
    droid.say("assistant", "It is wet.")
    assert await figures() == (22_500, 22_500, UsageSource.REPORTED)
    droid.say("user", words)
    droid.say("assistant", "Still.")
    assert (await figures())[0] > 24_000
    droid.use(25_000)
    assert await figures() == (25_000, 25_000, UsageSource.REPORTED)
    assert followed.conversation is not None
    events = [record.event for record in workspace.ports.store.read(followed.conversation.id)]
    assert [one.usage.total for one in events if isinstance(one, UsageReported)] == [20_000, 22_500, 25_000]
    assert followed.conversation.projection.bill.amount == 0


async def test_a_usage_that_was_read_with_an_answer_before_its_own_was_written_is_replaced(
    home: Home, workspace: Workspace
) -> None:
    droid = DroidFiles(home)
    followed = FollowedFile(workspace, GrowingFiles(), FoundFile(path=droid.path, agent="Droid"))

    async def figure() -> int:
        await followed.read_all()
        conversation = await followed.look_ahead() or followed.conversation
        assert conversation is not None
        return conversation.used

    droid.say("user", "How is the weather?")
    droid.say("assistant", "I look.")
    droid.use(20_000)
    for tokens in (22_500, 25_000, 27_500):
        droid.say("user", "Rain, snow and hail. " * 400)
        droid.say("assistant", "It is wet.")
        await figure()
        droid.use(tokens)
        assert await figure() == tokens


async def test_the_usage_beside_a_long_log_of_droid_is_that_of_its_end(home: Home, workspace: Workspace) -> None:
    droid = DroidFiles(home)
    droid.use(30_000)
    for number in range(40):
        droid.say("user", f"And {number}?")
        droid.say("assistant", "Yes.")
    followed = FollowedFile(workspace, GrowingFiles(2_000), FoundFile(path=droid.path, agent="Droid"))
    await followed.read_all()
    assert followed.conversation is not None
    assert (followed.conversation.used, followed.conversation.transcript.model) == (30_000, "claude-opus-4-5")
    assert [one.used for one in known(home, workspace).found] == [30_000]


def test_what_takes_longer_than_a_user_waits_is_read_by_the_next_list(home: Home, workspace: Workspace) -> None:
    files = [put_claude(home, f"{number}{ID[1:]}", "Snow", tokens=9_000) for number in range(3)]
    store = home.path.parent / "store.db"
    none = KnownConversations(workspace, store, home.machine, seconds=-1)
    assert (none.found, none.left) == ((), 3)
    assert (len(known(home, workspace).found), known(home, workspace).left) == (3, 0)
    files[0].write_bytes(files[0].read_bytes().replace(b"8950", b"9950"))
    as_it_was = KnownConversations(workspace, store, home.machine, seconds=-1)
    assert ([one.used for one in as_it_was.found], as_it_was.left) == ([9_050] * 3, 1)
    assert known(home, workspace).left == 0


def test_what_other_conversations_show_of_the_threshold_counts_without_reading_again(
    home: Home, workspace: Workspace
) -> None:
    put_claude(home, ID, "Snow", tokens=9_000)
    (before,) = known(home, workspace).found
    seen = [
        Compacted(tokens=tokens, version=VERSION, model=before.model, cause=CompactionCause.THRESHOLD, id=str(tokens))
        for tokens in (100_000, 100_500)
    ]
    workspace.keep_compactions("claude-code", seen)
    (after,) = known(home, workspace).found
    assert before.compacts_at == 167_000
    assert after.compacts_at == 100_000


def test_a_user_who_goes_back_has_the_figure_that_was_reported_there(home: Home, workspace: Workspace) -> None:
    log, codex, pi = ClaudeLog(session=ID, cwd=PROJECT), [session(id="1" + ID[1:], cwd=PROJECT)], list[dict[str, Any]]()
    pi.append(
        {"type": "session", "version": 3, "id": "2" + ID[1:], "timestamp": "2026-11-22T10:00:00Z", "cwd": PROJECT}
    )
    for number in range(5):
        words, tokens = f"Step {number}. " + "Go on. " * 200, 20_000 + 5_000 * number
        log.ask(words).answer(tokens)
        codex += [event("user_message", message=words), said("user", words), said("assistant", "Yes."), counted(tokens)]
        pi += [pi_message(f"u{number}", f"a{number - 1}" if number else None, "user", words)]
        pi += [pi_message(f"a{number}", f"u{number}", "assistant", "Yes.", usage={"input": tokens, "output": 7})]
    log.ask("Another way.").lines[-1]["parentUuid"] = log.lines[3]["uuid"]
    home.put(f".claude/projects/p/{ID}.jsonl", log.data)
    codex.append(event("thread_rolled_back", num_turns=3))
    home.put(f".codex/sessions/2026/11/22/rollout-2026-11-22T10-00-00-1{ID[1:]}.jsonl", to_lines(*codex))
    pi.append(pi_message("u9", "a1", "user", "Another way."))
    home.put(f".pi/agent/sessions/p/2026-11-22T10-00-00-000Z_2{ID[1:]}.jsonl", to_lines(*pi))
    conversations = known(home, workspace)
    shown = {one.agent: one for one in conversations.read_closer(conversations.found)}
    assert all(25_000 <= (one.used or 0) < 25_100 for one in shown.values()), shown
    assert {agent: one.used_source for agent, one in shown.items()} == {
        "Claude Code": UsageSource.STALE,
        "Codex": UsageSource.REPORTED,
        "pi": UsageSource.STALE,
    }


def pi_message(name: str, parent: str | None, role: str, words: str, **more: Any) -> dict[str, Any]:
    message = {"role": role, "content": [{"type": "text", "text": words}], "model": "claude-opus-4-6"} | more
    at = "2026-11-22T10:00:00Z"
    return {"type": "message", "id": name, "parentId": parent, "timestamp": at, "message": message}


def test_a_window_that_showed_long_ago_is_the_window_that_is_shown(home: Home, workspace: Workspace) -> None:
    log = ClaudeLog(session=ID).ask().answer(700_000).compact(701_000)
    put_log(home, long_log(log.ask().answer(60_000)))
    conversations = known(home, workspace)
    (shown,) = conversations.read_closer(conversations.found)
    assert (shown.used, shown.window, shown.percent) == (60_050, 1_000_000, 6)
    assert known(home, workspace).found == (shown,)


@pytest.mark.parametrize("placeholder", [1, 400, 1_999, 4_096])
def test_a_report_that_is_too_small_to_be_true_is_not_believed(
    home: Home, workspace: Workspace, placeholder: int
) -> None:
    log = ClaudeLog(session=ID, cwd="/p").ask(" ".join(f"cask {n}" for n in range(9_000))).answer(placeholder)
    path = home.put(f".claude/projects/-p/{ID}.jsonl", log.data)
    conversations = known(home, workspace)
    (found,) = conversations.read_closer(conversations.found)
    whole = row_of(asyncio.run(project_transcript(workspace, recorded(path))))
    assert (found.used, found.used_source) == (whole.used, UsageSource.ESTIMATED)
    assert found.used is not None
    assert found.used > 20_000


@pytest.mark.parametrize("runs", [True, False], ids=["running", "quiet"])
def test_a_long_list_counts_a_screen_of_what_is_quiet_and_all_that_runs(
    home: Home, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, *, runs: bool
) -> None:
    for number in range(25):
        name = f"{number:08x}{ID[8:]}"
        log = ClaudeLog(session=name).ask("Weigh the walnuts.").answer(30_000).compact(31_000).ask("And what is left?")
        put_claude(home, name, "Weigh").write_bytes(log.data)
    conversations = known(home, workspace)
    shown = conversations.read_closer(conversations.found, lambda _: runs)
    assert [one.is_sure for one in shown] == [at < 20 or runs for at in range(25)]
    # The next list does not read on.
    monkeypatch.setattr(catalogue, "whole_document", None)
    conversations = known(home, workspace)
    found = sorted(conversations.found, key=lambda one: not one.is_sure)
    assert [one.is_sure for one in conversations.read_closer(found, lambda _: False)] == [one.is_sure for one in shown]


@pytest.mark.parametrize("is_long", [True, False], ids=["ends", "whole"])
def test_a_conversation_that_was_compacted_is_counted_when_it_is_shown(
    home: Home, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, *, is_long: bool
) -> None:
    file = put_log(
        home, growing_log(40 if is_long else 1).compact(150_000).ask("Now weigh what is left of them. " * 100)
    )
    whole = row_of(asyncio.run(project_transcript(workspace, recorded(file))))
    assert whole.used is not None
    monkeypatch.setattr(catalogue, "whole_document", None)
    conversations = known(home, workspace)
    (one,) = conversations.found
    assert (one.used_source, one.is_sure) == (UsageSource.ESTIMATED, False)
    assert one.used == pytest.approx(whole.used, abs=(whole.window or 0) / 20)
    monkeypatch.undo()
    assert figure(conversations.read_closer([one])[0]) == figure(whole)
    assert figure(known(home, workspace).found[0]) == figure(whole)


@pytest.mark.parametrize(("kind", "media_type"), [("image", "image/png"), ("document", "application/pdf")])
def test_a_picture_or_document_is_estimated_by_what_the_model_sees_of_it(
    home: Home, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, kind: str, media_type: str
) -> None:
    data = b64encode(b"%PDF-1.4 /Type /Page " + b"0" * 2_000_000).decode()
    block = {"type": kind, "source": {"type": "base64", "media_type": media_type, "data": data}}
    result = {"type": "tool_result", "tool_use_id": "call_1", "content": [block]}
    put_log(home, growing_log(200).ask([result]))
    monkeypatch.setattr(catalogue, "whole_document", None)
    (one,) = known(home, workspace).found
    assert one.used_source is UsageSource.ESTIMATED
    assert one.used == pytest.approx(1_224_050 + 1_000, abs=1_000)


def test_no_conversation_waits_for_a_large_one_and_that_is_estimated_after_a_compaction(
    home: Home, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_claude(home, f"1{ID[1:]}", "Snow", tokens=9_000)
    log = growing_log(40).attach("api_metrics", timings="x" * 30_000).compact(150_000)
    large = put_log(home, log)
    read: list[str] = []

    def noted(path: str, size: int, title_in: Callable[[Line], str]) -> AbstractContextManager[FileEnds | None]:
        read.append(path)
        return file_ends(path, size, title_in)

    monkeypatch.setattr(catalogue, "_MOST", large.stat().st_size - 1)
    monkeypatch.setattr(catalogue, "whole_document", None)
    monkeypatch.setattr(catalogue, "file_ends", noted)
    first, second = known(home, workspace).found
    assert read == [second.path, first.path]
    whole = row_of(asyncio.run(project_transcript(workspace, recorded(large))))
    assert whole.used is not None
    assert (first.used_source, first.is_sure) == (UsageSource.ESTIMATED, False)
    # The last line is the compaction's summary.
    assert first.updated_at == log.now - 60_000
    assert first.used == pytest.approx(whole.used, abs=(whole.window or 0) / 20)


def test_a_conversation_is_in_its_folders_list_if_only_its_beginning_can_be_read(
    home: Home, workspace: Workspace
) -> None:
    file = put_claude(home)
    # As after a loss of power: the file has its size, and nothing was written there.
    os.truncate(file, 65 << 20)
    (one,) = known(home, workspace).found
    assert (one.title, one.cwd, one.used) == ("Why is it wet?", PROJECT, None)
    assert "too large" in one.reason


async def test_a_conversation_whose_messages_must_be_counted_is_listed_for_a_coroutine(
    home: Home, workspace: Workspace
) -> None:
    put_claude(home).write_bytes(ClaudeLog(session=ID).ask().answer(20_000).compact(21_000).data)
    (found,) = known(home, workspace).found
    assert (found.reason, found.used_source) == ("", UsageSource.ESTIMATED)
    assert found.used


def test_the_end_is_enough_of_a_file_that_begins_with_a_comment(home: Home, workspace: Workspace) -> None:
    comment = b"// Copied from the weather machine\n"
    home.put(f".claude/projects/-home-ada-weather/{ID}.jsonl", comment + long_log().data)
    (one,) = known(home, workspace).found
    assert (one.used, one.is_whole) == (60_050, False)


@pytest.mark.parametrize("place", ["local_9", "agent/local_9"])
def test_a_session_of_claude_desktops_cowork_is_known_once(home: Home, workspace: Workspace, place: str) -> None:
    machine = replace(home.machine, system="linux")
    box = f".config/Claude/local-agent-mode-sessions/org/account/{place}"
    log = ClaudeLog(session=ID).ask("What about quinces?").answer(33_000)
    home.put(f"{box}/.claude/projects/-sessions-quiet-fig/{ID}.jsonl", log.data)
    home.put(f"{box}/audit.jsonl", log.data)
    found = KnownConversations(workspace, home.path.parent / "store.db", machine).found
    assert [(one.agent, one.title, one.used) for one in found] == [("Claude Code", "What about quinces?", 33_050)]


def test_a_conversation_of_a_version_with_its_home_in_the_users_settings_is_known(
    home: Home, workspace: Workspace
) -> None:
    home.put(f".config/claude/projects/-home-ada-weather/{ID}.jsonl", ClaudeLog(session=ID).ask().answer(33_000).data)
    assert [(one.agent, one.used) for one in known(home, workspace).found] == [("Claude Code", 33_050)]


def put_log(home: Home, log: ClaudeLog) -> Path:
    return home.put(f".claude/projects/-home-ada-weather/{ID}.jsonl", log.data)


def growing_log(turns: int) -> ClaudeLog:
    log = ClaudeLog(session=ID)
    for number in range(turns):
        log = log.ask("We weighed the walnuts today. " * 1_000).answer(30_000 + 6_000 * number)
    return log


def long_log(log: ClaudeLog | None = None) -> ClaudeLog:
    """Returns a log that is longer than the ends of a file that are read. Most of it is not in the context."""
    log = log or ClaudeLog(session=ID)
    for _ in range(40):
        log = log.ask("Rain. " * 500).attach("api_metrics", timings="x" * 30_000).answer(60_000)
    return log


def test_a_conversation_that_is_followed_has_the_followers_figure_everywhere(home: Home, workspace: Workspace) -> None:
    file, store = put_claude(home, ID, "Snow", tokens=9_000), home.path.parent / "store.db"
    (before,) = known(home, workspace).found
    row = replace(row_of_known(before), used=9_900, messages=2, calls_left=(3, 8), updated_at=before.updated_at + 1)
    live = LiveSessions(at=1, follower=os.getpid(), sessions=(row,))
    FollowedNow(store).write(live)
    conversations = known(home, workspace)
    (one,) = conversations.read_closer(conversations.found)
    assert (one.path, one.used, one.messages, one.calls_left) == (str(file), 9_900, 2, (3, 8))
    # The follower has ended, and the file is as it was.
    FollowedNow(store).write(replace(live, follower=2**22 + 1))
    assert [(one.used, one.is_sure) for one in known(home, workspace).found] == [(9_900, True)]


@pytest.mark.parametrize("ids", ["", " WITHOUT ROWID"], ids=["", "without row ids"])
def test_of_a_long_conversation_in_a_database_the_newest_rows_say_the_figure(
    home: Home, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, ids: str
) -> None:
    put_opencode(home, 400, ids=ids)
    read, most = list[int](), list[int]()

    def counted(path: Path, origin_id: str = "", limit: int = -1) -> Document:
        document = read_database(path, origin_id, limit)
        read.append(len(document.lines))
        most.append(limit)
        return document

    monkeypatch.setattr(catalogue, "read_database", counted)
    found = {one.agent_session_id: one for one in known(home, workspace).found}
    assert [(one.title, one.used) for one in found.values()] == [("Ports", 3_404), ("Casks", None)]
    assert ids or max(read) <= 3 * max(most) < 1_600


@pytest.mark.parametrize(
    ("agent", "place"), [("goose", ".local/share/goose/sessions/sessions.db"), ("crush", "code/.crush/crush.db")]
)
def test_what_follows_an_answer_counts_where_an_agent_keeps_the_newest_usage_alone(
    home: Home, workspace: Workspace, agent: str, place: str
) -> None:
    projects = {"projects": [{"path": str(home.path / "code"), "data_dir": ".crush"}]}
    home.put(".local/share/crush/projects.json", json.dumps(projects))
    home.put(place, "")
    for rows in GROWING[agent]:
        put(home.path / place, rows)
    conversations = known(home, workspace)
    (quick,) = (one for one in conversations.found if one.agent_session_id == "one")
    (shown,) = conversations.read_closer([quick])
    whole = read_document(read_transcript_file(home.path / place, run=2))
    assert figure(shown) == figure(row_of(asyncio.run(project_transcript(workspace, whole))))
    assert shown.used_source is UsageSource.STALE


def test_of_hermes_the_estimate_from_all_requests_and_the_time_of_the_last_message_are_listed(
    home: Home, workspace: Workspace
) -> None:
    database = home.put(".hermes/state.db", "")
    for rows in GROWING["hermes"]:
        put(database, rows)
    conversations = known(home, workspace)
    one, zero = conversations.found
    whole = read_document(read_database(database, "one"))
    figure_of_whole = figure(row_of(asyncio.run(project_transcript(workspace, whole))))
    assert figure(one) == figure_of_whole == figure(conversations.read_closer([one])[0])
    # A third of 2,500, and a quarter of the 62 characters that there are more now than in the mean request.
    assert (one.used, one.used_source) == (848, UsageSource.ESTIMATED)
    assert (one.updated_at, zero.updated_at) == (T + 10_000, T)


def test_a_compaction_at_the_end_of_a_conversation_in_a_large_database_is_counted_from_all_its_rows(
    home: Home, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = put_opencode(home, 210, *COMPACTED)
    monkeypatch.setattr(catalogue, "_LARGEST", 0)
    (found,) = (one for one in known(home, workspace).found if one.agent_session_id == "one")
    whole = read_document(read_database(database, "one"))
    assert [type(event) for event in whole.events].count(ContextEdited) == 1
    assert (found.reason, found.used_source, found.is_whole) == ("", UsageSource.ESTIMATED, True)
    monkeypatch.undo()
    conversations = known(home, workspace)
    (shown,) = conversations.read_closer([found])
    assert figure(shown) == figure(row_of(asyncio.run(project_transcript(workspace, whole))))


def test_a_command_reads_of_a_database_only_the_conversation_that_is_named(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    database = put_opencode(home, 1, *COMPACTED)
    for table, columns in opencode("m9", USER, said_in_database("Rain. " * 1_000)):
        put(database, [(table, columns | {"session_id": "two"})])
    monkeypatch.setattr(database_rows, "LARGEST_VALUE", 3_000)
    # Lists of all sessions are read elsewhere.
    monkeypatch.setattr(Path, "home", lambda: home.path)
    monkeypatch.setenv("HOME", str(home.path))
    for name in ("DATA", "STATE", "CONFIG"):
        monkeypatch.delenv(f"XDG_{name}_HOME", raising=False)
    for command in ("messages", "lost", "context"):
        for named in (["one"], [str(database), "--run", "1"], [str(database)]):
            assert main(["--store", str(home.path / "none.db"), command, *named]) == 0, capsys.readouterr().err
    assert "Which port 0?" in capsys.readouterr().out


COMPACTED = [
    *opencode("c1", USER, {"type": "compaction", "auto": True}),
    *opencode("c2", DONE | {"summary": True, "finish": "stop"}, said_in_database("The port is 8042.")),
]


def put_opencode(home: Home, turns: int, *more: Put, ids: str = "") -> Path:
    """Writes a database with a long conversation, `one`, and one without messages, `two`."""
    database = home.path / ".local" / "share" / "opencode" / "opencode.db"
    database.parent.mkdir(parents=True)
    rows = [opencode_session("one", "Ports"), opencode_session("two", "Casks")]
    for number in range(turns):
        rows += opencode(f"a{number:04d}", USER, said_in_database(f"Which port {number}?"))
        rows += opencode(f"b{number:04d}", DONE | {"tokens": usage(3_000 + number)}, said_in_database("8042."))
    with closing(sqlite3.connect(database)) as connection, connection:
        for table, columns in (*rows, *more):
            names, marks = ", ".join(columns), ", ".join("?" * len(columns))
            connection.execute(f"CREATE TABLE IF NOT EXISTS {table} ({names}, PRIMARY KEY (id)){ids}")
            connection.execute(f"INSERT INTO {table} VALUES ({marks})", tuple(columns.values()))
    return database


def test_of_a_database_that_is_named_the_newest_conversation_with_a_message_is_read(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: home.path)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    database = put_opencode(home, 1)
    put(database, [("session", opencode_session("two")[1] | {"time_updated": 2 * T})])
    put(database, [("session", opencode_session("side")[1] | {"time_updated": 3 * T, "parent_id": "one"})])
    put(database, [(table, columns | {"session_id": "side"}) for table, columns in opencode("m9", USER)])
    assert read_document(read_transcript_file(database)).session_id == "one"


async def test_the_calls_left_of_what_runs_are_known_without_a_follower(home: Home, workspace: Workspace) -> None:
    log = ClaudeLog(session=ID)
    for number in range(8):
        log.ask("And then?").answer(20_000 + 3_000 * number)
    os.utime(put_log(home, log))
    conversations = await asyncio.to_thread(known, home, workspace)
    (one,) = await asyncio.to_thread(conversations.read_closer, conversations.found)
    document = read_transcript_file(Path(one.path))
    session = await project_transcript(workspace, read_document(document))
    assert one.calls_left == row_of(session).calls_left is not None


@pytest.mark.parametrize("is_promised", [False, True], ids=["seen", "promised"])
@pytest.mark.parametrize("is_long", [False, True], ids=["whole", "ends"])
async def test_the_clock_of_what_nothing_follows_is_that_of_its_whole_file(
    home: Home, workspace: Workspace, *, is_long: bool, is_promised: bool
) -> None:
    log = (long_log() if is_long else ClaudeLog(session=ID)).ask().answer(20_000).ask().answer(21_000)
    written = b'"cache_creation_input_tokens":9,"output_tokens"' if is_promised else b'"output_tokens"'
    put_claude(home, ID, "Snow").write_bytes(log.data.replace(b'"output_tokens"', written))
    keep(str(home.path.parent / "store.db"), ID, b'{"rate_limits": {"five_hour": {"used_percentage": 42}}}', None)
    conversations = await asyncio.to_thread(known, home, workspace)
    (listed,) = conversations.found
    (one,) = await asyncio.to_thread(conversations.read_closer, conversations.found)
    session = await project_transcript(workspace, read_document(read_transcript_file(Path(one.path))))
    cache = row_of(session).cache
    assert cache is not None
    # In the ends of a file, pauses between requests are not known.
    of_ends = replace(cache, miss=None) if is_promised else None
    assert [each.is_whole for each in (listed, one)] == [False, True]
    assert (listed.cache, one.cache) == (of_ends, cache)
    assert one.rate_limits == (RateLimit(name="5h", percent=42),)


@pytest.mark.parametrize("runs", [True, False])
async def test_a_good_moment_of_what_nothing_follows_is_known_while_it_runs(
    home: Home, workspace: Workspace, *, runs: bool
) -> None:
    log = ClaudeLog(session=ID).ask("Round.").read("/home/me/shop/all.py", "price " * 130_000).answer(149_000)
    log.call("Edit", "ok", file_path="/home/me/shop/prices.py", old_string="x", new_string="y")
    log.call("Bash", "[main 4f1c2aa] fix: round", command='git commit -am "fix: round"').answer(150_000)
    put_claude(home, ID, "Snow").write_bytes(log.data)
    conversations = await asyncio.to_thread(known, home, workspace)
    (one,) = await asyncio.to_thread(conversations.read_closer, conversations.found, lambda _: runs)
    session = await project_transcript(workspace, read_document(read_transcript_file(Path(one.path))), counts=True)
    moment = row_of(session).moment
    assert moment is not None
    assert one.moment == (moment if runs else None)
    # It is kept, and read no more.
    again = await asyncio.to_thread(known, home, workspace)
    assert [(each.moment, each.is_sure) for each in again.found] == [(one.moment, True)]
    workspace.settings = replace(workspace.settings, notices=Notices.OFF)
    off = await asyncio.to_thread(known, home, workspace)
    assert [each.moment for each in off.read_closer(off.found)] == [None]


@pytest.mark.parametrize("is_at_end", [False, True], ids=["whole", "end"])
async def test_rate_limits_in_the_log_are_those_of_its_conversation(
    home: Home, workspace: Workspace, *, is_at_end: bool
) -> None:
    file, count = put_codex(home, ID), counted(21_000)
    window = {"used_percent": 41.6, "window_minutes": 300, "resets_at": 1_795_000_000}
    count["payload"]["rate_limits"] = {"primary": window}
    # The end of the file is enough only if it names the model.
    named = {"type": "turn_context", "payload": {"model": "gpt-5"} if is_at_end else {}}
    file.write_bytes(file.read_bytes() + to_lines(named, said("user", "Ice?"), said("assistant", "Snow."), count))
    conversations = await asyncio.to_thread(known, home, workspace)
    (listed,) = conversations.found
    (one,) = await asyncio.to_thread(conversations.read_closer, conversations.found)
    session = await project_transcript(workspace, read_document(read_transcript_file(file)))
    assert listed.is_whole is not is_at_end
    limits = (RateLimit(name="5h", percent=42, until=1_794_999_960_000),)
    assert [each.rate_limits for each in (listed, one, row_of(session))] == [limits] * 3


@pytest.mark.parametrize("follower", [os.getpid(), 2**22 + 1], ids=["runs", "ended"])
def test_what_the_file_says_counts_where_it_is_newer_than_what_the_follower_saw(
    home: Home, workspace: Workspace, follower: int
) -> None:
    file, store = put_claude(home, ID, "Snow", tokens=9_000), home.path.parent / "store.db"
    (before,) = known(home, workspace).found
    row = replace(row_of_known(before), used=9_900, calls_left=(3, 8))
    FollowedNow(store).write(LiveSessions(at=1, follower=follower, sessions=(row,)))
    log = ClaudeLog(session=ID).ask("Snow").answer(9_000).ask("And ice?").answer(12_000)
    file.write_bytes(log.data)
    after = [known(home, workspace).found[0] for _ in range(2)]
    assert [(one.used, one.calls_left) for one in after] == [(12_050, None)] * 2
    # What the process that follows shows is its own to replace.
    shown = FollowedNow(store).read()
    assert shown is not None
    assert [one.used for one in shown.sessions] == ([9_900] if follower == os.getpid() else [])


def row_of_known(one: FollowedRow) -> FollowedRow:
    return FollowedRow(**{name: getattr(one, name) for name in FollowedRow.__struct_fields__})


def test_one_conversation_in_two_files_is_one(home: Home, workspace: Workspace) -> None:
    file = put_claude(home, ID, "Snow", tokens=9_000)
    link = home.path / ".claude/projects/-home-ada-other" / file.name
    link.parent.mkdir()
    link.symlink_to(file)
    assert [one.title for one in known(home, workspace).found] == ["Snow"]


def test_a_file_with_gemini_clis_own_first_message_alone_does_not_stand_for_the_conversation(
    home: Home, workspace: Workspace
) -> None:
    def written(minute: int, *texts: str) -> bytes:
        at = f"2026-11-22T01:{minute}:00.000Z"
        own = {"id": "m", "timestamp": at, "type": "user", "content": [{"text": "<session_context>\nA CLI.\n"}]}
        lines: list[object] = [{"sessionId": ID, "startTime": at, "kind": "main"}, {"$set": {"messages": [own]}}]
        for number, text in enumerate(texts):
            lines.append({"id": f"u{number}", "timestamp": at, "type": "user", "content": [{"text": text}]})
            tokens = {"input": 1000 * minute, "output": 50, "total": 1000 * minute + 50}
            answer = {"id": f"a{number}", "timestamp": at, "type": "gemini", "content": "Yes.", "tokens": tokens}
            lines.append(answer | {"model": "gemini-2.5-flash"})
        return to_lines(*lines)

    chats = home.path / ".gemini" / "tmp" / "shop" / "chats"
    chats.mkdir(parents=True)
    (chats / f"session-2026-11-22T01-43-{ID[:8]}.jsonl").write_bytes(written(43, "Which port?"))
    resumed = chats / f"session-2026-11-22T01-44-{ID[:8]}.jsonl"
    resumed.write_bytes(written(44))
    assert [(one.title, one.used) for one in known(home, workspace).found] == [("Which port?", 43_050)]
    resumed.write_bytes(written(44, "And the host?"))
    assert [(one.title, one.used) for one in known(home, workspace).found] == [("And the host?", 44_050)]


def test_forks_and_runs_that_were_resumed_in_another_file_are_one_family(home: Home, workspace: Workspace) -> None:
    names = [f"{number}{ID[1:]}" for number in range(5)]
    begun = ClaudeLog(session=ID).ask("Will it rain?").answer(9_000).data
    folder = ".claude/projects/-home-ada-weather"
    # An early version copies what was said into the file of the next run.
    for name in (ID, names[1]):
        home.put(f"{folder}/{name}.jsonl", begun.replace(ID.encode(), name.encode()))
    fork = json.loads(begun.splitlines()[0]) | {"sessionId": names[2], "timestamp": "2025-11-23T10:00:00.000Z"}
    fork["forkedFrom"] = {"sessionId": names[1], "messageUuid": "u1"}
    home.put(f"{folder}/{names[2]}.jsonl", to_lines(fork))
    # Others, in another folder and with other first words.
    home.put(f".claude/projects/-home-ada-login/{names[3]}.jsonl", begun.replace(ID.encode(), names[3].encode()))
    home.put(f"{folder}/{names[4]}.jsonl", begun.replace(b"rain", b"snow").replace(ID.encode(), names[4].encode()))
    for found in (known(home, workspace).found, known(home, workspace).found):
        together = [[one.agent_session_id for one in family] for family in families(found)]
        assert sorted(map(sorted, together)) == [[ID, *names[1:3]], [names[3]], [names[4]]]


def test_a_damaged_catalogue_is_made_again(home: Home, workspace: Workspace) -> None:
    put_claude(home, ID, "Snow", tokens=9_000)
    catalogue = home.path.parent / "store.db.catalogue.db"
    catalogue.write_bytes(b"no database" * 100)
    for _ in range(2):
        assert [one.used for one in known(home, workspace).found] == [9_050]
    assert len(SqliteCatalogue(home.path.parent / "store.db").read()) == 1
    assert catalogue.stat().st_mode & 0o777 == 0o600


def test_nothing_of_a_conversation_that_is_forgotten_stays_in_the_catalogue(home: Home, workspace: Workspace) -> None:
    store = home.path.parent / "store.db"
    forgotten = put_claude(home, ID, "Where is the treasure?", tokens=9_000)
    put_codex(home, "1" + ID[1:], "Rain")
    assert len(known(home, workspace).found) == 2
    SessionTraces(store)(ID, str(forgotten))
    kept = b"".join(file.read_bytes() for file in store.parent.glob("store.db.catalogue.db*"))
    assert b"treasure" not in kept
    assert b"Rain" in kept
    assert [one.title for one in known(home, workspace).found] == ["Rain"]


def test_a_file_that_cannot_be_read_says_why(home: Home, workspace: Workspace) -> None:
    file = put_codex(home, ID, "Rain")
    file.rename(file.with_name(file.name + ".zst"))
    file.with_name(file.name + ".zst").write_bytes(b"\x28\xb5\x2f\xfd no frame")
    conversations = known(home, workspace)
    (one,) = conversations.found
    assert one.reason
    assert [unread.reason for unread in conversations.unread] == [one.reason]


@needs_names_of_bytes
def test_a_name_that_is_not_utf_8_keeps_no_other_conversation_from_the_list(home: Home, workspace: Workspace) -> None:
    put_claude(home)
    unnamed = home.put(f".claude/projects/-home-caf\udce9/{ID}.jsonl", ClaudeLog(session=ID).ask("Wet?").data)
    damaged = f".grok/sessions/-home-ada/{ID}"
    home.put(f"{damaged}/summary.json", '{"info": {"id": "1", "cwd": "/home/\\ud800"}}')
    home.put(f"{damaged}/chat_history.jsonl", to_lines({"type": "user", "content": "Wind?"}))
    for _ in range(2):
        conversations = known(home, workspace)
        assert {one.cwd for one in conversations.found} == {PROJECT, "/home/\ufffd"}
        assert [(one.path, "not UTF-8" in one.reason) for one in conversations.unread] == [(str(unnamed), True)]
    assert own_path(home.machine, str(unnamed)) == ""


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Implement the following plan:\n\n# Retry the queue\n\n...", "Retry the queue"),
        ("<system-reminder>be kind</system-reminder>\nWhy is it wet?", "Why is it wet?"),
        ("请执行以下计划\uff1a\n重试队列", "请执行以下计划\uff1a 重试队列"),
        ("Only this:", "Only this:"),
        ("<environment_context>\n  <shell>bash</shell>\n</environment_context>", ""),
        ("<local-command-stdout>Compacted</local-command-stdout>", ""),
    ],
)
def test_a_title_is_the_first_line_that_says_something(home: Home, workspace: Workspace, text: str, title: str) -> None:
    path = put_claude(home, ID, text)
    assert [one.title for one in known(home, workspace).found] == [title] == [title_of(recorded(path).events)]


@pytest.mark.parametrize("more", [(), ("Why is it wet?",), ("/clear", "Why is it wet?"), ("word " * 4_000,)])
def test_a_lone_command_is_a_title_until_something_is_typed(
    home: Home, workspace: Workspace, more: tuple[str, ...]
) -> None:
    log = ClaudeLog(session=ID).ask("/review").answer(900)
    for text in more:
        log.ask(text).answer(1_000)
    path = home.put(f".claude/projects/-home-ada-weather/{ID}.jsonl", log.data)
    lines = [line for text in ("/review", *more) for line in (said("user", text), said("assistant", "Yes."))]
    start = session(id="1" + ID[1:], cwd=PROJECT)
    codex = home.put(f".codex/sessions/2026/11/22/rollout-{'1' + ID[1:]}.jsonl", to_lines(start, *lines, counted(900)))
    title = more[-1] if more else "/review"
    conversations = known(home, workspace)
    closer = conversations.read_closer(conversations.found)
    stored = [one.title or title_of(one.events) for one in map(recorded, (path, codex))]
    titles = [*(one.title for one in (*conversations.found, *closer)), *stored]
    assert [one[:50] for one in titles] == [title[:50]] * 6


def test_no_byte_stays_in_a_catalogue_in_which_an_older_sqlite_has_overwritten_nothing(
    home: Home, workspace: Workspace
) -> None:
    file, store = put_claude(home, ID, "Snow", tokens=9_000), home.path.parent / "store.db"
    known(home, workspace)
    path = beside(store, CATALOGUE)
    with closing(sqlite3.connect(path, isolation_level=None)) as catalogue:
        catalogue.execute("PRAGMA secure_delete = OFF")
        catalogue.execute("UPDATE conversations SET title = ?", ("the walnut is ripe " * 400,))
        catalogue.execute("UPDATE conversations SET title = 'Snow'")
        catalogue.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert b"walnut" in path.read_bytes()
    SqliteCatalogue(store).remove(str(file), ID)
    assert b"walnut" not in path.read_bytes()
