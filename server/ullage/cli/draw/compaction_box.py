"""`/compact`: the box that says what a compaction did."""

from rich.text import Text

from ullage.cli.draw.box import Box
from ullage.cli.draw.glyphs import Glyphs
from ullage.cli.draw.words import percent, plural
from ullage.model.blocks import CompactionBlock


def compaction_box(block: CompactionBlock, glyphs: Glyphs) -> list[Text]:
    """Removed, saved, before and after; the summary itself is printed below it."""
    before, after = block.context_size_before, block.context_size_after
    box = Box(glyphs)
    box.title(f"Compacted #{block.compaction_number}", block.summarizer)
    box.fact("Removed", f"{block.messages_archived:>9,} {_noun(block.messages_archived)}, kept in the archive")
    box.fact("Saved", f"{before - after:>9,} tokens ({percent(before - after, before)}%)", "green")
    box.fact("Context", f"{before:>9,} {glyphs.arrow} {after:,} tokens")
    ledger = block.ledger
    box.fact("Ledger", f"{len(ledger.files):>9,} files, {plural(len(ledger.commands), 'command')}")
    return box.lines()


def _noun(count: int) -> str:
    return "message" if count == 1 else "messages"
