"""The port by which a door adds tools of its own to its sessions."""

from collections.abc import Sequence
from typing import Protocol

from ullage.model.blocks import ToolUseBlock
from ullage.model.message import ToolDefinition
from ullage.service.ports.models import Question, ToolAbout, ToolOutcome


class SessionTools(Protocol):
    """The tools that a door has for each of its sessions, besides those of the toolbox."""

    async def prepare(self, session_id: str) -> None:
        """Called when a prompt turn begins. Starts what the session's tools need; a failure is a notice."""
        ...

    async def refresh(self, session_id: str) -> None:
        """Called before each request of the turn, and before `offered`. Finds out which tools there are now, if they
        may have changed. Never raises."""
        ...

    def offered(self, session_id: str, declared: Sequence[ToolDefinition]) -> tuple[ToolDefinition, ...]:
        """Returns the tools that the model is offered now: those of `declared` that are not the door's, and the
        door's own as they are now. Called before each request."""
        ...

    def reminder(self, session_id: str) -> str:
        """Returns a text that is sent with each request for as long as the session's mode asks for it, or "". It is
        not part of the transcript."""
        ...

    def describe(self, session_id: str, use: ToolUseBlock) -> ToolAbout | None:
        """Returns a description of a tool call for the user, or None if the tool is not the door's. Never raises."""
        ...

    def question(self, session_id: str, use: ToolUseBlock) -> Question | None:
        """Returns what the user must be asked before a call of one of the door's tools, or None if nothing."""
        ...

    async def run(self, session_id: str, use: ToolUseBlock) -> ToolOutcome:
        """Runs a call of one of the door's tools and returns its result, also if it fails. Cancelling the task cancels
        the call."""
        ...
