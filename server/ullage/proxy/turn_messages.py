"""Turns the updates of a prompt turn into messages: texts, tool calls, and what a terminal shows in place of a result.

Pure: the messages get their ids and times later.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from ullage.agents.acp import tool_name
from ullage.agents.tools import (
    ACP_KINDS,
    COMMAND_KEYS,
    FILE_ACTIONS,
    Action,
    action_of,
    canonical_name,
    paths_of,
    value_of,
)
from ullage.api.session_methods import read_block
from ullage.model.json_values import as_list, as_object, as_objects, as_text, is_too_deep
from ullage.model.message import Block, Message, Role, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock

# Characters after which the text so far becomes a message, although more may come, so that memory stays bounded.
_LONGEST = 1 << 20
_ENDED = {"completed": False, "failed": True}
# Where agents put the next piece of a command's output for a client that has said, in `_meta` of its capabilities, that
# it draws terminals itself.
_OUTPUTS = ("terminal_output", "terminal_output_delta")


def block_of(content: dict[str, Any]) -> Block:
    """Converts an ACP content block into a block of a message. A block of an unknown kind becomes text with the kind's
    name, for example `[audio]`."""
    return read_block(content) or TextBlock(text=f"[{content.get('type')}]")


def prompt_message(prompt: Any) -> Message:
    """Returns a user message with a prompt's content blocks. Its id is ""."""
    return Message(id="", role=Role.USER, content=tuple(block_of(content) for content in as_objects(prompt)))


class _Blocks:
    """Collects the blocks of one message. Pieces of text that follow each other become one block. `length` counts
    characters."""

    def __init__(self) -> None:
        self.length = 0
        self._blocks: list[Block] = []
        self._pieces: list[str] = []
        self._thinks = False

    def add(self, block: Block) -> None:
        match block:
            case TextBlock(text=text):
                self._add_text(text, thinks=False)
            case ThinkingBlock(thinking=text):
                self._add_text(text, thinks=True)
            case _:
                self._join()
                self._blocks.append(block)
                self.length += 1

    def take(self) -> tuple[Block, ...]:
        """Returns the collected blocks and starts with no blocks."""
        self._join()
        blocks = tuple(self._blocks)
        self._blocks.clear()
        self.length = 0
        return blocks

    def _add_text(self, text: str, *, thinks: bool) -> None:
        if thinks != self._thinks:
            self._join()
        self._thinks = thinks
        self._pieces.append(text)
        self.length += len(text)

    def _join(self) -> None:
        text = "".join(self._pieces)
        if text:
            self._blocks.append(ThinkingBlock(thinking=text) if self._thinks else TextBlock(text=text))
        self._pieces.clear()


class Turn:
    """Turns session updates into messages, which have no ids yet, as soon as each is complete.

    An answer with its tool calls is one message, and the results of the calls are the next, as providers require.
    """

    def __init__(self) -> None:
        self._prompt = _Blocks()
        self._text = _Blocks()
        self._calls: dict[str, CallState] = {}
        # The pieces of output of each terminal, by its id: the agent runs the command and sends them in `_meta` of the
        # tool call's updates, or the client runs it and answers the agent's `terminal/output`.
        self._terminals: dict[str, list[str]] = {}

    def take(self, update: dict[str, Any]) -> Iterator[Message]:
        """Takes one session update. Yields the messages that it completes."""
        match update.get("sessionUpdate"):
            case "user_message_chunk":
                if self._text.length or self._calls:
                    yield from self.end()
                self._prompt.add(block_of(as_object(update.get("content"))))
            case "agent_message_chunk":
                yield from self._answer(block_of(as_object(update.get("content"))))
            case "agent_thought_chunk":
                thought = as_text(as_object(update.get("content")).get("text"))
                yield from self._answer(ThinkingBlock(thinking=thought))
            case "tool_call" | "tool_call_update":
                yield from self._take_prompt()
                call_id = as_text(update.get("toolCallId"))
                if call_id not in self._calls and self._is_round_over():
                    yield from self.end()
                known = self._calls.get(call_id, CallState(id=call_id, fields={}))
                self._calls[call_id] = known.with_update(update)
                meta = as_object(update.get("_meta"))
                for piece in (as_object(meta.get(name)) for name in _OUTPUTS):
                    if data := as_text(piece.get("data")):
                        self._terminals.setdefault(as_text(piece.get("terminal_id")), []).append(data)
            case _:
                pass

    def show_terminal(self, terminal_id: str, output: str) -> None:
        """Stores what a terminal of the client's shows now, in place of what it showed before, for the tool calls that
        refer to it."""
        self._terminals[terminal_id] = [output]

    def end(self) -> Iterator[Message]:
        """Ends the turn. Yields its remaining messages."""
        yield from self._take_prompt()
        uses = tuple(call.use() for call in self._calls.values())
        if content := (*self._text.take(), *uses):
            yield Message(id="", role=Role.ASSISTANT, content=content)
        if uses:
            results = tuple(call.result(self._terminals) for call in self._calls.values())
            yield Message(id="", role=Role.USER, content=results)
        self._calls.clear()
        self._terminals.clear()

    def _take_prompt(self) -> Iterator[Message]:
        if content := self._prompt.take():
            yield Message(id="", role=Role.USER, content=content)

    def _answer(self, block: Block) -> Iterator[Message]:
        """Adds a block to the answer. If all tool calls of the answer have results, the block begins a new message.
        Yields the messages that are complete."""
        yield from self._take_prompt()
        if self._is_round_over() or (self._text.length > _LONGEST and not self._calls):
            yield from self.end()
        self._text.add(block)

    def _is_round_over(self) -> bool:
        return bool(self._calls) and all(call.ended for call in self._calls.values())


