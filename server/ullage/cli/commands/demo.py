"""`ullage demo`: shows a conversation that fills a context, is warned about, and is compacted. It is played into the
server as by a client that calls its model itself."""

import asyncio
import io
import re
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct
from rich.console import Console

from ullage.agents import transcripts
from ullage.api.client_input import MessageInput
from ullage.api.context_methods import (
    CompactParams,
    CompactResult,
    MessagesParams,
    MessagesResult,
    RevertResult,
    UndoParams,
)
from ullage.api.session_methods import AppendParams, AppendResult, NewSessionParams
from ullage.api.values import SessionResult
from ullage.api.wire import UPDATE, SessionNotification
from ullage.catalog.limits import ContextLimits
from ullage.cli.arguments import add_file, number, read_options
from ullage.cli.demo_scene import HEIGHT, WIDTH, Scene, Stage, draw_screen, open_stage
from ullage.cli.draw.text import UNICODE
from ullage.cli.lsp_client import LSP_PREFIX, LanguageClient, start_server
from ullage.cli.output import Screen, write_file
from ullage.cli.session_source import read_transcript
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.events import Event, MessageAppended, ToolsDeclared, UsageReported
from ullage.model.message import Message, Role, ToolDefinition
from ullage.model.settings import ModelSettings, Settings, SummarySettings
from ullage.model.updates import CompactionSummaryChunk, CompactionUpdate, Notice, Update
from ullage.model.usage import Usage
from ullage.model.words import undone
from ullage.tokens.counter import get_counter

# Tokens. The sample has about 33,000, enough to cross the warning and compaction thresholds of this window.
SAMPLE_WINDOW = 32_000
# A conversation that doesn't fill its model's window is played in a window of this share of its size, so that it fills
# it.
_WINDOW_SHARE = 0.8
# Tokens. A smaller window has no room for a first message, a summary and a tail.
_SMALLEST_WINDOW = 8_000
_UNKNOWN_MODEL = "unknown model"


class Step(Struct, frozen=True, kw_only=True):
    """One message of the demo's conversation, and the usage that the provider reported with it, or None."""

    message: Message
    usage: Usage | None = None


class Conversation(Struct, frozen=True, kw_only=True):
    """The conversation that the demo plays: its messages in order, its tools, and its window in tokens."""

    title: str
    model: str
    window: int
    tools: tuple[ToolDefinition, ...]
    steps: tuple[Step, ...]


class ConversationOptions(Struct, frozen=True, kw_only=True):
    """Which conversation the demo plays: a transcript's file, or None for the sample; its format and the number of the
    conversation in it; and the window in tokens, or None to choose one."""

    file: Path | None = None
    format: str | None = None
    run: int | None = None
    window: int | None = None


def load_conversation(options: ConversationOptions) -> Conversation:
    """Returns the conversation in the file, or the sample if no file is given. Raises `InputError` if the file can't be
    read."""
    path, window = options.file, options.window
    if path is None:
        data = files("ullage.cli").joinpath("data/sample.jsonl").read_bytes()
        transcript = transcripts.read(data, "the sample")
        window = window or SAMPLE_WINDOW
    else:
        transcript = read_transcript(str(path), options.format, options.run)
    steps = tuple(_steps(transcript.events))
    model = transcript.model or _UNKNOWN_MODEL
    return Conversation(
        title=transcript.title or (path.name if path else ""),
        model=model,
        window=window or _fitting_window(model, transcript, steps),
        tools=next((event.tools for event in transcript.events if isinstance(event, ToolsDeclared)), ()),
        steps=steps,
    )


def _steps(events: tuple[Event, ...]) -> Iterator[Step]:
    reports = {event.message_id: event.usage for event in events if isinstance(event, UsageReported)}
    for event in events:
        if isinstance(event, MessageAppended):
            yield Step(message=event.message, usage=reports.get(event.message.id))


def _fitting_window(model: str, transcript: ImportedTranscript, steps: tuple[Step, ...]) -> int:
    """Returns the model's own window in tokens, or a smaller one if the conversation doesn't fill that."""
    counter = get_counter(model)
    counted = sum(counter.count_message(step.message) for step in steps)
    largest = max((step.usage.total for step in steps if step.usage), default=0)
    filled = max(_SMALLEST_WINDOW, int(max(counted, largest) * _WINDOW_SHARE))
    known = ContextLimits.for_model(transcript.model).input
    return min(filled, known) if known else filled


def add_arguments(parser: ArgumentParser) -> None:
    """Adds the command's arguments to its parser."""
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="play this transcript, not the sample")
    add_file(parser)
    parser.add_argument("--window", type=number, metavar="TOKENS", help="the window to play it in")
    parser.add_argument("--fast", action="store_true", help="as fast as the server answers")
    parser.add_argument("--svg", type=Path, metavar="PATH", help="write the final screen as a picture")
    parser.add_argument("--ascii", action="store_true", help="draw with plain ASCII")


