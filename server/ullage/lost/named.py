"""Names that a compaction left out, each in a text that says what it is: the agent's sentences, and passages of code
and output. With them come the whole paths of files that the agent's context names only in short."""

import re
from collections.abc import Iterator, Set
from textwrap import dedent

from ullage.lost.knowledge import Known, make_loss, one_line, recency
from ullage.lost.loss import Loss
from ullage.model.artifacts import FileAction, FileArtifact
from ullage.summary.choosing.items import Item
from ullage.summary.choosing.passages import passages_of
from ullage.summary.choosing.sentences import telling
from ullage.summary.reading.contents import Source
from ullage.summary.reading.excerpts import sentences
from ullage.survive.fact import Kind

# Chosen by reading briefs: a file that was changed late is nearly worth a line, an early one that was read is not.
_CHANGED, _LATE = 0.3, 0.6
# A brief has room for about twenty passages. The heaviest have mostly the same names, so many are needed to choose
# from.
_MOST_PASSAGES = 500
# A closing tag of markup, or a folder that is too general to be looked for.
_TAG = re.compile(r"/[\w-]+")
# Characters of a passage's frame: its place and the marks around it.
_FRAME = 40
# Names shown of a passage in a list.
_MOST_NAMES = 6


def find_named(known: Known, told: Set[str]) -> Iterator[Loss]:
    """Yields the losses of names, without the sentences `told` by other losses."""
    yield from _sentences(known, {_bare(text) for text in told})
    yield from _short_paths(known)
    yield from _passages(known)


def done_to(file: FileArtifact) -> str:
    """Returns what was last done to a file, and how often it was touched if that was more than once."""
    return f"{file.action.value}, touched {file.times} times" if file.times > 1 else file.action.value


def _sentences(known: Known, met: set[str]) -> Iterator[Loss]:
    """Yields what the agent said with a name that its context lacks, the newest of equal sentences. Narration,
    fragments and the sentences that were `met` are left out."""
    for piece in reversed(known.before.digest.excerpts):
        if piece.source is Source.AGENT:
            new = [text for text in sentences(telling(piece.text)) if _bare(text) not in met]
            met.update(map(_bare, new))
            loss = make_loss(known, Kind.NAME, " ".join(new), piece.index, 0.0)
            if loss.weight > 0:
                yield loss


def _bare(sentence: str) -> str:
    return sentence.strip().rstrip(".!")


def _short_paths(known: Known) -> Iterator[Loss]:
    """Yields the files that the agent's context names, but not by their whole path, which its tools want."""
    for file in known.before.ledger.files:
        if known.carried.holds_file(file.path) and not known.carried.holds_name(file.path):
            shown = file.path.removeprefix(f"{known.before.cwd}/") if known.before.cwd else file.path
            yield Loss(
                kind=Kind.NAME,
                text=one_line(shown),
                detail=done_to(file),
                index=file.last_index,
                path=one_line(file.path),
                in_short=True,
                weight=_CHANGED * (file.action is not FileAction.READ) + _LATE * recency(known, file.last_index),
            )


def _passages(known: Known) -> Iterator[Loss]:
    """Yields the passages with the most weight of missing names for their length. At least one of the names the agent
    wrote itself."""
    missing = {
        name: 0.0 if _TAG.fullmatch(name) or known.carried.holds_name(name) else weight
        for name, weight in known.before.weights.items()
    }
    found: list[tuple[float, Loss]] = []
    for item in passages_of(known.before.digest, missing):
        names = tuple(sorted((name for name in item.anchors if missing.get(name)), key=lambda name: -missing[name]))
        if any(known.before.mentions[name].written for name in names):
            weight = sum(missing[name] for name in names)
            loss = Loss(
                kind=Kind.NAME,
                text=_place(item),
                detail=", ".join(f"`{name}`" for name in names[:_MOST_NAMES]),
                index=item.index,
                names=names,
                name_weights=tuple(missing[name] for name in names),
                lines=tuple(dedent(item.text).splitlines()),
                place=one_line(item.group),
                first_line=item.first_line,
                weight=weight,
            )
            found.append((weight / (len(item.text) + _FRAME), loss))
    found.sort(key=lambda each: -each[0])
    yield from (loss for _, loss in found[:_MOST_PASSAGES])


def _place(item: Item) -> str:
    """Returns where a passage was seen: the file with the numbers of the lines, or the command."""
    where = one_line(item.group)
    return f"{where}:{item.first_line}-{item.first_line + item.text.count(chr(10))}" if item.first_line else where
