"""In logs of agents whose users can go back, the context is what leads to the last record, nothing that was said is
lost, and a growing log gives the events of the whole one."""

from collections.abc import Sequence
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from support.foreign import to_lines
from support.growing_files import expect_pieces_to_equal_the_whole, read_pieces, records_of
from ullage.agents.gemini_cli import FORMAT as GEMINI
from ullage.agents.pi import FORMAT as PI
from ullage.formats.parsing import parse_document
from ullage.formats.transcripts.format import Format
from ullage.model.events import MessageAppended
from ullage.transcript.fold import project

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
