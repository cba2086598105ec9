"""Losses as text: quoted line by line under fixed headings, each with the number of its message."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from ullage.lost.loss import ORDER, Loss, noun_of
from ullage.model.message import number_of
from ullage.redaction.quoting import QUOTE
from ullage.survive.fact import Kind

_FILES, _SAID = "Files, with what was last done to them", "What else was said, with names that the summary lacks"
_PASSAGES = "Code and output, as it was then"
_OF_KIND = {
    Kind.CONSTRAINT: "The user's own words on what must be and what must not be",
    Kind.ERROR: "What failed, and what became of it",
    Kind.DECISION: "What was decided or found",
    Kind.PATH: _FILES,
    Kind.COMMAND: "Commands that ran",
    Kind.NUMBER: "Figures",
    Kind.NAME: _SAID,
}
_HEADINGS = (*_OF_KIND.values(), _PASSAGES)
_FENCE = f"{QUOTE}```"


def heading_of(loss: Loss) -> str:
    """Returns the heading under which a loss is written."""
    if loss.lines:
        return _PASSAGES
    return _FILES if loss.path else _OF_KIND[loss.kind]


def write_loss(loss: Loss) -> str:
    """Returns the text of one loss, as long as it makes the whole at most."""
    if loss.lines:
        return f"{_passage(loss)}\n"
    return f"{_file(loss)}, " if loss.path else f"{_line(loss)}\n"


def write_losses(losses: Sequence[Loss]) -> Iterator[str]:
    """Yields the text of each heading's losses, in the order of the conversation."""
    for heading in _HEADINGS:
        own = sorted((loss for loss in losses if heading_of(loss) == heading), key=lambda loss: (loss.index, loss.text))
        if own:
            yield "\n".join([f"{heading}:", *_written(heading, own)])


def told_rest(others: Iterable[Loss]) -> str:
    """Returns a line with what has no room in a brief; empty if there is nothing."""
    counts = Counter(loss.kind for loss in others if not loss.in_short)
    told = ", ".join(noun_of(kind, counts[kind]) for kind in ORDER if counts[kind])
    return f"Not given here: {told}." if told else ""


def _written(heading: str, losses: Sequence[Loss]) -> Iterator[str]:
    if heading == _FILES:
        yield from _files(losses)
    elif heading == _SAID:
        for index, said in groupby(losses, key=lambda loss: loss.index):
            yield f"{QUOTE}#{number_of(index)} {_joined([loss.text for loss in said])}"
    elif heading == _PASSAGES:
        yield from map(_passage, losses)
    else:
        yield from map(_line, losses)


def _files(losses: Sequence[Loss]) -> Iterator[str]:
    """Yields a line for all files to which the same was done last, and one for each that is no path."""
    done: dict[str, list[str]] = {}
    for loss in losses:
        if loss.path:
            done.setdefault(loss.detail.partition(",")[0], []).append(_file(loss))
        else:
            yield _line(loss)
    for action, files in done.items():
        yield f"{QUOTE}{action}: {', '.join(files)}"


def _file(loss: Loss) -> str:
    return f"{loss.path} (#{number_of(loss.index)})"


def _line(loss: Loss) -> str:
    detail = f" ({loss.detail})" if loss.detail else ""
    return f"{QUOTE}#{number_of(loss.index)} {loss.text}{detail}"


def _passage(loss: Loss) -> str:
    lines = (f"{QUOTE}{line}" for line in loss.lines)
    return "\n".join([f"{QUOTE}#{number_of(loss.index)} {loss.text}", _FENCE, *lines, _FENCE])


def _joined(texts: Sequence[str]) -> str:
    """Returns sentences of one message on one line. One without final punctuation gets a semicolon after it, except
    the last."""
    return " ".join(text if text[-1:] in ".!?:;," else f"{text};" for text in texts).removesuffix(";")
