from typing import Any

from msgspec.structs import replace

from support.foreign import messages_of
from support.growing_files import expect_every_split_to_read_alike, read_pieces
from ullage.agents.openhands import FORMAT
from ullage.agents.transcripts import companions_of, read_document
from ullage.formats.parsing import Document, Line
from ullage.model.events import UsageReported

TIME = "2026-09-21T10:00:00.123456"


def event(kind: str, event_id: str, source: str = "environment", **fields: Any) -> dict[str, Any]:
    return {"kind": kind, "id": event_id, "timestamp": TIME, "source": source} | fields


def said(event_id: str, role: str, words: str, **more: Any) -> dict[str, Any]:
    message = {"role": role, "content": [{"type": "text", "text": words}], "thinking_blocks": []}
    return event("MessageEvent", event_id, "user" if role == "user" else "agent", llm_message=message, **more)


def action(event_id: str, call: str, response: str, **more: Any) -> dict[str, Any]:
    tool_call = {"id": call, "name": "terminal", "arguments": '{"command": "ls"}'}
    fields = {"tool_name": "terminal", "tool_call_id": call, "tool_call": tool_call, "llm_response_id": response}
    return event("ActionEvent", event_id, "agent", thought=[], **fields, **more)


def observed(event_id: str, call: str, words: str = "two files", **more: Any) -> dict[str, Any]:
    observation = {"content": [{"type": "text", "text": words}], "is_error": False} | more
    return event("ObservationEvent", event_id, tool_call_id=call, observation=observation)


def state(**usages: int) -> dict[str, Any]:
    counts = [
        {
            "response_id": name,
            "prompt_tokens": prompt,
            "completion_tokens": 9,
            "cache_read_tokens": 50,
            "context_window": 99_000,
        }
        for name, prompt in usages.items()
    ]
    return {
        "id": "c-1",
        "agent": {"llm": {"model": "m1"}},
        "workspace": {"working_dir": "/home/ann"},
        "persistence_dir": "/home/ann/.openhands/conversations/c1",
        "stats": {"usage_to_metrics": {"agent": {"token_usages": counts}, "condenser": {"token_usages": []}}},
    }


PROMPT = event(
    "SystemPromptEvent", "s", "agent", system_prompt={"text": "Be brief."}, dynamic_context={"text": "In /home."}
)
TURN = [
    PROMPT,
    said("u1", "user", "list"),
    action("a1", "t1", "r1", reasoning_content="look"),
    action("a2", "t2", "r1"),
    observed("o1", "t1", metadata={"prefix": "", "suffix": "\n[exit code 0]"}),
    event("AgentErrorEvent", "o2", tool_call_id="t2", error="no such tool"),
    said("a3", "assistant", "Two.", llm_response_id="r2"),
]


def folder(events: list[dict[str, Any]], place: str = "", about: dict[str, Any] | None = None) -> Document:
    files = [Document(name=f"{place}base_state.json", value=about or state(r1=100, r2=200))]
    for number, value in enumerate(events):
        files.append(Document(name=f"{place}events/event-{number:05d}-{value['id']}.json", value=value))
    return Document(name="/home/ann/.openhands/conversations", companions=tuple(files))


def test_a_state_that_is_written_later_brings_the_usage_then() -> None:
    lines = [Line(number=at, value=value) for at, value in enumerate([{"state": state()}, *TURN])]
    late = Line(number=99, value={"state": state(r1=100, r2=200)})
    events = read_pieces(FORMAT, [lines, [late, late]])
    totals = [event.usage.total for event in events if isinstance(event, UsageReported)]
    assert totals == [109, 209]


def test_a_folder_of_conversations_gives_the_newest_and_names_the_others() -> None:
    old = [{**value, "timestamp": "2026-09-01T10:00:00"} for value in TURN]
    first, second = folder(old, "0a/", state(r1=1) | {"id": "old"}), folder(TURN[:2], "0b/", state() | {"id": "new"})
    both = replace(first, companions=(*first.companions, *second.companions))
    transcript = read_document(both)
    assert transcript.session_id == "new"
    assert [skipped.reason for skipped in transcript.skipped] == ["another conversation: 0a"]
    assert read_document(replace(both, run=1)).session_id == "old"


def test_a_state_brings_the_events_next_to_it() -> None:
    assert companions_of("/home/ann/.openhands/conversations/c1/base_state.json") == ("events/event-*.json",)
    held = folder(TURN)
    alone = replace(held, value=held.companions[0].value, companions=held.companions[1:])
    assert messages_of(read_document(alone)) == messages_of(read_document(held))


def test_a_conversation_reads_alike_in_every_two_pieces() -> None:
    summed = event(
        "Condensation", "k1", summary="Two.", summary_offset=1, forgotten_event_ids=["u1"], llm_response_id="r9"
    )
    expect_every_split_to_read_alike(FORMAT, folder([*TURN, summed, said("u2", "user", "on")]))
