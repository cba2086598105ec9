"""What Ullage knows about OpenHands: where its conversations are, and how they are read.

A conversation (`~/.openhands/conversations/ID/`) is a JSON file for each event, and `base_state.json`. An answer with
several tool calls is several events with the same response id. The state holds the usage of each response; it is
written when a turn begins and ends. A condensation names the events that leave the context, and may put a summary at
some place among the others. (Events: OpenHands/software-agent-sdk, `sdk/event`.)
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from msgspec.structs import replace

from ullage.agents.agent import Agent, Facts, Sessions, beside, common_facts, first_prompt, in_folder
from ullage.agents.record_reader import LEFT_OUT, RecordReader
from ullage.formats.parsing import Document, as_count, as_timestamp, to_json, usage_in
from ullage.formats.transcripts.chat import call_block, read_parts, read_thinking, result_block
from ullage.formats.transcripts.format import ListedConversation, Records, choose, incremental, records_of
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text
from ullage.model.message import Block, ImageBlock, ResultPart, Role, TextBlock, ToolDefinition, ToolResultBlock


def _title_of(records: Sequence[JsonObject]) -> str:
    said = [as_object(record.get("llm_message")) for record in records if record.get("source") == "user"]
    return first_prompt(message.get("content") for message in said)


def _facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    state = as_object(next((record for record in records if "workspace" in record), None))
    model = as_text(as_object(as_object(state.get("agent")).get("llm")).get("model"))
    cwd = as_text(as_object(state.get("workspace")).get("working_dir"))
    return replace(common_facts(path, records), cwd=cwd, model=model, session_id=as_text(state.get("id")))


NAME = "openhands"
# Events about the program: the model is never sent them.
_OWN_EVENTS = {
    *("CondensationRequest", "ConversationErrorEvent", "ConversationStateUpdateEvent", "HookExecutionEvent"),
    *("InterruptEvent", "LLMCompletionLogEvent", "PauseEvent", "StreamingDeltaEvent", "TokenEvent"),
}


def _matches(document: Document) -> bool:
    value = as_object(document.value)
    return {"persistence_dir", "workspace", "agent"} <= value.keys() or any(map(_is_event, document.companions))


def _records(document: Document) -> Records:
    """Returns a record with a conversation's state, then its events in order. `document.run` chooses one of a folder of
    several conversations, by default the newest."""
    files: dict[str, list[Document]] = {}
    states = {
        _folder(file): as_object(file.value) for file in document.companions if file.name.endswith("base_state.json")
    }
    for file in document.companions:
        if _is_event(file):
            files.setdefault(_folder(file), []).append(file)
    folders = list(files)
    found = [
        ListedConversation(
            id=folder,
            updated=max(as_timestamp(as_object(file.value).get("timestamp")) for file in own),
            messages=len(own),
        )
        for folder, own in files.items()
    ]
    chosen, others = choose(found, document)
    folder = folders[chosen] if folders else ""
    state = as_object(document.value) or states.get(folder, {})
    events = [as_object(file.value) for file in sorted(files.get(folder, []), key=lambda file: file.name)]
    return records_of([{"state": state}, *events], others)


def _is_event(file: Document) -> bool:
    return PurePosixPath(file.name).name.startswith("event-") and "kind" in as_object(file.value)


def _folder(file: Document) -> str:
    path = PurePosixPath(file.name)
    return str(path.parent.parent if path.parent.name == "events" else path.parent)


class OpenHandsReader(RecordReader):
    """Reads one conversation of OpenHands. The calls of an answer are held back until another event follows."""

    agent = "OpenHands"

    def _begin(self) -> None:
        # The events in the context: the id of each, and of the message that it is a part of ("" for the system prompt).
        self._shown: list[tuple[str, str]] = []
        self._calls: list[JsonObject] = []
        # By response id: the usages that the state holds, how many of them were reported, and the answers without one.
        self._usages: dict[str, list[JsonObject]] = {}
        self._reported: Counter[str] = Counter()
        self._waiting: list[tuple[str, str]] = []
        self._prompt = ""

    def _read(self, value: JsonObject, number: int) -> None:
        if "state" in value:
            self._take_state(as_object(value.get("state")))
            return
        response = value.get("llm_response_id")
        if value.get("kind") == "ActionEvent":
            if self._calls and self._calls[0].get("llm_response_id") != response:
                self._flush()
            self._calls.append(value)
            return
        self._flush()
        self._take_event(value, number)

    def _take_state(self, state: JsonObject) -> None:
        builder = self._builder
        builder.session_id = as_text(state.get("id")) or builder.session_id
        builder.cwd = as_text(as_object(state.get("workspace")).get("working_dir")) or builder.cwd
        builder.use_model(as_text(as_object(as_object(state.get("agent")).get("llm")).get("model")))
        self._usages = {}
        for metrics in as_object(as_object(state.get("stats")).get("usage_to_metrics")).values():
            for usage in as_objects(as_object(metrics).get("token_usages")):
                self._usages.setdefault(as_text(usage.get("response_id")), []).append(usage)
        self._waiting = [answer for answer in self._waiting if not self._report(*answer)]

    def _take_event(self, event: JsonObject, number: int) -> None:
        builder, kind, timestamp = self._builder, as_text(event.get("kind")), as_timestamp(event.get("timestamp"))
        match kind:
            case "SystemPromptEvent":
                self._add_prompt(event, timestamp)
            case "MessageEvent":
                message = as_object(event.get("llm_message"))
                role = Role.ASSISTANT if message.get("role") == "assistant" else Role.USER
                said = [*read_parts(message.get("content")), *read_parts(event.get("extended_content"))]
                self._add(role, [*read_thinking(message), *said], [event], timestamp)
            case "ObservationEvent" | "AgentErrorEvent" | "UserRejectObservation":
                self._add(Role.USER, [_read_result(event)], [event], timestamp)
            case "Condensation":
                self._condense(event, timestamp)
            case _:
                builder.skip(number, f"{kind} event", expected=kind in _OWN_EVENTS)

    def _flush(self) -> None:
        calls, self._calls = self._calls, []
        if calls:
            content = [block for call in calls for block in _read_call(call)]
            self._add(Role.ASSISTANT, content, calls, as_timestamp(calls[0].get("timestamp")))

    def _add(self, role: Role, content: list[Block], events: list[JsonObject], timestamp: int) -> None:
        ids = [as_text(event.get("id")) for event in events]
        response = as_text(events[0].get("llm_response_id"))
        message_id = self._builder.add(role, content, ids[0], timestamp)
        self._shown += [(event_id, message_id) for event_id in ids]
        if role is Role.ASSISTANT and response and not self._report(response, message_id):
            self._waiting.append((response, message_id))

    def _report(self, response: str, message_id: str) -> bool:
        new = self._usages.get(response, [])[self._reported[response] :]
        if not new:
            return False
        self._reported[response] += 1
        names = ("prompt_tokens", "completion_tokens", "cache_read_tokens", "cache_write_tokens")
        self._builder.report(usage_in(new[0], *names), message_id)
        if window := as_count(new[0].get("context_window")):
            self._builder.window(window)
        return True

    def _add_prompt(self, event: JsonObject, timestamp: int) -> None:
        parts = [as_object(event.get("system_prompt")), as_object(event.get("dynamic_context"))]
        text = "\n\n".join(as_text(part.get("text")) for part in parts if part.get("text"))
        tools = as_objects(event.get("tools"))
        named = [
            (as_text(tool.get("name")) or as_text(tool.get("title")), as_text(tool.get("description")))
            for tool in tools
        ]
        self._builder.declare([ToolDefinition(name=name, description=about) for name, about in named if name])
        # A resumed conversation has the same prompt again.
        if text and text != self._prompt:
            self._prompt = text
            self._builder.add(Role.SYSTEM, [TextBlock(text=text)], as_text(event.get("id")), timestamp)
        self._shown.append((as_text(event.get("id")), ""))

    def _condense(self, event: JsonObject, timestamp: int) -> None:
        forgotten = {as_text(name) for name in as_list(event.get("forgotten_event_ids"))}
        stays = [shown for shown in self._shown if shown[0] not in forgotten]
        summary, offset = as_text(event.get("summary")), as_count(event.get("summary_offset"))
        leading, kept = _message_ids(stays[:offset]), _message_ids(stays[offset:])
        if summary:
            kept = [message_id for message_id in kept if message_id not in leading]
            self._builder.compact(summary, as_text(event.get("id")), timestamp, leading=leading, kept=kept)
        else:
            gone = [known for known in _message_ids(self._shown) if known not in {*leading, *kept}]
            self._builder.drop(gone, LEFT_OUT, timestamp)
        self._shown = stays


def _message_ids(shown: list[tuple[str, str]]) -> list[str]:
    return list(dict.fromkeys(message_id for _, message_id in shown if message_id))


def _read_call(event: JsonObject) -> list[Block]:
    call = as_object(event.get("tool_call"))
    name = as_text(call.get("name")) or as_text(event.get("tool_name"))
    call_id = as_text(event.get("tool_call_id")) or as_text(call.get("id"))
    use = call_block(call_id, name, call.get("arguments"))
    return [*read_thinking(event), *read_parts(event.get("thought")), use]


def _read_result(event: JsonObject) -> ToolResultBlock:
    observation = as_object(event.get("observation"))
    refused = as_text(event.get("error")) or as_text(event.get("rejection_reason"))
    parts = read_parts(refused) or _read_observation(observation)
    failed = bool(refused) or observation.get("is_error") is True
    return result_block(event.get("tool_call_id"), [*parts, *read_parts(event.get("extended_content"))], failed=failed)


def _read_observation(observation: JsonObject) -> list[ResultPart]:
    """Converts a tool's result to blocks. A terminal's result is sent between the texts of `metadata`'s `prefix` and
    `suffix`."""
    content: Any = observation.get("content", observation.get("output"))
    parts: list[ResultPart] = []
    for part in as_list(content):
        urls = as_list(as_object(part).get("image_urls"))
        parts += [ImageBlock(url=as_text(urls[0]))] if urls else read_parts([part])
    parts = parts or list(read_parts(content or to_json(observation)))
    around = as_object(observation.get("metadata"))
    before, after = as_text(around.get("prefix")), as_text(around.get("suffix"))
    return [*read_parts(before), *parts, *read_parts(after.strip())]


FORMAT = incremental(NAME, _matches, OpenHandsReader, _records, reads_folders=True)

AGENT = Agent(
    name="OpenHands",
    formats=(FORMAT,),
    companions=beside("/base_state.json", "events/event-*.json"),
    sessions=Sessions(
        patterns=in_folder("", ".openhands", "conversations/*/base_state.json"),
        title_of=_title_of,
        facts=_facts_of,
        # The first four events contain the first prompt.
        fact_files=beside("/base_state.json", "events/event-0000[0-3]-*.json"),
    ),
)
