"""Reading a session whose records form a tree and whose messages are contents of Google's API: nothing that was said is
lost, the context is the branch of the last record, and a growing file gives the events of the whole one."""

from collections.abc import Sequence
from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from support.foreign import ids_of, messages_of, to_lines, view_of
from support.growing_files import expect_pieces_to_equal_the_whole, records_of
from ullage.agents.qwen_code import FORMAT
from ullage.formats.parsing import parse_document

Steps = Sequence[tuple[str, int]]
# What happens, and a number that chooses the place to go back to or how much a compaction keeps.
STEPS = st.lists(
    st.tuples(
        st.sampled_from([*["prompt"] * 3, *["answer"] * 3, "call", "telemetry", "rewind", "branch", "compaction"]),
        st.integers(0, 1_000),
    ),
    max_size=30,
)


class Session:
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


@given(STEPS)
def test_nothing_that_was_said_is_lost_and_the_context_is_the_last_branch(steps: Steps) -> None:
    session = Session([*steps, ("prompt", 0)])
    transcript = FORMAT.read(parse_document(to_lines(*session.records), "session"))
    assert ids_of(messages_of(transcript)) == session.said
    assert tuple(ids_of(view_of(transcript))) == session.now[1]
    assert [skipped for skipped in transcript.skipped if not skipped.expected] == []


@given(STEPS, st.lists(st.integers(0, 100), max_size=4))
def test_a_session_read_while_it_grows_gives_the_events_of_the_whole_session(steps: Steps, cuts: list[int]) -> None:
    session = Session(steps)
    assume(session.said)
    document = parse_document(to_lines(*session.records), "session")
    expect_pieces_to_equal_the_whole(FORMAT, records_of(FORMAT, document), cuts)
