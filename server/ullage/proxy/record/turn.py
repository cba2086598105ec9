"""Turns the updates of a prompt turn into messages. Pure: the messages get their ids and times later."""

from collections.abc import Iterator
from typing import Any

from ullage.model.blocks import Block, ImageBlock, ResourceBlock, TextBlock, ThinkingBlock
from ullage.model.json_values import as_object, as_objects, as_text
from ullage.model.message import Message, Role
from ullage.proxy.record.terminals import Terminals
from ullage.proxy.record.tool_calls import CallState

# Characters after which the text so far becomes a message, although more may come, so that memory stays bounded.
_LONGEST = 1 << 20


def block_of(content: dict[str, Any]) -> Block:
    """Converts an ACP content block into a block of a message. A block of an unknown kind becomes text with the kind's
    name, for example `[audio]`."""
    match content.get("type"):
        case "text":
            return TextBlock(text=as_text(content.get("text")))
        case "image":
            return ImageBlock(
                media_type=as_text(content.get("mimeType")) or "image/png", data=as_text(content.get("data"))
            )
        case "resource_link":
            return ResourceBlock(uri=as_text(content.get("uri")))
        case "resource":
            resource = as_object(content.get("resource"))
            text = resource.get("text")
            return ResourceBlock(
                uri=as_text(resource.get("uri")),
                text=text if isinstance(text, str) else None,
                mime_type=as_text(resource.get("mimeType")) or None,
                data=as_text(resource.get("blob")) or None,
            )
        case kind:
            return TextBlock(text=f"[{kind}]")


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
        self._terminals = Terminals()

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
                self._terminals.take(update)
            case _:
                pass

    def show_terminal(self, terminal_id: str, output: str) -> None:
        """Stores what a terminal of the client's shows, for the tool calls that refer to it."""
        self._terminals.show(terminal_id, output)

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
        """Returns whether there are calls and all of them have ended."""
        return bool(self._calls) and all(call.ended for call in self._calls.values())
