"""Agents' logs whose records form a tree, and going back in them: nothing that was said is lost, and the context is
what leads to the last place."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from hypothesis import assume, example, given
from hypothesis import strategies as st

from support.foreign import ids_of, messages_of, reports_of, to_lines, view_of
from support.growing_files import expect_pieces_to_equal_the_whole, read_pieces, records_of
from support.log_trees import SESSIONS, make_log, to_bytes
from ullage.agents.claude_code.reader import FORMAT, Reader
from ullage.agents.gemini_cli import FORMAT as GEMINI
from ullage.agents.pi import FORMAT as PI
from ullage.agents.qwen_code import FORMAT as QWEN
from ullage.formats.parsing import parse_document
from ullage.formats.transcripts.builder import ImportedTranscript, TranscriptBuilder, kept_place
from ullage.formats.transcripts.format import Format
from ullage.model.events import MessageAppended
from ullage.model.message import Message, Role, TextBlock, ToolResultBlock
from ullage.transcript.fold import project

# An operation, and a number that chooses the place to go back to. "keep" is a compaction that keeps two messages.
OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["say", "say", "say", "compact", "keep", "go back"]), st.integers(0, 1_000)), max_size=30
)


@given(OPERATIONS)
def test_the_context_is_what_leads_to_the_last_place(operations: list[tuple[str, int]]) -> None:
    builder = TranscriptBuilder("made up", "test")
    builder.add(Role.SYSTEM, (TextBlock(text="be brief"),), "s")
    contexts: dict[str, tuple[str, ...]] = {"": ()}
    now = ""
    said: list[str] = []
    for number, (operation, choice) in enumerate(operations):
        if operation == "say":
            said.append(builder.add(Role.USER, (TextBlock(text=str(number)),), f"m{number}"))
            contexts[said[-1]] = (*contexts[now], said[-1])
            now = said[-1]
        elif operation == "compact" and now:
            builder.compact("what was said", f"c{number}")
            now = f"c{number}"
            contexts[now] = (f"c{number}-marker",)
        elif operation == "keep" and now:
            kept = tuple(message_id for message_id in contexts[now] if not message_id.endswith("-marker"))[-2:]
            builder.compact("what was said", f"c{number}", kept=kept)
            contexts[f"c{number}"] = (f"c{number}-marker",)
            for length, message_id in enumerate(kept, start=1):
                contexts[kept_place(f"c{number}", message_id)] = (f"c{number}-marker", *kept[:length])
            now = list(contexts)[-1]
        elif operation == "go back":
            now = list(contexts)[choice % len(contexts)]
            builder.rewind(now)
        assert builder.tip == now
    view = [message.id for message in project(builder.events) if message.role is not Role.SYSTEM]
    assert tuple(view) == contexts[now]
    in_transcript = [event.message.id for event in builder.events if isinstance(event, MessageAppended)]
    assert in_transcript == ["s", *said]


@given(OPERATIONS, st.integers(1, 5))
def test_events_drained_in_pieces_are_all_events(operations: list[tuple[str, int]], every: int) -> None:
    builder = TranscriptBuilder("made up", "test")
    drained = list(builder.drain())
    for number, (operation, _) in enumerate(operations):
        if operation == "go back":
            builder.rewind(f"m{number // 2}")
        else:
            builder.add(Role.USER, (TextBlock(text=str(number)),), f"m{number}")
        if number % every == 0:
            drained += builder.drain()
    drained += builder.drain()
    assert tuple(drained) == builder.events


TIME = "2026-05-01T10:00:00.000Z"
Steps = Sequence[tuple[str, int]]
# What happens, and a number that chooses the place to go back to or how much a compaction keeps.
STEPS = st.lists(
    st.tuples(st.sampled_from([*["say"] * 4, "go back", "compact", "repeat"]), st.integers(0, 1_000)), max_size=25
)


def expect(known: Format, lines: Sequence[Any], said: Sequence[str], context: Sequence[str], cut: int) -> None:
    records = records_of(known, parse_document(to_lines(*lines), "log.jsonl"))
    events = read_pieces(known, [records])
    assert [event.message.id for event in events if isinstance(event, MessageAppended)] == list(said)
    assert [message.id for message in project(events)] == list(context)
    expect_pieces_to_equal_the_whole(known, records, [cut % (len(records) + 1)])


@given(STEPS, st.integers(0, 1_000))
def test_a_tree_of_entries(steps: Steps, cut: int) -> None:
    lines: list[Any] = [{"type": "session", "version": 3, "id": "s", "timestamp": TIME, "cwd": "/w"}]
    contexts: dict[str | None, tuple[str, ...]] = {None: ()}
    tip: str | None = None
    said: list[str] = []

    def write(kind: str, entry_id: str, context: tuple[str, ...], **fields: Any) -> None:
        nonlocal tip
        lines.append({"type": kind, "id": entry_id, "parentId": tip, "timestamp": TIME} | fields)
        contexts[entry_id] = context
        tip = entry_id

    for number, (step, choice) in enumerate(steps):
        entry_id, now = f"e{number}", contexts[tip]
        if step == "say":
            write("message", entry_id, (*now, entry_id), message={"role": "user", "content": entry_id})
            said.append(entry_id)
        elif step == "go back":
            tip = list(contexts)[choice % len(contexts)]
        elif step == "repeat":
            write("label", entry_id, now, targetId="e0")
        elif now:
            kept = tuple(name for name in now if not name.endswith("-marker"))[-1 - choice % 3 :]
            first = kept[0] if kept else "none"
            write("compaction", entry_id, (f"{entry_id}-marker", *kept), summary="s", firstKeptEntryId=first)
    # The branch that a user goes to shows in the entry that is written there.
    write("message", "last", (*contexts[tip], "last"), message={"role": "user", "content": "last"})
    expect(PI, lines, [*said, "last"], contexts["last"], cut)


@given(STEPS, st.integers(0, 1_000))
@example([("say", 0), ("say", 0), ("go back", 1), ("compact", 0), ("say", 0), ("compact", 1)], 0)
def test_a_log_of_operations(steps: Steps, cut: int) -> None:
    lines: list[Any] = [{"sessionId": "s", "projectHash": "p", "kind": "main"}]
    # The log's id of each message of the context, its id in the transcript, and its text.
    context: list[tuple[str, str, str]] = []
    said: list[str] = []

    def message(log_id: str, text: str) -> dict[str, Any]:
        return {"id": log_id, "timestamp": TIME, "type": "user", "content": [{"text": text}]}

    for number, (step, choice) in enumerate(steps):
        if step == "say":
            name = f"u{number}"
            lines.append(message(name, f"text of {name}"))
            context.append((name, name, f"text of {name}"))
            said.append(name)
        elif step == "go back" and context:
            at = choice % len(context)
            lines.append({"$rewindTo": context[at][0]})
            del context[at:]
        elif step == "repeat":
            lines.append({"$set": {"messages": [message(log_id, text) for log_id, _, text in context]}})
        elif step == "compact" and context:
            kept = [held for held in context if not held[1].endswith("-marker")][-1 - choice % 3 :]
            renamed = [(f"n{number}-{log_id}", message_id, text) for log_id, message_id, text in kept]
            summary = (f"k{number}", f"k{number}-marker", f"<state_snapshot>{number}")
            context = [summary, *renamed]
            written = [message(log_id, text) for log_id, _, text in context]
            written.insert(1, message(f"a{number}", "Noted.") | {"type": "gemini"})
            lines.append({"$set": {"messages": written}})
    if said:
        expect(GEMINI, lines, said, [message_id for _, message_id, _ in context], cut)


Session = list[tuple[str, int, int]]


def name_of(message: Message) -> str:
    """Returns the name that a made-up log gives to a message: its id, or for results the id of their answer and r."""
    results = [block.tool_use_id for block in message.content if isinstance(block, ToolResultBlock)]
    return f"{results[0].rpartition('-')[0]}r" if results else message.id


def read(data: bytes) -> ImportedTranscript:
    return FORMAT.read(parse_document(data, "log"))


@given(SESSIONS)
def test_nothing_that_was_said_is_lost_or_read_twice(session: Session) -> None:
    log = make_log(session)
    assume(log.said)
    transcript = read(to_bytes(log.lines))
    assert Counter(map(name_of, messages_of(transcript))) == Counter(log.said)
    assert {skipped.reason for skipped in transcript.skipped if not skipped.expected} == set()
    assert {report.message_id: report.usage.total for report in reports_of(transcript)} == log.usages


# The user goes back over a compaction, or to another branch, and then compacts: it keeps what the present branch lacks.
@given(SESSIONS)
@example([("prompt", 0, 0), ("compaction", 0, 0), ("rewind", 0, 0), ("keep", 0, 0)])
@example([("prompt", 0, 0), ("prompt", 0, 0), ("rewind", 0, 0), ("prompt", 0, 0), ("rewind", 1, 0), ("keep", 0, 0)])
def test_the_context_is_the_branch_of_the_last_line(session: Session) -> None:
    log = make_log([*session, ("prompt", 0, 0)])
    view = [name_of(message) for message in view_of(read(to_bytes(log.lines)))]
    assert view == log.now.context


@given(SESSIONS, st.lists(st.integers(0, 200), max_size=4))
def test_a_log_read_while_it_grows_gives_the_events_of_the_whole_log(session: Session, cuts: list[int]) -> None:
    log = make_log(session)
    assume(log.said)
    document = parse_document(to_bytes(log.lines), "log")
    expect_pieces_to_equal_the_whole(FORMAT, records_of(FORMAT, document), cuts)


@given(SESSIONS)
def test_a_reading_of_a_beginning_is_a_beginning_of_the_reading(session: Session) -> None:
    log = make_log([("prompt", 0, 0), *session])
    document = parse_document(to_bytes(log.lines), "log")
    whole = FORMAT.read(document).events
    builder = TranscriptBuilder("claude-code", "log")
    reader = Reader(builder)
    for record in document.lines:
        reader.take(record)
        assert builder.events == whole[: len(builder.events)]


@given(SESSIONS)
def test_results_follow_their_calls(session: Session) -> None:
    log = make_log([("prompt", 0, 0), *session])
    before: list[Message] = []
    for message in messages_of(read(to_bytes(log.lines))):
        if any(isinstance(block, ToolResultBlock) for block in message.content):
            assert before[-1].role is Role.ASSISTANT
        before.append(message)


# What happens, and a number that chooses the place to go back to or how much a compaction keeps.
QWEN_STEPS = st.lists(
    st.tuples(
        st.sampled_from([*["prompt"] * 3, *["answer"] * 3, "call", "telemetry", "rewind", "branch", "compaction"]),
        st.integers(0, 1_000),
    ),
    max_size=30,
)


class Conversation:
    """A made-up session, with the messages that were said and the context that is expected."""

    def __init__(self, steps: Steps) -> None:
        self.records: list[dict[str, Any]] = []
        self.said: list[str] = []
        self.now: tuple[str | None, tuple[str, ...]] = (None, ())
        self._places: list[tuple[str | None, tuple[str, ...]]] = []
        self._contents: dict[str, dict[str, Any]] = {}
        for number, (step, choice) in enumerate(steps):
            self._take(step, f"n{number}", choice)

    def _take(self, step: str, uuid: str, choice: int) -> None:
        context = self.now[1]
        if step == "prompt":
            self._say("user", uuid, {"text": f"text of {uuid}"})
        elif step == "answer":
            usage = {"promptTokenCount": 10, "candidatesTokenCount": 1} if choice % 2 else {}
            self._say("assistant", uuid, {"text": f"text of {uuid}"}, usageMetadata=usage)
        elif step == "call":
            self._say("assistant", uuid, {"functionCall": {"id": uuid, "name": "read", "args": {}}})
            self._say("tool_result", f"{uuid}r", {"functionResponse": {"id": uuid, "name": "read", "response": {}}})
        elif step == "telemetry":
            self._write("system", uuid, context, subtype="ui_telemetry")
        elif step in ("rewind", "branch") and self._places:
            self.now = self._places[choice % len(self._places)]
            if step == "rewind":
                self._write("system", uuid, self.now[1], subtype="rewind")
        elif step == "compaction" and context:
            self._compact(uuid, choice)

    def _say(self, kind: str, uuid: str, part: dict[str, Any], **more: Any) -> None:
        role = "model" if kind == "assistant" else "user"
        self._contents[uuid] = {"role": role, "parts": [part]}
        self.said.append(uuid)
        self._write(kind, uuid, (*self.now[1], uuid), message=self._contents[uuid], **more)

    def _compact(self, uuid: str, choice: int) -> None:
        spoken = [message for message in self.now[1] if message in self._contents]
        waiting = len(spoken)
        while waiting and self._contents[spoken[waiting - 1]]["role"] == "user":
            waiting -= 1
        # What is kept begins with an answer without calls, so that no call is parted from its result.
        starts = [at for at in range(waiting) if "functionCall" not in str(self._contents[spoken[at]])]
        starts = [at for at in starts if "functionResponse" not in str(self._contents[spoken[at]])]
        start = starts[choice % len(starts)] if starts and choice % 3 else waiting
        summary = {"role": "user", "parts": [{"text": f"summary {uuid}"}]}
        acknowledgement = {"role": "model", "parts": [{"text": "Understood."}]}
        history = [summary, acknowledgement, *(self._contents[message] for message in spoken[start:waiting])]
        payload = {"info": {"compressionStatus": 1}, "compressedHistory": history}
        kept = tuple(spoken[start:])
        self._write("system", uuid, (f"{uuid}-marker", *kept), subtype="chat_compression", systemPayload=payload)

    def _write(self, kind: str, uuid: str, context: tuple[str, ...], **more: Any) -> None:
        record = {"type": kind, "uuid": uuid, "parentUuid": self.now[0], "sessionId": "s"}
        self.records.append(record | {"timestamp": f"2026-01-02T03:04:{len(self.records) % 60:02}Z"} | more)
        self.now = (uuid, context)
        self._places.append(self.now)


@given(QWEN_STEPS)
def test_nothing_that_was_said_is_lost_and_the_context_is_the_last_branch(steps: Steps) -> None:
    session = Conversation([*steps, ("prompt", 0)])
    transcript = QWEN.read(parse_document(to_lines(*session.records), "session"))
    assert ids_of(messages_of(transcript)) == session.said
    assert tuple(ids_of(view_of(transcript))) == session.now[1]
    assert [skipped for skipped in transcript.skipped if not skipped.expected] == []


@given(QWEN_STEPS, st.lists(st.integers(0, 100), max_size=4))
def test_a_session_read_while_it_grows_gives_the_events_of_the_whole_session(steps: Steps, cuts: list[int]) -> None:
    session = Conversation(steps)
    assume(session.said)
    document = parse_document(to_lines(*session.records), "session")
    expect_pieces_to_equal_the_whole(QWEN, records_of(QWEN, document), cuts)
