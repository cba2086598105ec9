"""Shows the demo's scene: drawn as an editor's chat on a terminal, or as plain lines into a pipe."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from ullage.cli.demo.scene import Line, Scene
from ullage.cli.draw.parts import Box, bar, level_style
from ullage.cli.draw.text import clean, fit, percent

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