class CallState(Struct, frozen=True, kw_only=True):
    """A tool call as far as its updates have reported it. `fields` has the fields of its updates; later ones replace
    earlier ones."""

    id: str
    fields: Mapping[str, Any]

    def with_update(self, update: Mapping[str, Any]) -> "CallState":
        """Returns the tool call after one more update. Fields that are missing or null in the update keep their
        values."""
        return CallState(
            id=self.id, fields={**self.fields, **{key: value for key, value in update.items() if value is not None}}
        )

    @property
    def ended(self) -> bool:
        """Whether the tool call is completed or failed, so that its result is complete."""
        return self.fields.get("status") in _ENDED

    def use(self) -> ToolUseBlock:
        return ToolUseBlock(id=self.id, name=self._name(), input=self._input())

    def result(self, terminals: Mapping[str, Sequence[str]]) -> ToolResultBlock:
        """Returns the tool call's result as a tool result block. `terminals` has the output of commands that the call
        only refers to, by the terminal's id.

        A tool call that has not ended gets an error result with the output so far.
        """
        text = self._output(terminals)
        if not text and not self.ended:
            text = "(no result: the turn ended first)"
        failed = _ENDED.get(as_text(self.fields.get("status")), True)
        return ToolResultBlock(tool_use_id=self.id, content=(TextBlock(text=text),) if text else (), is_error=failed)

    def _name(self) -> str:
        """Returns the tool's own name, or a standard name for the kind of call.

        The standard name is used if the agent gives no name, and for a file action under a name that Ullage doesn't
        know. Without a name and a known kind, the call's title is returned, or `tool`.
        """
        own, action = tool_name(self.fields), self._action()
        if own and (action not in FILE_ACTIONS or action_of(own, self._bounded_input()) is not None):
            return own
        return canonical_name(action) if action else own or as_text(self.fields.get("title")) or "tool"

    def _action(self) -> Action | None:
        return ACP_KINDS.get(as_text(self.fields.get("kind")))

    def _bounded_input(self) -> dict[str, Any]:
        given = dict(as_object(self.fields.get("rawInput")))
        return {"rawInput": "[nested too deeply]"} if is_too_deep(given) else given

    def _input(self) -> dict[str, Any]:
        given = self._bounded_input()
        paths = [as_text(place.get("path")) for place in as_objects(self.fields.get("locations"))]
        paths += [as_text(diff.get("path")) for diff in self._diffs()]
        if not paths_of(given) and any(paths):
            given["path"] = next(path for path in paths if path)
        if self._action() is Action.RUN and not value_of(given, COMMAND_KEYS):
            given["command"] = as_text(self.fields.get("title")).strip("`")
        return given or {"title": as_text(self.fields.get("title"))}

    def _diffs(self) -> list[dict[str, Any]]:
        return [part for part in as_objects(self.fields.get("content")) if part.get("type") == "diff"]

    def _output(self, terminals: Mapping[str, Sequence[str]]) -> str:
        content = as_objects(self.fields.get("content"))
        shown = [as_text(as_object(part.get("content")).get("text")) for part in content]
        named = [as_text(part.get("terminalId")) for part in content if part.get("type") == "terminal"]
        # Some agents give the terminal the id of the call, and don't show it.
        shown += ["".join(terminals.get(terminal, ())) for terminal in dict.fromkeys((*named, self.id))]
        shown += [f"{as_text(diff.get('path'))}:\n{as_text(diff.get('newText'))}" for diff in self._diffs()]
        if text := "\n".join(part for part in shown if part):
            return text
        raw = self.fields.get("rawOutput")
        return as_text(raw) or (msgspec.json.encode(raw).decode() if raw or as_list(raw) else "")
