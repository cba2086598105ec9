"""What the demo's screen shows, and how: drawn as an editor's chat on a terminal, or as plain lines into a pipe."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol

from msgspec import UNSET, Struct
from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from ullage.api.values import UsageResult
from ullage.cli.draw.parts import Box, bar, level_style
from ullage.cli.draw.text import Glyphs, clean, fit, percent, plain
from ullage.model.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from ullage.model.message import Message, Role
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
from ullage.model.usage import UsageSource
from ullage.model.words import short, shrinking

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
                    self._add(f"{self.glyphs.user} {_first_line(text)}", "bold")
                case TextBlock(text=text) if message.role is Role.ASSISTANT:
                    self._add(f"  {_first_line(text)}")
                case ToolUseBlock(name=name, input=arguments):
                    self._add(f"  {self.glyphs.tool} {name} {_main_argument(arguments)}", "dim")
                case ToolResultBlock(is_error=True, content=parts):
                    texts = [part.text for part in parts if isinstance(part, TextBlock)]
                    self._add(f"    failed: {_last_line(texts[0] if texts else '')}", "red")
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


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _last_line(text: str) -> str:
    return _first_line("\n".join(reversed(text.splitlines())))


def _main_argument(arguments: dict[str, object]) -> str:
    """Returns the first line of a tool call's first text argument, which describes best what the call is about."""
    return _first_line(next((value for value in arguments.values() if isinstance(value, str)), ""))


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
    """Returns a circle and a space; the circle is filled by quarters according to `used / size`. Returns "" if the
    glyphs have no circles."""
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
        """Waits, so that users can read the screen: `seconds`, or less if the demo runs fast or its output is not a
        terminal."""
        ...


class LiveStage:
    """Shows a scene on a terminal by drawing the whole screen again in the same place. Pauses are multiplied by
    `pace`."""

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
    """Yields a `LiveStage` if the console is a terminal, otherwise a `PlainStage`. If `fast` is true, a `LiveStage`
    makes no pauses."""
    if not console.is_terminal:
        yield PlainStage(scene, console)
        return
    with Live(console=console, auto_refresh=False) as live:
        yield LiveStage(scene, live, console, pace=0.0 if fast else 1.0)


def draw_screen(scene: Scene, width: int, height: int) -> list[Text]:
    """Returns the scene as exactly `height` lines of `width` columns."""
    box = Box(scene.glyphs, width)
    box.title(scene.title, scene.model)
    for line in _visible(scene, height - _FRAME_LINES):
        box.line(line.text, line.style)
    box.rule()
    box.line(scene.notice.text, scene.notice.style)
    box.rule()
    _status(box, scene)
    return box.lines()


def _visible(scene: Scene, rows: int) -> list[Line]:
    lines = [*scene.feed, *_writing(scene)][-rows:]
    return [*lines, *[Line(text="")] * (rows - len(lines))]


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
