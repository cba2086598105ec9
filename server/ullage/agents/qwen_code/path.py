"""The messages that lead to a record of a Qwen Code session, and what a compaction leaves of them."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from ullage.formats.transcripts.branches import kept_place
from ullage.model.blocks import Block, ToolResultBlock, ToolUseBlock, join_texts
from ullage.model.message import Role


class Said(Struct, frozen=True, kw_only=True):
    """A message as the session's file has it: its role and its blocks."""

    role: Role
    blocks: tuple[Block, ...]

    @property
    def calls(self) -> frozenset[str]:
        """The ids of the tool calls that the message makes or whose results it has."""
        made = (block.id for block in self.blocks if isinstance(block, ToolUseBlock))
        answered = (block.tool_use_id for block in self.blocks if isinstance(block, ToolResultBlock))
        return frozenset({*made, *answered} - {""})

    @property
    def has_results(self) -> bool:
        """Whether the message contains results of tool calls."""
        return any(isinstance(block, ToolResultBlock) for block in self.blocks)

    def is_like(self, other: "Said") -> bool:
        """Returns whether two messages are copies of one: they have a call or a result in common or, without any, the
        same text."""
        if self.role is not other.role or self.has_results != other.has_results:
            return False
        if self.calls or other.calls:
            return bool(self.calls & other.calls)
        return join_texts(self.blocks) == join_texts(other.blocks)


class Path(Struct, frozen=True):
    """A message or a compaction, and the path before it. `place` is its place for `TranscriptBuilder.rewind`.

    A compaction has neither a `message_id` nor a message (`said`).
    """

    place: str
    before: "Path | None" = None
    message_id: str = ""
    said: Said | None = None

    def messages(self) -> list["Path"]:
        """Returns the steps of the path that are messages, oldest first: the context."""
        return [step for step in self._steps() if step.message_id][::-1]

    def _steps(self) -> Iterator["Path"]:
        step: Path | None = self
        while step is not None:
            yield step
            step = step.before


def path_after(edit_id: str, kept: Sequence[Path]) -> Path:
    """Returns the path after the compaction `edit_id`, which kept these messages: the compaction, then the messages."""
    path = Path(edit_id)
    for step in kept:
        path = Path(kept_place(edit_id, step.message_id), path, step.message_id, step.said)
    return path


class Kept(Struct, frozen=True, kw_only=True):
    """The messages after a compaction's summary: those of the path that it kept, and those that the program added to
    them."""

    messages: tuple[Path, ...]
    added: tuple[Said, ...]


def find_kept(path: Path, history: Sequence[Said]) -> Kept:
    """Returns which messages of the path a compaction kept. `history` is the messages that the file lists after the
    summary.

    Kept are the messages that `history` repeats, the results of their calls, and the last user messages without an
    answer, which the program sends after the history. Other messages of `history` are `added`.
    """
    context = path.messages()
    kept: set[int] = set()
    added: list[Said] = []
    last = len(context)
    for said in reversed(history):
        alike = (at for at in range(last - 1, -1, -1) if (known := context[at].said) and known.is_like(said))
        found = next(alike, -1)
        if found >= 0:
            kept.add(found)
            last = found
        # The program itself acknowledges the summary: no model said that.
        elif said is not history[0] or said.role is Role.USER:
            added.insert(0, said)
    calls = frozenset[str]().union(*(_said(context[at]).calls for at in kept))
    unanswered = len(context)
    while unanswered and _said(context[unanswered - 1]).role is Role.USER:
        unanswered -= 1
    messages = (
        step
        for at, step in enumerate(context)
        if at in kept or at >= unanswered or (_said(step).has_results and _said(step).calls & calls)
    )
    return Kept(messages=tuple(messages), added=tuple(added))


def _said(step: Path) -> Said:
    return step.said or Said(role=Role.USER, blocks=())
