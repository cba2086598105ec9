"""`ullage demo`: shows a conversation that fills a context, is warned about, and is compacted. It is played into the
server as by a client that calls its model itself, and drawn as an editor's chat on a terminal, or as plain lines into a
pipe."""

import asyncio
import io
import re
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec import UNSET, Raw, Struct
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from ullage.agents import transcripts
from ullage.api.context_methods import (
    CompactParams,
    CompactResult,
    MessagesParams,
    MessagesResult,
    RevertResult,
    UndoParams,
)
from ullage.api.protocol import UPDATE, SessionNotification, SessionResult, UsageResult
from ullage.api.session_methods import AppendParams, AppendResult, NewSessionParams
from ullage.cli.arguments import add_file, number, read_options
from ullage.cli.commands.messages import first_line, main_argument
from ullage.cli.drawing import UNICODE, Box, Glyphs, Screen, bar, clean, fit, level_style, percent, plain, write_file
from ullage.cli.lsp_client import LSP_PREFIX, LanguageClient, start_server
from ullage.cli.session_source import read_transcript
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.known_models import ContextLimits
from ullage.model.events import Event, MessageAppended, ToolsDeclared, UsageReported
from ullage.model.message import Message, Role, TextBlock, ToolDefinition, ToolResultBlock, ToolUseBlock
from ullage.model.settings import ModelSettings, Settings, SummarySettings
from ullage.model.updates import (
    CompactionMeta,
    CompactionStatus,
    CompactionSummaryChunk,
    CompactionUpdate,
    Notice,
    Severity,
    Update,
    UsageUpdate,
)
from ullage.model.usage import Usage, UsageSource
from ullage.model.words import short, shrinking, undone
from ullage.tokens.counter import get_counter

# Lines of a finished summary that are shown.
_SUMMARY_LINES = 6
_SEVERITY_STYLE = {Severity.INFO: "cyan", Severity.WARNING: "bold yellow", Severity.ERROR: "bold red"}


class Line(Struct, frozen=True, kw_only=True):
    """A line of text on the demo's screen, with its style in Rich's form."""

    text: str
    style: str = ""


