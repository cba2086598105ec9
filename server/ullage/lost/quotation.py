"""Losses as text: quoted line by line under fixed headings, each with the number of its message."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from ullage.lost import quoted_passages
from ullage.lost.loss import ORDER, Loss, Under, noun_of
from ullage.model.message import number_of
from ullage.redaction.quoting import QUOTE
from ullage.survive.fact import Kind

_FILES, _SAID = "Files, with what was last done to them", "What else was said, with names that the summary lacks"
_UNDER = {
    Under.PLAN: "What the agent's last plan still had open",
    Under.BEGUN: "Sub-agents and background commands, by the ids with which they are asked",
}
_OF_KIND = {
    Kind.CONSTRAINT: "The user's own words on what must be and what must not be",
    Kind.ERROR: "What failed, and what became of it",
    Kind.DECISION: "What was decided or found",
    Kind.PATH: _FILES,
    Kind.COMMAND: "Commands that ran",
    Kind.NUMBER: "Figures",
    Kind.NAME: _SAID,
}
# What must be obeyed, then what is to be done, then what the work has come to.
_FIRST = (_OF_KIND[Kind.CONSTRAINT], *_UNDER.values())
_HEADINGS = tuple(dict.fromkeys((*_FIRST, *_OF_KIND.values(), quoted_passages.HEADING)))


def heading_of(loss: Loss) -> str:
    """Returns the heading under which a loss is written."""
    if loss.lines:
        return quoted_passages.HEADING
    if loss.under:
        return _UNDER[loss.under]
    return _FILES if loss.path else _OF_KIND[loss.kind]


def write_loss(loss: Loss) -> str:
    """Returns the text of one loss, as long as it makes the whole at most."""
    if loss.lines:
        return quoted_passages.write_passage(loss)
    return f"{_file(loss)}, " if loss.path else f"{_line(loss)}\n"


def frames_of(loss: Loss) -> Iterator[tuple[object, str]]:
    """Yields the frames that a loss is in, each with what is the same for all losses that share it."""
    yield heading_of(loss), f"\n\n{heading_of(loss)}:\n"
    if loss.lines:
        yield quoted_passages.frame_key(loss), quoted_passages.frame_of(loss)


def write_losses(losses: Sequence[Loss]) -> Iterator[str]:
    """Yields the text of each heading's losses, in the order of the conversation."""
    for heading in _HEADINGS:
        own = sorted((loss for loss in losses if heading_of(loss) == heading), key=lambda loss: (loss.index, loss.text))
        if own and heading == quoted_passages.HEADING:
            yield "\n".join(quoted_passages.write_passages(own))
        elif own:
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


def _joined(texts: Sequence[str]) -> str:
    """Returns sentences of one message on one line. One without final punctuation gets a semicolon after it, except
    the last."""
    return " ".join(text if text[-1:] in ".!?:;," else f"{text};" for text in texts).removesuffix(";")
