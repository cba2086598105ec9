"""The windows that Claude Code gives its models, and what its log says of them.

Each was asked of the program with `/context`, which needs no model. A name that ends in `[1m]` means a million tokens
in every version. Without it, the versions 2.1.197 to 2.1.283 gave every model that was tried 200,000 tokens, and the
versions 2.1.291 to 2.1.316 gave a million to all but older models. The versions between were not tried.
"""

import re

from ullage.agents.claude_code.entry import Entry
from ullage.agents.own_context import Rule, Setup, version_of
from ullage.formats.transcripts.anthropic_blocks import read_blocks
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.model.blocks import join_texts

USUAL, MILLION = 200_000, 1_000_000
_CHOSEN = "[1m]"
_MILLION_BY_ITSELF = (2, 1, 291)
# Models to which these versions, too, give 200,000 tokens.
_OLDER = re.compile(r"claude-(3|(sonnet|haiku)-[34]\b|opus-(3|4$|4-20|4-[0156]\b))")
# What `/context` prints as Markdown, for example `**Tokens:** 13.3k / 1m (1%)`. Only these windows are not rounded.
_TOLD = re.compile(r"\*\*Tokens:\*\* \S+ / (200k|1m) \(")
_SIZES = {"200k": USUAL, "1m": MILLION}


def usual_window(setup: Setup) -> Rule:
    """Returns the window that Claude Code gives a model if its user chooses none."""
    if _CHOSEN in setup.model:
        return Rule(tokens=MILLION, basis="the model's name ends in [1m]")
    is_new = "claude-" in setup.model and not _OLDER.search(setup.model)
    if is_new and version_of(setup.version) >= _MILLION_BY_ITSELF:
        return Rule(tokens=MILLION, basis=f"Claude Code {setup.version} gives {setup.model} a million tokens")
    return Rule(tokens=USUAL, basis="Claude Code's window unless a larger one is chosen")


class WindowReader:
    """Reads from a log's lines which window the agent says that it has. Versions before 2.1.316 only say it with
    `/context`."""

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self._is_chosen = False

    def read_answer(self, requested: str, timestamp: int) -> None:
        """Reads the name of the model that was asked for an answer, which the builder has. Unlike the answer's own
        model it ends in `[1m]` if a million tokens were chosen. Versions that don't write it have ""."""
        if not requested:
            return
        was_chosen, self._is_chosen = self._is_chosen, _CHOSEN in requested
        if self._is_chosen or was_chosen:
            window = usual_window(Setup(version=self._builder.version, model=requested))
            self._builder.window(window.tokens, timestamp=timestamp)

    def read_prompt(self, entry: Entry) -> None:
        """Reads a line of the user's role, which may be the output of `/context`."""
        if entry.value.get("isMeta") is not True:
            return
        told = _TOLD.search(join_texts(read_blocks(entry.content)))
        if told:
            self._builder.window(_SIZES[told[1]], timestamp=entry.timestamp)