class Scene:
    """Collects what the demo's screen shows, from the conversation's messages and the server's updates.

    - `feed`: the lines of the conversation so far.
    - `writing`: the lines of the summary while it is written.
    - `usage`, `notice`, `status`: the newest of each.
    - `edit_id`: the id of the last compaction, or None.
    """

    def __init__(self, title: str, model: str, glyphs: Glyphs) -> None:
        self.title = title
        self.model = model
        self.glyphs = glyphs
        self.feed: list[Line] = []
        self.writing: list[str] = []
        self.usage: UsageResult | None = None
        self.notice = Line(text="")
        self.status = ""
        self.edit_id: str | None = None

    def say(self, message: Message) -> None:
        """Adds a message of the conversation to the feed: its first line, and a line per tool call or failed result."""
        for block in message.content:
            match block:
                case TextBlock(text=text) if message.role is Role.USER:
                    self._add(f"{self.glyphs.user} {first_line(text)}", "bold")
                case TextBlock(text=text) if message.role is Role.ASSISTANT:
                    self._add(f"  {first_line(text)}")
                case ToolUseBlock(name=name, input=arguments):
                    self._add(f"  {self.glyphs.tool} {name} {main_argument(arguments)}", "dim")
                case ToolResultBlock(is_error=True, content=parts):
                    lines = [line for part in parts if isinstance(part, TextBlock) for line in part.text.splitlines()]
                    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
                    self._add(f"    failed: {last}", "red")
                case _:
                    pass

    def told(self, update: Update) -> None:
        """Changes the scene according to an update from the server. Updates that show nothing are ignored."""
        match update:
            case UsageUpdate(used=used, size=size, meta=meta) if meta is not UNSET:
                self.usage = UsageResult(used=used, size=size, meta=meta)
                self.status = status_line(self.usage, self.glyphs)
            case Notice(severity=severity, title=title):
                sign = self.glyphs.marker if severity is Severity.INFO else self.glyphs.warning
                self.notice = Line(text=f"{sign} {plain(title, self.glyphs)}", style=_SEVERITY_STYLE[severity])
            case CompactionSummaryChunk(content=content):
                self.writing.extend(line for line in content.text.splitlines() if line.strip())
            case CompactionUpdate(meta=meta) if meta is not UNSET:
                self._compaction(update.status, meta.ullage)
            case _:
                pass

    def remark(self, text: str) -> None:
        """Adds a line to the feed for something that the user does, such as `undo`."""
        self._add(f"{self.glyphs.user} {plain(text, self.glyphs)}", "bold magenta")

    def report(self, text: str) -> None:
        """Adds a line to the feed for the result of something that the user did."""
        self._add(f"  {plain(text, self.glyphs)}", "bold green")

    def _compaction(self, status: CompactionStatus, meta: CompactionMeta) -> None:
        if status is CompactionStatus.IN_PROGRESS:
            total = self.usage.meta.ullage.messages_active if self.usage else meta.messages_archived
            self.status = compacting_line(meta.messages_archived, total, self.glyphs)
            return
        written, self.writing = self.writing, []
        if status is not CompactionStatus.COMPLETED:
            return
        before, after = meta.context_size_before, meta.context_size_after
        self.status = compacted_line(before, after, self.glyphs)
        self.edit_id = meta.edit_id
        head = (
            f"{self.glyphs.marker} Compacted #{meta.compaction_number} · {meta.messages_archived} messages · "
            f"{shrinking(before, after)} · {'by hand' if meta.trigger == 'manual' else 'automatic'}"
        )
        self._add(plain(head, self.glyphs), "bold green")
        for text in written[:_SUMMARY_LINES]:
            self._add(f"    {text}", "green")
        if len(written) > _SUMMARY_LINES:
            self._add(f"    and {len(written) - _SUMMARY_LINES} more lines", "dim green")

    def _add(self, text: str, style: str = "") -> None:
        self.feed.append(Line(text=text, style=style))


def status_line(usage: UsageResult, glyphs: Glyphs) -> str:
    """Returns one line with the context's size.

    For example `◔ 45% · 58K/128K`, or `◕ 82% · compacts at 162K` once the warning threshold is reached.
    """
    meta = usage.meta.ullage
    if usage.size is None:
        return f"{short(usage.used)} {glyphs.dot} limit unknown"
    about = glyphs.about if meta.source is UsageSource.ESTIMATED else ""
    head = f"{level_glyph(usage.used, usage.size, glyphs)}{about}{percent(usage.used, usage.size)}%"
    if meta.warn_at is not None and meta.compact_at is not None and usage.used >= meta.warn_at:
        return f"{head} {glyphs.dot} compacts at {short(meta.compact_at)}"
    return f"{head} {glyphs.dot} {short(usage.used)}/{short(usage.size)}"


def compacting_line(messages: int, total: int, glyphs: Glyphs) -> str:
    """Returns the status line while a summary is written of `messages` messages out of `total`."""
    return f"Compacting{glyphs.ellipsis * (3 if glyphs.ascii else 1)} {messages} of {total} messages"


def compacted_line(before: int, after: int, glyphs: Glyphs) -> str:
    """Returns the status line after a compaction. `before` and `after` are the sizes of the context in tokens."""
    return f"{glyphs.check} {short(before)} {glyphs.arrow} {short(after)}"


def level_glyph(used: int, size: int, glyphs: Glyphs) -> str:
    """Returns a circle filled by quarters of `used / size`, and a space; "" if the glyphs have no circles."""
    if not glyphs.levels:
        return ""
    last = len(glyphs.levels) - 1
    return glyphs.levels[min(last, round(used / size * last) if size > 0 else 0)] + " "


