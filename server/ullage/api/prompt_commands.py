"""Slash commands: prompts that need no model and do not change the transcript. They work at every door."""

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from msgspec import UNSET, Struct

from ullage.api import context_methods as context
from ullage.api.session_methods import PromptParams, PromptResult, SessionParams
from ullage.api.session_methods import prompt as ask_model
from ullage.api.values import context_text
from ullage.memory.memory_tool import NAME
from ullage.model import words
from ullage.model.answer import TurnEnd
from ullage.model.blocks import ToolUseBlock
from ullage.model.errors import InvalidRequest
from ullage.model.json_values import as_text
from ullage.model.updates import Notice, Severity
from ullage.service.archive.recall import recall
from ullage.service.conversation.workspace import Workspace

# `/name`, and after white space the command's argument.
_SHAPE = re.compile(r"/(\w+)(?:\s+(.*))?\s*", re.DOTALL)


class SlashCommand(Struct, frozen=True, kw_only=True):
    """A command that a user types as a prompt, such as `/context`. `run` takes the workspace, the session's id and the
    argument, and returns the answer in Markdown. `hint` says what the argument is, empty if there is none. `notifies`
    says that what the command does publishes a notice with the same words."""

    name: str
    description: str
    run: Callable[[Workspace, str, str], Awaitable[str]]
    hint: str = ""
    notifies: bool = False


class Invocation(Struct, frozen=True, kw_only=True):
    """A slash command that a prompt calls, with its argument, empty if there is none."""

    command: SlashCommand
    argument: str


def find_command(prompt: Sequence[dict[str, Any]]) -> Invocation | None:
    """Returns the slash command that a prompt (ACP content blocks) calls. Returns None if the prompt is for the model,
    as any text that begins with an unknown command is."""
    if not prompt or prompt[0].get("type") != "text":
        return None
    shape = _SHAPE.fullmatch(as_text(prompt[0].get("text")).strip())
    command = _BY_NAME.get(shape[1]) if shape else None
    return Invocation(command=command, argument=(shape[2] or "").strip()) if shape and command else None


async def prompt(workspace: Workspace, params: PromptParams) -> PromptResult:
    """Runs the slash command that the prompt calls, or sends the prompt to the model. Returns how the prompt turn
    ended. Raises `UllageError`."""
    invocation = find_command(params.prompt)
    if invocation is None:
        return await ask_model(workspace, params)
    return await _carry_out(workspace, params.session_id, invocation)


async def _carry_out(workspace: Workspace, session_id: str, invocation: Invocation) -> PromptResult:
    """Runs a slash command and publishes its answer as a notice, because it is not part of the conversation."""
    answer = await run_command(workspace, session_id, invocation)
    if invocation.command.notifies:
        return PromptResult(stop_reason=TurnEnd.END_TURN)
    title, _, rest = answer.removeprefix("```\n").removesuffix("\n```").partition("\n")
    notice = Notice(severity=Severity.INFO, title=title.strip("*"), description=rest.strip() or UNSET)
    workspace.bus.emit(session_id, notice)
    return PromptResult(stop_reason=TurnEnd.END_TURN)


async def run_command(workspace: Workspace, session_id: str, invocation: Invocation) -> str:
    """Runs a slash command in a session and returns its answer in Markdown. Raises `UllageError`."""
    return await invocation.command.run(workspace, session_id, invocation.argument)


async def _context(workspace: Workspace, session_id: str, _: str) -> str:
    return context_text(await context.get(workspace, SessionParams(session_id=session_id)))


async def _compact(workspace: Workspace, session_id: str, focus: str) -> str:
    params = context.CompactParams(session_id=session_id, focus=focus)
    done = await context.compact(workspace, params)
    return words.compacted(done.messages_archived, done.context_size_before, done.context_size_after)


async def _undo(workspace: Workspace, session_id: str, edit_id: str) -> str:
    before = workspace.open(session_id).used
    params = context.UndoParams(session_id=session_id, edit_id=edit_id or None)
    done = await context.undo(workspace, params)
    return words.undone(before, done.usage.used)


async def _memory(workspace: Workspace, session_id: str, path: str) -> str:
    use = ToolUseBlock(id="command", name=NAME, input={"command": "view", "path": path or "/memories"})
    cwd = workspace.open(session_id).transcript.cwd
    answer = await workspace.ports.toolbox.run(session_id, cwd, use)
    return f"```\n{answer.text}\n```"


async def _recall(workspace: Workspace, session_id: str, wanted: str) -> str:
    if not wanted:
        raise InvalidRequest("Say what to look for: `/recall` and names, words or a question, or a message's id.")
    found = workspace.ports.store.find_message(session_id, wanted)
    result = await recall(workspace.open(session_id), {"message_id" if found else "query": wanted})
    return result.text


COMMANDS = (
    SlashCommand(name="context", description="Show how full the context is, and of what", run=_context),
    SlashCommand(
        name="compact",
        description="Replace the older part of the context by a summary",
        run=_compact,
        hint="what to keep above all",
        notifies=True,
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
