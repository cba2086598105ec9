"""The scene drawn: an editor's chat with its status line, in a box."""

from rich.text import Text

from ullage.cli.demo.scene import Line, Scene
from ullage.cli.draw.bar import bar, level_style
from ullage.cli.draw.box import Box
from ullage.cli.draw.fit import fit

# Title, rules, notice and status beside the feed.
_FRAME_LINES = 8
_BAR_CELLS = 30
# While a summary is written, so many of its newest lines are shown.
_WRITING_LINES = 8


def draw_screen(scene: Scene, width: int, height: int) -> list[Text]:
    """Exactly `height` lines of `width` columns."""
    box = Box(scene.glyphs, width)
    box.title(scene.title, scene.model)
    for line in _visible(scene, height - _FRAME_LINES):
        box.row((fit(line.text, box.inner, scene.glyphs), line.style))
    box.rule()
    box.row((fit(scene.notice.text, box.inner, scene.glyphs), scene.notice.style))
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
        box.row((fit(scene.status, box.inner, scene.glyphs), ""))
        return
    style = level_style(usage.used, usage.meta.ullage)
    drawn = bar(usage.used, usage.size, usage.meta.ullage.compact_at, _BAR_CELLS, scene.glyphs)
    box.row((drawn, style), ("  ", ""), (fit(scene.status, box.inner - len(drawn) - 2, scene.glyphs), style))
