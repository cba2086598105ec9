"""Finds what a compaction left out: what the user demanded, what was decided, what failed and what mended it, and the
files, commands, numbers and names of the work.

The digest of the summary says what there was, the replay's definition of a fact whether the agent's own context still
has it. Names that only a result showed are left out: most of them never mattered, and can be looked up.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from ullage.lost.carried import Carried
from ullage.lost.knowledge import Before, Known, lighter, make_loss, one_line, read_before, recency
from ullage.lost.loss import Loss, ranked
from ullage.lost.named import done_to, find_named
from ullage.lost.unfinished import find_begun, find_plan
from ullage.model.artifacts import CommandArtifact, FileAction, Outcome
from ullage.model.message import Message
from ullage.redaction.clean import clean
from ullage.summary.choosing.constraints import constraints_of
from ullage.summary.choosing.findings import told_failures
from ullage.summary.choosing.items import Section
from ullage.summary.choosing.sentences import telling
from ullage.summary.reading.anchors import find_anchors
from ullage.summary.reading.contents import Source
from ullage.summary.reading.excerpts import sentences
from ullage.survive.fact import Kind, commands_in, error_fact, facts_in
from ullage.survive.guiding_sentences import SAME, sentence_of

# Worth of a loss in addition to that of its names, chosen by reading lists: no name says that a rule must be kept, that
# a failure is still open, or that a file was changed.
_RULE, _OPEN, _MENDED, _DECIDED, _CHANGED, _WORKED = 3.0, 2.0, 0.6, 0.4, 0.5, 0.4
# A command that is no test and ran only once, such as a copy or a checkout, has done what it was for.
_ONCE = 0.1
# Of commands that begin with the same words, such as one for each ticket, the newest shows how the others went.
_ALIKE, _OLDER = 2, 0.2
# A line's number, which the next edit makes wrong.
_LINE = re.compile(r"\b(?:lines?|l\.) ?~?\d+(?:(?: ?[-–,] ?| and | to )\d+)*|\w:\d+(?:[-–,]\d+)*", re.IGNORECASE)
# What a listed command has where it was too long.
_CUT = "…"


def find_lost(before: Sequence[Message], carried: Sequence[Message], cwd: str = "") -> tuple[Loss, ...]:
    """Returns what the messages `before` a compaction have and the context `carried` over it lacks, by kind and then by
    weight. Files that are named in short are among them. Paths under the folder `cwd` are shown without it."""
    return lost_from(read_before(before, cwd), carried)


def lost_from(before: Before, carried: Sequence[Message]) -> tuple[Loss, ...]:
    """Returns what the context `carried` over a compaction lacks of what was known before, as `find_lost` does."""
    known = Known(before=before, carried=Carried(carried, [file.path for file in before.ledger.files]))
    guiding = [*_distinct(_constraints(known)), *_distinct(_decisions(known))]
    worked = [*_errors(known), *_files(known), *_commands(known)]
    told = {loss.text for loss in guiding}
    figures = [loss for loss in _numbers(known) if loss.text not in told]
    told.update(loss.text for loss in figures)
    return ranked([*guiding, *worked, *figures, *find_plan(known), *find_begun(known), *find_named(known, told)])


def _constraints(known: Known) -> Iterator[Loss]:
    """Yields the user's constraints: from what was typed, and from very long requests, in which they are easily
    missed."""
    typed = [told for told in known.before.told if told.sentence.kind is Kind.CONSTRAINT]
    for told in typed:
        if not known.carried.says(told.sentence):
            yield make_loss(known, Kind.CONSTRAINT, told.text, told.index, _RULE + recency(known, told.index))
    met = {told.index for told in typed}
    for item in constraints_of(known.before.digest):
        heads_a_list = item.text.endswith(":")
        if not (heads_a_list or item.index in met or known.carried.says(sentence_of(Kind.CONSTRAINT, item.text))):
            yield make_loss(known, Kind.CONSTRAINT, item.text, item.index, 1.0 + recency(known, item.index))


def _distinct(losses: Iterable[Loss]) -> Iterator[Loss]:
    """Yields the losses without those that a heavier one of them says in other words. A loss that names something else
    is another one, however alike the rest is: a rule for each of many files is many rules."""
    kept: list[tuple[frozenset[str], frozenset[str]]] = []
    for loss in sorted(losses, key=lambda each: (-each.weight, -each.index)):
        words, names = sentence_of(loss.kind, loss.text).words, frozenset(loss.names)
        if not words or not any(names <= others and len(words & known) >= SAME * len(words) for known, others in kept):
            kept.append((words, names))
            yield loss


def _decisions(known: Known) -> Iterator[Loss]:
    for told in known.before.told:
        if told.sentence.kind is Kind.DECISION and not known.carried.says(told.sentence):
            text = telling(clean(told.text).replace("**", ""))
            if text:
                yield make_loss(known, Kind.DECISION, text, told.index, _DECIDED + recency(known, told.index) / 2)


def _errors(known: Known) -> Iterator[Loss]:
    """Yields failures whose most informative line the agent's context lacks."""
    for line, item in told_failures(known.before.digest):
        fact = error_fact(line)
        if fact is None or known.carried.holds([fact]) or known.carried.says(sentence_of(Kind.ERROR, line)):
            continue
        worth = _OPEN if item.section is Section.OPEN else _MENDED
        yield make_loss(known, Kind.ERROR, item.text, item.index, worth + recency(known, item.index))


