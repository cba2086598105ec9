"""Slash commands: prompts that need no model and do not change the transcript."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from msgspec import UNSET, Struct

from ullage.acp.context_text import context_text
from ullage.acp.updates import AvailableCommand, AvailableCommandsUpdate, CommandInput
from ullage.api import context_methods as context
from ullage.api.session_methods import SessionParams
from ullage.model import words
from ullage.model.errors import InvalidRequest
from ullage.model.json_values import as_text
from ullage.service.archive.recall import recall
from ullage.service.conversation.workspace import Workspace
from ullage.service.memory import run_memory
from ullage.service.ports.store import MemoryFiles

# `/name`, and after white space the command's argument.
_SHAPE = re.compile(r"/(\w+)(?:\s+(.*))?\s*", re.DOTALL)


class CommandScene(Struct, frozen=True, kw_only=True):
    """The session in which a command runs. `memory(folder)` returns a folder's memory."""

    workspace: Workspace
    session_id: str
    memory: Callable[[str], MemoryFiles]


class SlashCommand(Struct, frozen=True, kw_only=True):
    """A command. `run` takes the scene and the argument and returns the answer in Markdown. `hint` says what the
    argument is, empty if there is none."""

    name: str
    description: str
    run: Callable[[CommandScene, str], Awaitable[str]]
    hint: str = ""


class Invocation(Struct, frozen=True, kw_only=True):
    """A command with its argument."""

    command: SlashCommand
    argument: str


def find_command(prompt: Sequence[dict[str, Any]]) -> Invocation | None:
    """Returns the command that a prompt calls. Returns None if the prompt is for the model, as any other text with a
    slash is."""
    if not prompt or prompt[0].get("type") != "text":
        return None
    shape = _SHAPE.fullmatch(as_text(prompt[0].get("text")).strip())
    command = _BY_NAME.get(shape[1]) if shape else None
    return Invocation(command=command, argument=(shape[2] or "").strip()) if shape and command else None


def available_commands() -> AvailableCommandsUpdate:
    """Returns the update that lists all commands for the client."""
    return AvailableCommandsUpdate(
        available_commands=tuple(
            AvailableCommand(
                name=command.name,
                description=command.description,
                input=CommandInput(hint=command.hint) if command.hint else UNSET,
            )
            for command in COMMANDS
        )
    )


async def _context(scene: CommandScene, _: str) -> str:
    return context_text(await context.get(scene.workspace, SessionParams(session_id=scene.session_id)))


async def _compact(scene: CommandScene, focus: str) -> str:
    params = context.CompactParams(session_id=scene.session_id, focus=focus)
    done = await context.compact(scene.workspace, params)
    return words.compacted(done.messages_archived, done.context_size_before, done.context_size_after)


async def _undo(scene: CommandScene, edit_id: str) -> str:
    before = scene.workspace.open(scene.session_id).used
    params = context.UndoParams(session_id=scene.session_id, edit_id=edit_id or None)
    done = await context.undo(scene.workspace, params)
    return words.undone(before, done.usage.used)


async def _memory(scene: CommandScene, path: str) -> str:
    files = scene.memory(scene.workspace.open(scene.session_id).transcript.cwd)
    answer = await asyncio.to_thread(run_memory, files, {"command": "view", "path": path or "/memories"})
    return f"```\n{answer.text}\n```"


async def _recall(scene: CommandScene, wanted: str) -> str:
    if not wanted:
        raise InvalidRequest("Say what to look for: `/recall` and names, words or a question, or a message's id.")
    found = scene.workspace.ports.store.find_message(scene.session_id, wanted)
    result = await recall(scene.workspace.open(scene.session_id), {"message_id" if found else "query": wanted})
    return result.text


COMMANDS = (
    SlashCommand(name="context", description="Show how full the context is, and of what", run=_context),
    SlashCommand(
        name="compact",
        description="Replace the older part of the context by a summary",
        run=_compact,
        hint="what to keep above all",
    ),
    SlashCommand(name="undo", description="Take the last compaction or clearing back", run=_undo, hint="an edit's id"),
    SlashCommand(name="memory", description="Show what is kept in memory", run=_memory, hint="a file below /memories"),
    SlashCommand(
        name="recall",
        description="Search everything ever said in this session, archived or not",
        run=_recall,
        hint="names, words or a message's id",
    ),
)
_BY_NAME = {command.name: command for command in COMMANDS}
