"""A prompt turn as it is told, chunk by chunk, folded into messages. Pure; ids and times come later."""

from collections.abc import Iterator
from typing import Any

from ullage.acp.proxy.content import block_of
from ullage.acp.proxy.tool_calls import CallState
from ullage.model.blocks import Block, TextBlock, ThinkingBlock
from ullage.model.json_values import as_object, as_text
from ullage.model.message import Message, Role


class Turn:
    """Messages come out, without ids, as soon as they are whole: an answer with its tool calls, then their results, as
    providers want them. What a turn says is kept only until then."""

    def __init__(self) -> None:
        self._asked: list[Block] = []
        self._said: list[Block] = []
        self._calls: dict[str, CallState] = {}

    def take(self, update: dict[str, Any]) -> Iterator[Message]:
        """Takes an update in; the messages that it completes."""
        match update.get("sessionUpdate"):
            case "user_message_chunk":
                yield from self.end() if self._said or self._calls else ()
                _join(self._asked, block_of(as_object(update.get("content"))))
            case "agent_message_chunk":
                yield from self._answer()
                _join(self._said, block_of(as_object(update.get("content"))))
            case "agent_thought_chunk":
                yield from self._answer()
                thought = as_text(as_object(update.get("content")).get("text"))
                _join(self._said, ThinkingBlock(thinking=thought))
            case "tool_call" | "tool_call_update":
                yield from self._question()
                call_id = as_text(update.get("toolCallId"))
                known = self._calls.get(call_id, CallState(id=call_id, told={}))
                self._calls[call_id] = known.with_update(update)
            case _:
                pass

    def end(self) -> Iterator[Message]:
        """The turn is over; whatever is left of it."""
        yield from self._question()
        if self._said or self._calls:
            uses = tuple(call.use() for call in self._calls.values())
            yield Message(id="", role=Role.ASSISTANT, content=(*self._said, *uses))
        if self._calls:
            results = tuple(call.result() for call in self._calls.values())
            yield Message(id="", role=Role.USER, content=results)
        self._said.clear()
        self._calls.clear()

    def _question(self) -> Iterator[Message]:
        if self._asked:
            yield Message(id="", role=Role.USER, content=tuple(self._asked))
            self._asked.clear()

    def _answer(self) -> Iterator[Message]:
        """What comes now is said after the results of all calls so far."""
        yield from self._question()
        if self._calls and all(call.ended for call in self._calls.values()):
            yield from self.end()


def _join(blocks: list[Block], block: Block) -> None:
    """Adds a block; a piece of text goes on with the text before it."""
    match (blocks[-1] if blocks else None), block:
        case TextBlock(text=before), TextBlock(text=text):
            blocks[-1] = TextBlock(text=before + text)
        case ThinkingBlock(thinking=before), ThinkingBlock(thinking=text):
            blocks[-1] = ThinkingBlock(thinking=before + text)
        case _:
            blocks.append(block)