def _files(known: Known) -> Iterator[Loss]:
    for file in known.before.ledger.files:
        if not known.carried.holds_file(file.path):
            changed = file.action is not FileAction.READ
            path = file.path.removeprefix(f"{known.before.cwd}/") if known.before.cwd else file.path
            worth = (
                _CHANGED * (changed and file.action is not FileAction.DELETED)
                + recency(known, file.last_index) / 2
                + _heaviest(known, file.path)
            )
            yield Loss(
                kind=Kind.PATH,
                text=one_line(path),
                detail=done_to(file),
                index=file.last_index,
                names=(file.path,),
                path=one_line(file.path),
                weight=worth,
            )


def _commands(known: Known) -> Iterator[Loss]:
    """Yields the commands that did not fail and that the agent's context lacks, the newest first. Failed ones are among
    the errors. One that was too long to be listed whole can't be run again."""
    met = set[str]()
    for ran in sorted(known.before.ledger.commands, key=lambda each: -each.last_index):
        facts = [] if _CUT in ran.command else [*commands_in(ran.command)]
        if not facts or ran.outcome is Outcome.FAILED:
            continue
        alike = " ".join(facts[-1].text.split()[:_ALIKE])
        is_newest = ran.is_test or alike not in met
        met.add(alike)
        if not known.carried.holds(facts):
            worth = _WORKED * (ran.outcome is Outcome.PASSED) + recency(known, ran.last_index)
            worth *= 1 if ran.is_test or ran.times > 1 else _ONCE
            loss = make_loss(known, Kind.COMMAND, f"`{ran.command}`", ran.last_index, worth)
            yield replace(loss if is_newest else lighter(loss, _OLDER), detail=_ended(ran))


def _ended(ran: CommandArtifact) -> str:
    outcome = "" if ran.outcome is Outcome.UNKNOWN else ran.outcome.value
    return ": ".join(part for part in (outcome, one_line(ran.detail)) if part)


def _numbers(known: Known) -> Iterator[Loss]:
    """Yields the sentences of the user and the agent that have a number which the agent's context lacks, the newest
    for each number."""
    met = set[str]()
    said = [(piece.index, piece.text) for piece in known.before.digest.excerpts if piece.source is Source.AGENT]
    said += [(request.index, request.text) for request in known.before.digest.requests]
    for index, whole in sorted(said, key=lambda each: -each[0]):
        for sentence in (part for line in whole.splitlines() for part in sentences(line)):
            bare = _LINE.sub("", sentence)
            found = {fact.text for fact in facts_in(bare) if fact.kind is Kind.NUMBER} - met
            missing = {number for number in found if not known.carried.holds_name(number)}
            if missing and (text := telling(sentence)):
                met |= missing
                yield make_loss(known, Kind.NUMBER, text, index, recency(known, index))


def _heaviest(known: Known, path: str) -> float:
    return max((known.before.weights.get(name, 0.0) for name in find_anchors(path)), default=0.0)
