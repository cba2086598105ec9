"""Joins the pieces of a conversation that a log writes one by one.

An answer's thinking, texts and calls become one message, the results of its calls the next one.
"""

from collections.abc import Iterable, Sequence

from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.model.blocks import Block, ResultPart, ToolResultBlock, ToolUseBlock
from ullage.model.json_values import JsonObject
from ullage.model.message import Role


class PieceReader:
    """Joins pieces of messages, which a log writes one by one, and adds the messages to a builder. Consecutive pieces
    of one role are one message, which has the id and the time (Unix milliseconds) of its first piece.

    Calls without ids get one. A result without an id belongs to the oldest unanswered call of its tool. `last_answer`
    is the id of the last assistant message added.
    """

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self._role: Role | None = None
        self._content: list[Block] = []
        self._first: tuple[str, int] = "", 0
        self._calls = 0
        self._open: dict[str, str] = {}
        self.last_answer = ""

    def say(self, role: Role, content: Sequence[Block], message_id: str = "", time: int = 0) -> str:
        """Adds a complete message. Returns its id, or an empty string if it has no content."""
        self.end()
        self._add(role, content, message_id, time)
        return self.end()

    def piece(self, role: Role, content: Iterable[Block], message_id: str = "", time: int = 0) -> None:
        """Adds pieces of a message with this role; another role begins a new message."""
        self._add(role, content, message_id, time)

    def answer(self, content: Iterable[Block], message_id: str = "", time: int = 0) -> None:
        """Adds pieces of the model's answer, an assistant message."""
        self._add(Role.ASSISTANT, content, message_id, time)

    def call(self, name: str, given: JsonObject, call_id: str = "", message_id: str = "", time: int = 0) -> str:
        """Adds a tool call with the input `given` to the model's answer. Returns the call's id."""
        self._calls += 1
        call_id = call_id or f"call{self._calls}"
        self._open[call_id] = name
        self._add(Role.ASSISTANT, [ToolUseBlock(id=call_id, name=name, input=given)], message_id, time)
        return call_id

    def result(  # noqa: PLR0913 - the facts of one result
        self,
        content: Sequence[ResultPart],
        call_id: str = "",
        name: str = "",
        *,
        failed: bool = False,
        message_id: str = "",
        time: int = 0,
    ) -> None:
        """Adds the result of a tool call to a user message. If no unanswered call fits `call_id` or `name`, the content
        is added without a result block."""
        call = self._find(call_id, name)
        block = ToolResultBlock(tool_use_id=call, content=tuple(content), is_error=failed)
        self._open.pop(call, None)
        self._add(Role.USER, [block] if call else content, message_id, time)

    def end(self) -> str:
        """Adds the message of the pieces so far to the builder. Returns its id, or an empty string if there are no
        pieces."""
        role, content = self._role, self._content
        self._role, self._content = None, []
        if role is None or not content:
            return ""
        added = self._builder.add(role, content, *self._first)
        self.last_answer = added if role is Role.ASSISTANT else self.last_answer
        return added

    def _find(self, call_id: str, name: str) -> str:
        if call_id in self._open:
            return call_id
        same = (known for known, tool in self._open.items() if tool == name)
        return next(same, "") or ("" if name else next(iter(self._open), ""))

    def _add(self, role: Role, content: Iterable[Block], message_id: str, time: int) -> None:
        if self._role is not role:
            self.end()
            self._role, self._first = role, (message_id, time)
        self._content.extend(content)
