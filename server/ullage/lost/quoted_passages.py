"""Passages of code and output as text: those of one file or command share a frame, and the folder that most files share
is named once."""

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise

from ullage.lost.loss import Loss
from ullage.model.message import number_of
from ullage.redaction.quoting import QUOTE

HEADING = "Code and output, as it was then"
_FENCE = f"{QUOTE}```"
# Between two passages that did not follow one another.
_GAP = f"{QUOTE}…"
# Parts of a path, the empty one before its first slash included. A folder with fewer says nothing.
_SHALLOWEST = 4


def write_passage(loss: Loss) -> str:
    """Returns the text of one passage without its frame, as long as it makes the whole at most."""
    return "".join(f"{line}\n" for line in (*_quoted(loss), _GAP)) + f"{_numbers([loss])}, "


def frame_of(loss: Loss) -> str:
    """Returns the frame that passages of the same file or command and message share."""
    return f"{_head([loss], '')}\n{_FENCE}\n{_FENCE}\n"


def frame_key(loss: Loss) -> tuple[str, int]:
    """Returns what passages must have in common to share a frame."""
    return loss.place, loss.index


def write_passages(losses: Sequence[Loss]) -> Iterator[str]:
    """Yields the lines of passages, with their heading, in the order of the conversation."""
    folder = _common_folder([loss.place for loss in losses])
    yield f"{HEADING}:"
    if folder:
        yield f"{QUOTE}Files are in {folder}"
    ordered = sorted(losses, key=lambda loss: (loss.index, loss.place, loss.first_line, loss.text))
    for _, members in groupby(ordered, key=frame_key):
        own = [*members]
        yield _head(own, folder)
        yield _FENCE
        yield from _quoted(own[0])
        for before, loss in pairwise(own):
            if not _follows(before, loss):
                yield _GAP
            yield from _quoted(loss)
        yield _FENCE


def _quoted(loss: Loss) -> list[str]:
    return [f"{QUOTE}{line}" for line in loss.lines]


def _head(members: Sequence[Loss], folder: str) -> str:
    """Returns the line with the message, the file or command, and the numbers of the lines."""
    numbers = _numbers(members)
    where = members[0].place or members[0].text
    return f"{QUOTE}#{number_of(members[0].index)} {where.removeprefix(folder)}{f':{numbers}' if numbers else ''}"


def _numbers(members: Sequence[Loss]) -> str:
    """Returns the first and last number of each run of lines; empty if one is unknown."""
    if not all(loss.first_line for loss in members):
        return ""
    runs: list[tuple[int, int]] = []
    for loss in members:
        last = loss.first_line + len(loss.lines) - 1
        if runs and loss.first_line == runs[-1][1] + 1:
            runs[-1] = runs[-1][0], last
        else:
            runs.append((loss.first_line, last))
    return ", ".join(f"{first}-{last}" for first, last in runs)


def _follows(before: Loss, loss: Loss) -> bool:
    return bool(loss.first_line) and loss.first_line == before.first_line + len(before.lines)


def _common_folder(places: Sequence[str]) -> str:
    """Returns the folder that shortens these places most when it is named once, empty if none is below two of them."""
    files = [place for place in dict.fromkeys(places) if place.startswith("/") and " " not in place]
    saved: dict[str, int] = {}
    for file in files:
        parts = file.split("/")
        for deep in range(_SHALLOWEST, len(parts)):
            folder = "/".join(parts[:deep]) + "/"
            saved[folder] = saved.get(folder, -len(folder)) + len(folder)
    best = max(saved, key=lambda folder: saved[folder], default="")
    return best if best and saved[best] > 0 else ""
