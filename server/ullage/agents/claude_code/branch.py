"""Finds the lines of a Claude Code log that make up the conversation.

Each line names its parent, so the lines form a tree. After a rewind the tree has an abandoned branch. A resumed session
copies its history under new ids. The calls of one answer are siblings in the tree, each with its result. Therefore the
conversation is the chain of parents from the last message up to a root, with all lines of the same answers and the
results of their calls.
"""

from collections.abc import Sequence

from msgspec import Struct

from ullage.model.json_values import JsonObject, as_object, as_objects, as_text


class Entry(Struct, frozen=True, kw_only=True):
    """A line of the log that belongs to the tree.

    `number` is the line number, counted from 1; `value` is the parsed line.
    """

    number: int
    value: JsonObject

    @property
    def kind(self) -> str:
        """The line's type: `user`, `assistant`, `system`, `progress` and others."""
        return as_text(self.value.get("type"))

    @property
    def is_message(self) -> bool:
        """Whether the line is a message of the main conversation, not of a sub-agent's."""
        return self.kind in ("user", "assistant") and self.value.get("isSidechain") is not True

    @property
    def answer_id(self) -> str:
        """The provider's id of the answer that an assistant line is a part of; empty for other lines."""
        return as_text(as_object(self.value.get("message")).get("id")) if self.kind == "assistant" else ""

    @property
    def blocks(self) -> list[JsonObject]:
        """The message's content blocks; empty if its content is not a list."""
        return as_objects(as_object(self.value.get("message")).get("content"))

    @property
    def call_ids(self) -> list[str]:
        """The ids of the tool calls that the line contains."""
        return [as_text(block.get("id")) for block in self.blocks if block.get("type") == "tool_use"]

    @property
    def result_ids(self) -> list[str]:
        """The ids of the tool calls whose results the line contains."""
        return [as_text(block.get("tool_use_id")) for block in self.blocks if block.get("type") == "tool_result"]


class Branch(Struct, frozen=True, kw_only=True):
    """The lines of the log that belong to one conversation.

    `chain` follows the parent references from the last line to the first, and is stored oldest first. The log may write
    one answer as several lines, each with results of its tool calls; `siblings` are the lines of such answers and
    results that are not in `chain`, in the order of the file.
    """

    chain: tuple[Entry, ...]
    siblings: tuple[Entry, ...]


def find_branch(entries: Sequence[Entry]) -> Branch:
    """Returns the conversation that the log's last message belongs to. `entries` must contain at least one message."""
    messages = [entry for entry in entries if entry.is_message]
    if not any(entry.value.get("parentUuid") for entry in messages):
        return Branch(chain=tuple(messages), siblings=())
    chain = _climb(entries, messages)
    in_chain = {entry.number for entry in chain}
    answers = {entry.answer_id for entry in chain if entry.answer_id}
    answered = {call for entry in chain for call in entry.result_ids}
    others = [entry for entry in messages if entry.number not in in_chain]
    same_answer = [entry for entry in others if entry.answer_id in answers]
    calls = {call for entry in [*chain, *same_answer] for call in entry.call_ids} - answered
    results = [entry for entry in others if calls.intersection(entry.result_ids)]
    siblings = sorted([*same_answer, *results], key=lambda entry: entry.number)
    return Branch(chain=tuple(chain), siblings=tuple(siblings))


def _climb(entries: Sequence[Entry], messages: Sequence[Entry]) -> list[Entry]:
    by_id = {as_text(entry.value.get("uuid")): entry for entry in entries if entry.value.get("uuid")}
    chain: list[Entry] = []
    seen: set[int] = set()
    entry: Entry | None = messages[-1]
    while entry is not None and entry.number not in seen:
        seen.add(entry.number)
        if entry.is_message:
            chain.append(entry)
        entry = _parent(entry, by_id, messages)
    chain.reverse()
    return chain


def _parent(entry: Entry, by_id: dict[str, Entry], messages: Sequence[Entry]) -> Entry | None:
    parent = as_text(entry.value.get("parentUuid")) or as_text(entry.value.get("logicalParentUuid"))
    if not parent:
        return None
    # If the parent's line is missing from the log, the message written before this line is the best guess.
    return by_id.get(parent) or next((other for other in reversed(messages) if other.number < entry.number), None)
