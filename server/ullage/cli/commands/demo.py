"""`ullage demo`: shows a conversation that fills a context, is warned about, and is compacted."""

import asyncio
import io
import re
import tempfile
from argparse import Namespace
from pathlib import Path

from rich.console import Console

from ullage.cli.demo.play import Player
from ullage.cli.demo.played_transcript import ConversationOptions, load_conversation
from ullage.cli.demo.scene import Scene
from ullage.cli.demo.stage import HEIGHT, WIDTH, draw_screen, open_stage
from ullage.cli.draw.glyphs import UNICODE
from ullage.cli.output import Screen, write_file
from ullage.cli.typed_arguments import read_options

# Rich refers to fonts on a web host. A picture in a README must not load them; the reader's monospace font is enough.
_WEB = re.compile(r"\s*@font-face \{.*?\}|\s*<!--.*?-->", re.DOTALL)
_WHAT_NEXT = """
That was the real server over stdio, with no model and no network. Yours now:

  ullage context FILE    how full the context of a transcript is
  ullage compact FILE    the same compacted; FILE is never written to
  ullage import FILE     keep it as a session, to search it and to go on with it

Any LSP client can start the server today: ullage lsp
For VS Code and Neovim there are plugins in editors/, to be built from a checkout.
Read on in README.md, server/ARCHITECTURE.md and protocol/README.md.
"""


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
