"""The artifact ledger: collected from tool calls, merged over compactions, fitted to a budget."""

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from operator import attrgetter
from typing import TypeVar

from msgspec.structs import replace

from ullage.agents.shell_purpose import purpose_of
from ullage.model.artifacts import (
    ArtifactLedger,
    CommandArtifact,
    FileAction,
    FileArtifact,
    IdentifierArtifact,
    Outcome,
)
from ullage.model.marker import render_ledger
from ullage.model.message import Message
from ullage.summary.checks import Check, go_on
from ullage.summary.choosing.ledger_files import files_of, join_files, named_once
from ullage.summary.choosing.mends import failures_of, is_overtaken
from ullage.summary.choosing.weights import Mention, count_mentions, weigh
from ullage.summary.reading.anchors import is_path
from ullage.summary.reading.digest import Digest, read_messages
from ullage.summary.reading.excerpts import clip
from ullage.summary.reading.text_reader import Reader
from ullage.tokens.counter import TokenCounter

# No budget has room for more than these. The limits bound the merging and the ranking.
MAX_FILES, MAX_COMMANDS, MAX_IDENTIFIERS = 400, 200, 200
_CONTEXT_LIMIT = 150
# Commands that only change files or the repository.
_CHANGES = re.compile(r"(?:git|cp|mv|rm|mkdir|touch|chmod|ln|sed -i) ")
_PATH = attrgetter("path")
Artifact = FileArtifact | CommandArtifact | IdentifierArtifact
_A = TypeVar("_A", FileArtifact, CommandArtifact, IdentifierArtifact)


def collect(messages: Sequence[Message], indices: Sequence[int]) -> ArtifactLedger:
    """Returns the ledger of some messages. `indices` are their indices in the transcript, in the same order."""
    digest = read_messages(messages, indices, Reader())
    mentions = count_mentions(digest.contents)
    return with_contexts(collect_from(digest, mentions, weigh(mentions)), mentions)


def collect_from(
    digest: Digest, mentions: Mapping[str, Mention], weights: Mapping[str, float], check: Check = go_on
) -> ArtifactLedger:
    """Returns the ledger of a digest, its names without their contexts. `mentions` and `weights` are those of the
    digest's anchors."""
    return _ranked(files_of(digest, check), _commands(digest), _identifiers(mentions, weights))


def with_contexts(ledger: ArtifactLedger, mentions: Mapping[str, Mention]) -> ArtifactLedger:
    """Returns the ledger with the text around the last occurrence of each name that has a mention: in the agent's prose
    if the name occurs there, else elsewhere."""
    told = [
        replace(item, context=_context(item.name, mentions[item.name])) if item.name in mentions else item
        for item in ledger.identifiers
    ]
    return replace(ledger, identifiers=tuple(told))


def merge(old: ArtifactLedger, new: ArtifactLedger) -> ArtifactLedger:
    """Returns both ledgers as one. If both have the same file, command or name, the newer entry is used and the counts
    are added."""
    return _ranked(
        (*old.files, *new.files),
        (*old.commands, *new.commands),
        (*old.identifiers, *new.identifiers),
    )