WIDTH, HEIGHT = 92, 30
# In a pipe, the status is printed whenever the share has changed by this many percentage points.
_POINTS = 10
# Lines for title, rules, notice and status, which the feed can't use.
_FRAME_LINES = 8
_BAR_CELLS = 30
# The newest lines that are shown of a summary while it is written.
_WRITING_LINES = 8


class Stage(Protocol):
    """Shows a scene to the user."""

    def show(self) -> None:
        """Shows the scene as it is now."""
        ...

    async def pause(self, seconds: float) -> None:
        """Waits `seconds` for the user to read, or less if the demo runs fast or its output is no terminal."""
        ...


class LiveStage:
    """Shows a scene by drawing the whole terminal again in place. Pauses are multiplied by `pace`."""

    def __init__(self, scene: Scene, live: Live, console: Console, pace: float) -> None:
        self._scene = scene
        self._live = live
        self._console = console
        self._pace = pace

    def show(self) -> None:
        width = min(WIDTH, self._console.width)
        height = min(HEIGHT, self._console.height - 1)
        self._live.update(Group(*draw_screen(self._scene, width, height)), refresh=True)

    async def pause(self, seconds: float) -> None:
        await asyncio.sleep(seconds * self._pace)


class PlainStage:
    """Prints each new line of the scene once, without pauses, for output that is not a terminal."""

    def __init__(self, scene: Scene, console: Console) -> None:
        self._scene = scene
        self._console = console
        self._shown = 0
        self._share = -_POINTS
        self._notice = ""

    def show(self) -> None:
        scene = self._scene
        for line in scene.feed[self._shown :]:
            self._print(line.text)
        self._shown = len(scene.feed)
        if scene.notice.text != self._notice:
            self._notice = scene.notice.text
            self._print(f"== {self._notice}")
        if scene.usage is None:
            return
        share = percent(scene.usage.used, scene.usage.size or 0)
        if abs(share - self._share) >= _POINTS:
            self._share = share
            self._print(f"-- {scene.status}")

    async def pause(self, seconds: float) -> None:
        del seconds  # No user is watching.
        await asyncio.sleep(0)

    def _print(self, text: str) -> None:
        self._console.print(clean(text, self._scene.glyphs), soft_wrap=True)


@contextmanager
def open_stage(scene: Scene, console: Console, *, fast: bool) -> Generator[Stage]:
    """Yields a `LiveStage`, without pauses if `fast`, on a terminal; otherwise a `PlainStage`."""
    if not console.is_terminal:
        yield PlainStage(scene, console)
        return
    with Live(console=console, auto_refresh=False) as live:
        yield LiveStage(scene, live, console, pace=0.0 if fast else 1.0)


def draw_screen(scene: Scene, width: int, height: int) -> list[Text]:
    """Returns the scene as exactly `height` lines of `width` columns."""
    box = Box(scene.glyphs, width)
    box.title(scene.title, scene.model)
    rows = height - _FRAME_LINES
    lines = [*scene.feed, *_writing(scene)][-rows:]
    for line in [*lines, *[Line(text="")] * (rows - len(lines))]:
        box.line(line.text, line.style)
    box.rule()
    box.line(scene.notice.text, scene.notice.style)
    box.rule()
    _status(box, scene)
    return box.lines()


def _writing(scene: Scene) -> list[Line]:
    if not scene.writing:
        return []
    head = Line(text=f"{scene.glyphs.marker} {scene.status}", style="bold green")
    return [head, *(Line(text=f"    {text}", style="green") for text in scene.writing[-_WRITING_LINES:])]


