"""Which lines of a Claude Code log are the conversation.

Each line names its parent. A rewind leaves a branch behind, a resumed session copies its history under new ids, and
the calls of one answer hang side by side in the tree, each with its result. So the conversation is the chain from the
last line up to a root, and with it every line of the same answers and the results of their calls.
"""

from collections.abc import Sequence

from msgspec import Struct

from ullage.model.json_values import JsonObject, as_object, as_objects, as_text


class Entry(Struct, frozen=True, kw_only=True):
    """A line of the log that has a place in the tree."""

    number: int
    value: JsonObject

    @property
    def kind(self) -> str:
        """The line's type: `user`, `assistant`, `system`, `progress` and others."""
        return as_text(self.value.get("type"))

    @property
    def is_message(self) -> bool:
        """Whether the line is part of a conversation with the model, the main one."""
        return self.kind in ("user", "assistant") and self.value.get("isSidechain") is not True

    @property
    def answer_id(self) -> str:
        """The provider's id of the answer that an assistant line is a part of."""
        return as_text(as_object(self.value.get("message")).get("id")) if self.kind == "assistant" else ""

    @property
    def blocks(self) -> list[JsonObject]:
        """The message's blocks, when its content is a list."""
        return as_objects(as_object(self.value.get("message")).get("content"))

    @property
    def call_ids(self) -> list[str]:
        """The ids of the tool calls a line makes."""
        return [as_text(block.get("id")) for block in self.blocks if block.get("type") == "tool_use"]

    @property
    def result_ids(self) -> list[str]:
        """The ids of the tool calls a line answers."""
        return [as_text(block.get("tool_use_id")) for block in self.blocks if block.get("type") == "tool_result"]


class Branch(Struct, frozen=True, kw_only=True):
    """The conversation: `chain` in order, and `beside` it the lines that belong to its answers, in file order."""

    chain: tuple[Entry, ...]
    beside: tuple[Entry, ...]


def find_branch(entries: Sequence[Entry]) -> Branch:
    """The conversation that the log's last message belongs to."""
    messages = [entry for entry in entries if entry.is_message]
    if not any(entry.value.get("parentUuid") for entry in messages):
        return Branch(chain=tuple(messages), beside=())
    chain = _climb(entries, messages)
    in_chain = {entry.number for entry in chain}
    answers = {entry.answer_id for entry in chain if entry.answer_id}
    answered = {call for entry in chain for call in entry.result_ids}
    others = [entry for entry in messages if entry.number not in in_chain]
    same_answer = [entry for entry in others if entry.answer_id in answers]
    calls = {call for entry in [*chain, *same_answer] for call in entry.call_ids} - answered
    results = [entry for entry in others if calls.intersection(entry.result_ids)]
    beside = sorted([*same_answer, *results], key=lambda entry: entry.number)
    return Branch(chain=tuple(chain), beside=tuple(beside))


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
    # A parent whose line is lost: the message written before is the best that is known.
    return by_id.get(parent) or next((other for other in reversed(messages) if other.number < entry.number), None)