def fit(ledger: ArtifactLedger, budget_tokens: int, counter: TokenCounter) -> ArtifactLedger:
    """Returns the most important artifacts of a ledger, as many as count at most `budget_tokens` when rendered."""
    order = _interleaved(ledger)

    def cost(chosen: int) -> int:
        return counter.count(render_ledger(_only(order[:chosen])))

    if len(order) <= budget_tokens and cost(len(order)) <= budget_tokens:
        return _only(order)
    # More artifacts need more tokens, except that a folder common to all is written once. So the count is not strictly
    # growing, and the binary search may end slightly too high.
    chosen = bisect_right(range(min(len(order), budget_tokens)), budget_tokens, key=lambda last: cost(last + 1))
    while chosen and cost(chosen) > budget_tokens:
        chosen -= max(1, chosen // 16)
    return _only(order[:chosen])


def _interleaved(ledger: ArtifactLedger) -> list[Artifact]:
    """Returns all artifacts, the most important first: two files for each command, and identifiers last, because the
    summary's text quotes identifiers, too."""
    files = zip_longest(ledger.files[::2], ledger.files[1::2])
    rows = zip_longest(files, ledger.commands, fillvalue=None)
    flat = (entry for pair, command in rows for entry in (*(pair or ()), command))
    return [*(artifact for artifact in flat if artifact is not None), *ledger.identifiers]


def _only(artifacts: Sequence[Artifact]) -> ArtifactLedger:
    return ArtifactLedger(
        files=tuple([entry for entry in artifacts if isinstance(entry, FileArtifact)]),
        commands=tuple([entry for entry in artifacts if isinstance(entry, CommandArtifact)]),
        identifiers=tuple([entry for entry in artifacts if isinstance(entry, IdentifierArtifact)]),
    )


def _ranked(
    files: Iterable[FileArtifact], commands: Iterable[CommandArtifact], identifiers: Iterable[IdentifierArtifact]
) -> ArtifactLedger:
    """Returns the ledger of these entries, the most important first. Entries for the same file, command or name become
    one: the later entry with the counts of both. A file that some calls name by a relative path and others by an
    absolute one has the absolute one."""
    names = _fold(identifiers, lambda item: item.name, _join_identifiers)
    newest = max((item.last_index for item in names), default=0) or 1
    return ArtifactLedger(
        files=_best(_fold(named_once(files), _PATH, join_files), _file_rank, MAX_FILES),
        commands=_best(_standing(_fold(commands, _command_key, _join_commands)), _command_rank, MAX_COMMANDS),
        identifiers=_best(
            names, lambda item: math.log2(1 + item.times) + 2 * item.last_index / newest, MAX_IDENTIFIERS
        ),
    )


def _best(entries: Iterable[_A], rank: Callable[[_A], float], most: int) -> tuple[_A, ...]:
    return tuple(sorted(entries, key=rank, reverse=True)[:most])


def _file_rank(file: FileArtifact) -> float:
    # A changed file comes before all files that were only read. Within each kind the latest comes first. What only
    # messages that stay changed, they say as well.
    if file.action is FileAction.READ:
        return file.last_index
    return file.last_index + (1e9 if file.times else 1e8)


def _command_rank(command: CommandArtifact) -> float:
    return command.last_index + 1e9 * (command.is_test + (command.outcome is Outcome.FAILED))


def _fold(entries: Iterable[_A], key: Callable[[_A], str], join: Callable[[_A, _A], _A]) -> list[_A]:
    folded: dict[str, _A] = {}
    for entry in entries:
        name = key(entry)
        folded[name] = join(folded[name], entry) if name in folded else entry
    return list(folded.values())


def _command_key(item: CommandArtifact) -> str:
    return "\n".join(purpose_of(item.command).keys)


def _standing(commands: Sequence[CommandArtifact]) -> Iterator[CommandArtifact]:
    """Yields the commands without failed tests that were part of a later test run that passed."""
    passed: dict[str, int] = {}
    for item in commands:
        if item.is_test and item.outcome is Outcome.PASSED:
            passed.update((key, max(item.last_index, passed.get(key, 0))) for key in purpose_of(item.command).certain)
    for item in commands:
        is_failed_test = item.is_test and item.outcome is Outcome.FAILED
        keys = purpose_of(item.command).keys
        if not (is_failed_test and all(is_overtaken(key, passed, item.last_index) for key in keys)):
            yield item


def _join_commands(old: CommandArtifact, new: CommandArtifact) -> CommandArtifact:
    return replace(new, times=old.times + new.times)


def _join_identifiers(old: IdentifierArtifact, new: IdentifierArtifact) -> IdentifierArtifact:
    return replace(new, times=old.times + new.times, context=new.context or old.context)


def _commands(digest: Digest) -> Iterator[CommandArtifact]:
    """Yields the commands of the archived messages with their newest outcome, which messages that stay in the context
    may show. Left out are failed ones that passed as a part of others, and, unless they failed, those that only change
    files or the repository: the list of files and the state of the work say what came of them."""
    after = {run.purpose.keys: run for run in (digest.after.runs if digest.after else ())}
    failures = {run.number: failure for failure in failures_of(digest) for run in failure.runs}
    for run in digest.runs:
        if run.looks or run.purpose.once:
            continue
        failure = failures.get(run.number)
        ended = after.get(run.purpose.keys) or (failure and (failure.cure or failure.again)) or run
        if ended.outcome is not Outcome.FAILED and all(map(_CHANGES.match, run.purpose.keys)):
            continue
        same = ended.purpose.keys == run.purpose.keys
        if same or ended.outcome is Outcome.UNKNOWN:
            yield CommandArtifact(
                command=run.command,
                outcome=ended.outcome,
                is_test=run.is_test,
                detail=ended.detail if same else "",
                last_index=run.index,
            )


def _identifiers(mentions: Mapping[str, Mention], weights: Mapping[str, float]) -> Iterator[IdentifierArtifact]:
    written = [name for name, mention in mentions.items() if mention.written]
    heaviest = sorted(written, key=lambda name: (-weights[name], name))
    for name in islice((name for name in heaviest if not is_path(name)), MAX_IDENTIFIERS):
        mention = mentions[name]
        yield IdentifierArtifact(name=name, times=mention.times, last_index=mention.last_index)


def _context(name: str, mention: Mention) -> str:
    """Returns the text around a name in the last prose of the agent that has it, or else in the last contents."""
    one = mention.told or mention.last
    pieces = zip(one.texts, one.names, strict=True) if one else ()
    return next((_around(text, name) for text, names in pieces if name in names), "")


def _around(text: str, name: str) -> str:
    flat = " ".join(text.split())
    at = max(flat.find(name), 0)
    start = max(0, at - _CONTEXT_LIMIT // 2)
    start = flat.find(" ", start, at) + 1 or start if start else 0
    return clip(flat[start : start + _CONTEXT_LIMIT], _CONTEXT_LIMIT)