# Rich refers to fonts on a web host. A picture in a README must not load them; the reader's monospace font is enough.
_WEB = re.compile(r"\s*@font-face \{.*?\}|\s*<!--.*?-->", re.DOTALL)
_WHAT_NEXT = """
That was the real server, with no model and no network. With your own agents:

  ullage           who compacts next, what was lost last
  ullage watch     the same, live
  ullage wire      they get back what compactions lose
  ullage lost      what the last one left out
  ullage continue  a new session, as before it

In VS Code and Neovim: docs/guide/editors.md. All commands: ullage help
"""
# Seconds on a terminal: for all messages together, the longest pause after one, and pauses after updates and actions
# that take longer to read.
_MESSAGES_TAKE, _LONGEST_PAUSE = 14.0, 0.5
_PAUSES: dict[type[Any], float] = {CompactionSummaryChunk: 0.25, CompactionUpdate: 1.0, Notice: 1.2}
_LOOK = 2.0


class DemoOptions(ConversationOptions, frozen=True, kw_only=True):
    """The arguments of `ullage demo`."""

    fast: bool
    svg: Path | None
    ascii: bool


def run(args: Namespace) -> int:
    """Plays the demo on the terminal. With `--svg`, writes the last screen as a picture to that file. Returns 0."""
    options = read_options(args, DemoOptions)
    conversation = load_conversation(options)
    screen = Screen.of(args)
    console = screen.console()
    scene = Scene(conversation.title, conversation.model, screen.glyphs)
    with (
        tempfile.TemporaryDirectory(prefix="ullage-") as folder,
        open_stage(scene, console, fast=options.fast) as stage,
    ):
        asyncio.run(Player(conversation, scene, stage).play(Path(folder) / "sessions.db"))
    if options.svg is not None:
        write_file(options.svg, _picture(scene).encode())
    console.print(_WHAT_NEXT, soft_wrap=True)
    return 0


def _picture(scene: Scene) -> str:
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    scene.glyphs = UNICODE
    for line in draw_screen(scene, WIDTH, HEIGHT):
        console.print(line, soft_wrap=True)
    svg = console.export_svg(title="ullage demo", unique_id="ullage")
    return _WEB.sub("", svg)


class Player:
    """Plays one conversation: starts a server, appends the messages to a session in it, and shows the server's updates
    in a scene."""

    def __init__(self, conversation: Conversation, scene: Scene, stage: Stage) -> None:
        self._conversation = conversation
        self._scene = scene
        self._stage = stage
        self._updates: asyncio.Queue[Update] = asyncio.Queue()
        self._compacted = False

    async def play(self, store: Path) -> None:
        """Starts a server with the store file `store` and plays the messages, then an undo of the last compaction, then
        the compaction again. Raises `ServerTrouble`."""
        async with start_server(store, self._settings(), self._told) as client:
            session_id = await self._begin(client)
            pause = min(_LONGEST_PAUSE, _MESSAGES_TAKE / max(1, len(self._conversation.steps)))
            for step in self._conversation.steps:
                await self._append(client, session_id, step)
                await self._stage.pause(pause)
            await self._show_updates()
            if self._scene.edit_id is not None:
                await self._undo_and_redo(client, session_id, self._scene.edit_id)

    def _settings(self) -> Any:
        window = ModelSettings(window=self._conversation.window)
        # Offline, so that the demo looks the same for users with a key.
        summary = SummarySettings(writer="offline")
        return msgspec.to_builtins(Settings(models={self._conversation.model: window}, summary=summary))

    async def _begin(self, client: LanguageClient) -> str:
        conversation = self._conversation
        params = NewSessionParams(title=conversation.title, model=conversation.model, tools=conversation.tools)
        return (await client.call("session/new", params, SessionResult)).session_id

    async def _append(self, client: LanguageClient, session_id: str, step: Step) -> None:
        if step.message.role is Role.ASSISTANT:
            # A client asks for the context before it asks its model, which makes it wait for a running compaction.
            await client.call("context/messages", MessagesParams(session_id=session_id, limit=1), MessagesResult)
            await self._show_updates()
        message = step.message
        content = tuple(msgspec.to_builtins(block) for block in message.content)
        given = MessageInput(role=message.role.value, content=content, id=message.id, timestamp=message.timestamp)
        # After a compaction, the usage in the transcript is that of another context.
        usage = msgspec.to_builtins(step.usage) if step.usage and not self._compacted else None
        params = AppendParams(session_id=session_id, messages=(given,), usage=usage)
        await client.call("session/append", params, AppendResult)
        self._scene.say(message)
        self._stage.show()
        await self._show_updates()

    async def _undo_and_redo(self, client: LanguageClient, session_id: str, edit_id: str) -> None:
        before = self._scene.usage.used if self._scene.usage else 0
        self._scene.remark("undo")
        result = await client.call("context/undo", UndoParams(session_id=session_id, edit_id=edit_id), RevertResult)
        await self._show_updates()
        self._scene.report(undone(before, result.usage.used))
        self._stage.show()
        await self._stage.pause(_LOOK)
        self._scene.remark("compact")
        await client.call("context/compact", CompactParams(session_id=session_id), CompactResult)
        await self._show_updates()
        await self._stage.pause(_LOOK)

    def _told(self, method: str, params: Raw) -> None:
        if method == LSP_PREFIX + UPDATE:
            self._updates.put_nowait(msgspec.json.decode(params, type=SessionNotification).update)

    async def _show_updates(self) -> None:
        while not self._updates.empty():
            update = self._updates.get_nowait()
            self._scene.told(update)
            self._compacted = self._compacted or isinstance(update, CompactionUpdate)
            self._stage.show()
            await self._stage.pause(_PAUSES.get(type(update), 0.0))
