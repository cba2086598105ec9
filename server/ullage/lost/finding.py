"""Finds what a compaction left out: what the user demanded, what was decided, what failed and what mended it, and the
files, commands, numbers and names of the work.

The digest of the summary says what there was, the replay's definition of a fact whether the agent's own context still
has it. What only a result showed is left out: most of it never mattered, and can be looked up.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ullage.lost.carried import Carried
from ullage.lost.loss import Loss, ranked
from ullage.model.artifacts import ArtifactLedger, CommandArtifact, FileAction, FileArtifact, Outcome
from ullage.model.message import Message
from ullage.redaction.clean import clean
from ullage.summary.choosing.constraints import constraints_of
from ullage.summary.choosing.findings import told_failures
from ullage.summary.choosing.items import Section
from ullage.summary.choosing.ledger import collect_from
from ullage.summary.choosing.sentences import sentences, telling
from ullage.summary.choosing.weights import count_mentions, weigh
from ullage.summary.reading.anchors import find_anchors
from ullage.summary.reading.digest import Digest, Source, read_messages
from ullage.summary.reading.excerpts import shorten
from ullage.summary.reading.text_reader import Reader
from ullage.survive.fact import Kind, commands_in, error_fact, facts_in
from ullage.survive.guiding_sentences import Told, sentence_of, told_in

# Worth of a loss in addition to that of its names, chosen by reading lists: no name says that a rule must be kept, that
# a failure is still open, or that a file was changed.
_RULE, _OPEN, _MENDED, _DECIDED, _CHANGED, _WORKED = 3.0, 2.0, 0.6, 0.4, 0.5, 0.4
# Characters. A longer sentence is a list or a pasted line, whose beginning says what it is.
_LONGEST = 400
# What a listed command has where it was too long.
_CUT = "…"


class Before(Struct, frozen=True, kw_only=True):
    """What was known before a compaction: `count` messages, read. `weights` are those of the anchors."""

    count: int
    told: tuple[Told, ...]
    digest: Digest
    weights: dict[str, float]
    ledger: ArtifactLedger
    cwd: str


class _Known(Struct, frozen=True, kw_only=True):
    """What was known before the compaction, and the agent's context after it."""

    before: Before
    carried: Carried


def read_before(messages: Sequence[Message], cwd: str = "") -> Before:
    """Reads the messages before a compaction, for `lost_from`. This takes nearly all of the time, and needs no summary
    yet. Paths under the folder `cwd` are written without it."""
    digest = read_messages(messages, range(len(messages)), Reader())
    mentions = count_mentions(digest.excerpts)
    weights = weigh(mentions)
    return Before(
        count=len(messages),
        told=tuple(told_in(messages)),
        digest=digest,
        weights=weights,
        ledger=collect_from(digest, mentions, weights),
        cwd=cwd.rstrip("/"),
    )


def find_lost(before: Sequence[Message], carried: Sequence[Message], cwd: str = "") -> tuple[Loss, ...]:
    """Returns what the messages `before` a compaction have and the context `carried` over it lacks, by kind and then by
    weight. Paths under the folder `cwd` are written without it."""
    return lost_from(read_before(before, cwd), carried)


def lost_from(before: Before, carried: Sequence[Message]) -> tuple[Loss, ...]:
    """Returns what the context `carried` over a compaction lacks of what was known before, as `find_lost` does."""
    known = _Known(before=before, carried=Carried(carried, [file.path for file in before.ledger.files]))
    guiding = [*_constraints(known), *_decisions(known)]
    worked = [*_errors(known), *_files(known), *_commands(known)]
    told = {loss.text for loss in guiding}
    figures = [loss for loss in _numbers(known) if loss.text not in told]
    told.update(loss.text for loss in figures)
    names = [loss for loss in _names(known) if loss.text not in told]
    return ranked([*guiding, *worked, *figures, *names])


def _constraints(known: _Known) -> Iterator[Loss]:
    """Yields the user's constraints: from what was typed, and from very long requests, in which they are easily
    missed."""
    typed = [told for told in known.before.told if told.sentence.kind is Kind.CONSTRAINT]
    for told in typed:
        if not known.carried.says(told.sentence):
            yield _loss(known, Kind.CONSTRAINT, told.text, told.index, _RULE + _recency(known, told.index))
    met = {told.index for told in typed}
    for item in constraints_of(known.before.digest):
        heads_a_list = item.text.endswith(":")
        if not (heads_a_list or item.index in met or known.carried.says(sentence_of(Kind.CONSTRAINT, item.text))):
            yield _loss(known, Kind.CONSTRAINT, item.text, item.index, 1.0 + _recency(known, item.index))


