"""Writes a session that Codex resumes with `codex resume ID`.

The file is a rollout: `session_meta`, then the items that the model is sent. Codex adds its own instructions and the
`environment_context` at every resume, so these are left out. A `compacted` record holds the summary. It replaces all
messages before it. Events repeat the messages, because the screen shows only events; one `token_count` says how full
the context is, by which Codex decides whether to compact before the next request.

Reasoning is left out: Codex keeps it encrypted for the account and the model that wrote it, and a summary of it alone
is refused by the provider.

A call that Codex does not offer keeps its name. Codex and its provider check that a call has a result, and not that the
tool is offered, so what another agent did stays readable as calls of that agent's tools.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from ullage.agents.codex.rollout import is_added_again
from ullage.agents.machine import Machine
from ullage.agents.new_session import NewSession, SessionWriter, as_said, moment, summary_text
from ullage.formats.parsing import clean_text
from ullage.formats.provider import write_turn
from ullage.formats.transcripts.chat import read_arguments
from ullage.formats.turns import Turn, pair_turns, without_documents
from ullage.formats.verbatim import RESPONSES
from ullage.model.json_values import JsonObject, as_text
from ullage.model.message import Role, ToolResultBlock, ToolUseBlock, join_texts

# A version is required. It is that of the format that is written here.
_FORMAT_VERSION = "0.169.0"


def _path(machine: Machine, session: NewSession) -> str:
    """Returns the path of a session's file: in the folder of the day on which it was made, in UTC."""
    made = datetime.fromtimestamp(session.made_at // 1000, UTC)
    home = machine.folder("CODEX_HOME", ".codex")
    return f"{home}/sessions/{made:%Y/%m/%d}/rollout-{made:%Y-%m-%dT%H-%M-%S}-{session.id}.jsonl"


# All versions whose resumed sessions were tried are of one major version: 0.166 and 0.169.
WRITER = SessionWriter(
    lines=lambda session: [*_lines(session)],
    path=_path,
    words=("codex", "resume"),
    latest=0,
    is_repeated=is_added_again,
    keeps_reasoning=False,
)


def _lines(session: NewSession) -> Iterator[JsonObject]:
    """Yields the lines of a session's file. Each tool call has its result: without one it gets a result that says so,
    and a result without a call becomes text."""
    made = moment(session.made_at)
    version = session.version or _FORMAT_VERSION
    facts = {"id": session.id, "timestamp": made, "cwd": session.cwd, "originator": "codex_cli_rs"}
    model = {"model": session.model} if session.model else {}
    yield _line(made, "session_meta", {**facts, "cli_version": version, "source": "cli", **model})
    marked = session.messages[0].compaction if session.messages else None
    if marked:
        text = clean_text(summary_text(marked))
        said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        yield _line(made, "compacted", {"message": text, "replacement_history": [said]})
    if session.title:
        name = clean_text(session.title)
        yield _event(made, "thread_name_updated", thread_id=session.id, thread_name=name)
    rest = [as_said(message) for message in session.messages[bool(marked) :] if not WRITER.is_own(message)]
    turns = pair_turns(without_documents(rest), RESPONSES, thinking=False).turns
    last = max((at for at, turn in enumerate(turns) if turn.role is Role.ASSISTANT), default=-1)
    # The names of the calls whose input is text alone. Codex drops a result whose kind is not that of its call.
    texts: set[str] = set()
    for at, turn in enumerate(turns):
        time = moment(turn.timestamp) if turn.timestamp else made
        yield from _turn(turn, time, texts)
        if at == last and session.used:
            yield _event(made, "token_count", info=_usage(session), rate_limits=None)


def _turn(turn: Turn, time: str, texts: set[str]) -> Iterator[JsonObject]:
    texts |= {block.id for block in turn.content if isinstance(block, ToolUseBlock) and _text_input(block.input)}
    for item in write_turn(turn):
        yield _line(time, "response_item", _own_kind(item, texts))
    said = join_texts(block for block in turn.content if not isinstance(block, ToolUseBlock | ToolResultBlock))
    if said:
        kind = "agent_message" if turn.role is Role.ASSISTANT else "user_message"
        yield _event(time, kind, message=said)


def _own_kind(item: JsonObject, texts: set[str]) -> JsonObject:
    """Returns an item as Codex writes it: a call whose input is no JSON object is a custom one, such as a patch."""
    if item.get("call_id") not in texts:
        return item
    if item["type"] == "function_call_output":
        return {**item, "type": "custom_tool_call_output"}
    text = _text_input(read_arguments(item["arguments"]))
    return {"type": "custom_tool_call", "call_id": item["call_id"], "name": item["name"], "input": text}


def _text_input(value: JsonObject) -> str:
    """Returns the text from which `read_arguments` made an input; "" if it was made from a JSON object."""
    text = as_text(value.get("arguments")) if len(value) == 1 else ""
    return text if text and read_arguments(text) == value else ""


def _usage(session: NewSession) -> JsonObject:
    # The new session has spent nothing yet. Only the last usage says how full the context is.
    nothing = dict.fromkeys(
        ("input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens", "total_tokens"), 0
    )
    last = {**nothing, "input_tokens": session.used, "total_tokens": session.used}
    return {"total_token_usage": nothing, "last_token_usage": last, "model_context_window": session.window}


def _event(time: str, kind: str, **values: Any) -> JsonObject:
    return _line(time, "event_msg", {"type": kind, **values})


def _line(time: str, kind: str, payload: JsonObject) -> JsonObject:
    return {"timestamp": time, "type": kind, "payload": payload}