def _status(box: Box, scene: Scene) -> None:
    usage = scene.usage
    if usage is None or usage.size is None:
        box.line(scene.status)
        return
    style = level_style(usage.used, usage.meta.ullage)
    drawn = bar(usage.used, usage.size, usage.meta.ullage.compact_at, _BAR_CELLS, scene.glyphs)
    box.row((drawn, style), ("  ", ""), (fit(scene.status, box.inner - len(drawn) - 2, scene.glyphs), style))


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
    """Returns the conversation in the file, or the sample without a file. Raises `InputError`."""
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
  ullage lost      what the last compaction left out
  ullage continue  a new session, as before a compaction

Editors: https://github.com/ullage/ullage/blob/main/docs/guide/editors.md
All commands: ullage help
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
    """Plays one conversation: appends its messages to a session of a server, and shows the updates in a scene."""

    def __init__(self, conversation: Conversation, scene: Scene, stage: Stage) -> None:
        self._conversation = conversation
        self._scene = scene
        self._stage = stage
        self._updates: asyncio.Queue[Update] = asyncio.Queue()
        self._compacted = False

    async def play(self, store: Path) -> None:
        """Starts a server with the store file `store` and plays the messages, then an undo of the last compaction, then
        the compaction again. Raises `ServerTrouble`."""
        async with start_server(store, self._settings(), self._on_notification) as client:
            session_id = await self._begin(client)
            pause = min(_LONGEST_PAUSE, _MESSAGES_TAKE / max(1, len(self._conversation.steps)))
            for step in self._conversation.steps:
                await self._append(client, session_id, step)
                await self._stage.pause(pause)
            await self._show_updates()
            if self._scene.edit_id is not None:
                before = self._scene.usage.used if self._scene.usage else 0
                self._scene.remark("undo")
                result = await client.call(
                    "context/undo", UndoParams(session_id=session_id, edit_id=self._scene.edit_id), RevertResult
                )
                await self._show_updates()
                self._scene.report(undone(before, result.usage.used))
                self._stage.show()
                await self._stage.pause(_LOOK)
                self._scene.remark("compact")
                await client.call("context/compact", CompactParams(session_id=session_id), CompactResult)
                await self._show_updates()
                await self._stage.pause(_LOOK)

    def _settings(self) -> Any:
        window = ModelSettings(window=self._conversation.window)
        # Offline, so that the demo looks the same for users with a key.
        summary = SummarySettings(writer="offline")
        return msgspec.to_builtins(Settings(models={self._conversation.model: window}, summary=summary))

    async def _begin(self, client: LanguageClient) -> str:
        conversation = self._conversation
        params = NewSessionParams(
            title=conversation.title,
            model=conversation.model,
            tools=tuple(map(msgspec.to_builtins, conversation.tools)),
        )
        return (await client.call("session/new", params, SessionResult)).session_id

    async def _append(self, client: LanguageClient, session_id: str, step: Step) -> None:
        if step.message.role is Role.ASSISTANT:
            # A client asks for the context before it asks its model, which makes it wait for a running compaction.
            await client.call("context/messages", MessagesParams(session_id=session_id, limit=1), MessagesResult)
            await self._show_updates()
        message = step.message
        content = [msgspec.to_builtins(block) for block in message.content]
        given = {"role": message.role.value, "content": content, "id": message.id, "timestamp": message.timestamp}
        # After a compaction, the usage in the transcript is that of another context.
        usage = msgspec.to_builtins(step.usage) if step.usage and not self._compacted else None
        params = AppendParams(session_id=session_id, messages=(given,), usage=usage)
        await client.call("session/append", params, AppendResult)
        self._scene.say(message)
        self._stage.show()
        await self._show_updates()

    def _on_notification(self, method: str, params: Raw) -> None:
        if method == LSP_PREFIX + UPDATE:
            self._updates.put_nowait(msgspec.json.decode(params, type=SessionNotification).update)

    async def _show_updates(self) -> None:
        while not self._updates.empty():
            update = self._updates.get_nowait()
            self._scene.told(update)
            self._compacted = self._compacted or isinstance(update, CompactionUpdate)
            self._stage.show()
            await self._stage.pause(_PAUSES.get(type(update), 0.0))