def _decisions(known: _Known) -> Iterator[Loss]:
    for told in known.before.told:
        if told.sentence.kind is Kind.DECISION and not known.carried.says(told.sentence):
            text = telling(clean(told.text))
            if text:
                yield _loss(known, Kind.DECISION, text, told.index, _DECIDED + _recency(known, told.index) / 2)


def _errors(known: _Known) -> Iterator[Loss]:
    """Yields failures whose most informative line the agent's context lacks."""
    for line, item in told_failures(known.before.digest):
        fact = error_fact(line)
        if fact is None or known.carried.holds([fact]) or known.carried.says(sentence_of(Kind.ERROR, line)):
            continue
        worth = _OPEN if item.section is Section.OPEN else _MENDED
        yield _loss(known, Kind.ERROR, item.text, item.index, worth + _recency(known, item.index))


def _files(known: _Known) -> Iterator[Loss]:
    for file in known.before.ledger.files:
        if not known.carried.holds_file(file.path):
            changed = file.action is not FileAction.READ
            path = file.path.removeprefix(f"{known.before.cwd}/") if known.before.cwd else file.path
            worth = _CHANGED * changed + _recency(known, file.last_index) / 2 + _heaviest(known, file.path)
            yield Loss(
                kind=Kind.PATH,
                text=_one_line(path),
                detail=_done(file),
                index=file.last_index,
                names=(file.path,),
                weight=worth,
            )


def _done(file: FileArtifact) -> str:
    return f"{file.action.value}, touched {file.times} times" if file.times > 1 else file.action.value


def _commands(known: _Known) -> Iterator[Loss]:
    """Yields the commands that did not fail and that the agent's context lacks. Failed ones are among the errors. One
    that was too long to be listed whole can't be run again."""
    for ran in known.before.ledger.commands:
        facts = [] if _CUT in ran.command else [*commands_in(ran.command)]
        if facts and ran.outcome is not Outcome.FAILED and not known.carried.holds(facts):
            worth = _WORKED * (ran.outcome is Outcome.PASSED) + _recency(known, ran.last_index)
            loss = _loss(known, Kind.COMMAND, f"`{ran.command}`", ran.last_index, worth)
            yield replace(loss, detail=_ended(ran))


def _ended(ran: CommandArtifact) -> str:
    outcome = "" if ran.outcome is Outcome.UNKNOWN else ran.outcome.value
    return ": ".join(part for part in (outcome, _one_line(ran.detail)) if part)


def _numbers(known: _Known) -> Iterator[Loss]:
    """Yields the sentences of the user and the agent that have a number which the agent's context lacks, the newest
    for each number."""
    met = set[str]()
    said = [(piece.index, piece.text) for piece in known.before.digest.excerpts if piece.source is Source.AGENT]
    said += [(request.index, request.text) for request in known.before.digest.requests]
    for index, whole in sorted(said, key=lambda each: -each[0]):
        for sentence in (part for line in whole.splitlines() for part in sentences(line)):
            found = {fact.text for fact in facts_in(sentence) if fact.kind is Kind.NUMBER} - met
            missing = {number for number in found if not known.carried.holds_name(number)}
            if missing and (text := telling(sentence)):
                met |= missing
                yield _loss(known, Kind.NUMBER, text, index, _recency(known, index))


def _names(known: _Known) -> Iterator[Loss]:
    """Yields the text around each name that the agent wrote and its context lacks."""
    by_context: dict[str, list[tuple[str, int]]] = {}
    for found in known.before.ledger.identifiers:
        if not known.carried.holds_name(found.name):
            by_context.setdefault(found.context or found.name, []).append((found.name, found.last_index))
    for context, found in by_context.items():
        absent = [name for name, _ in found if name not in context]
        text = f"{', '.join(f'`{name}`' for name in absent)}: {context}" if absent else context
        yield _loss(known, Kind.NAME, text, max(index for _, index in found), 0.0)


def _loss(known: _Known, kind: Kind, text: str, index: int, worth: float) -> Loss:
    """Returns the loss of a text. Its weight is `worth` and the weights of the names that it alone has."""
    line = _one_line(text)
    names = tuple(name for name in dict.fromkeys(find_anchors(line)) if not known.carried.holds_name(name))
    weight = worth + sum(known.before.weights.get(name, 0.0) for name in names)
    return Loss(kind=kind, text=line, index=index, names=names, weight=weight)


def _one_line(text: str) -> str:
    """Returns a text cleaned, on one line and without marks of a list."""
    # Names of files and lines of output may imitate an order, too.
    return shorten(" ".join(clean(text).split()).lstrip("-*>| "), _LONGEST)


def _heaviest(known: _Known, path: str) -> float:
    return max((known.before.weights.get(name, 0.0) for name in find_anchors(path)), default=0.0)


def _recency(known: _Known, index: int) -> float:
    """Returns how late a message is, from 0 to 1: a later word corrects an earlier one."""
    return index / max(1, known.before.count - 1)
