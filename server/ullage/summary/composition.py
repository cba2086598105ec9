"""The result of an offline compaction: the ledger of the conversation as a page, and the files that it touched.

Everything is folded, the messages that stay included, so that the page has the newest state of each thing. What the
messages that stay say by themselves is left out.
"""

import posixpath
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from ullage.ledger.agent_tasks import task_in
from ullage.ledger.agent_words import still_standing
from ullage.ledger.ledger_entry import Entry, Kind, Ledger, Life
from ullage.ledger.ledger_page import LISTED, SECTIONS, relative, standing, write_page
from ullage.ledger.outline import outline_of
from ullage.model.message import (
    FILE_HEADINGS,
    ArtifactLedger,
    CompactionBlock,
    FileAction,
    FileArtifact,
    render_ledger,
    render_marker,
)
from ullage.summary.reader import Check, Reader, go_on
from ullage.summary.summary_request import SummaryRequest
from ullage.tokens.counter import TokenCounter

NOTHING_FITS = "The details are in the archive."
# Files that are listed: those that were changed, and those that were only read.
_MOST_FILES, _MOST_READ = 200, 20
# Words of a focus that are looked for have more characters.
_SHORT_WORD = 2
_ACTIONS = {
    Life.CREATED: FileAction.CREATED,
    Life.CHANGED: FileAction.MODIFIED,
    Life.DELETED: FileAction.DELETED,
    Life.READ: FileAction.READ,
}
# How a page, and the list below it, call what was done to a file.
_LIVES = {word: life for life, action in _ACTIONS.items() for word in (life.value, FILE_HEADINGS[action])}
_HEADINGS = frozenset(section.heading for section in SECTIONS)
_FILES = next(
    section.heading for section in SECTIONS if section.has(Entry(kind=Kind.FILE, life=Life.READ, index=0, text=""))
)
_FILES_BELOW = "Files"
_Files = tuple[FileArtifact, ...]
_NUMBER = re.compile(r"#(\d{1,9}) ")
_NUMBERED = re.compile(r"(?:^|, )([^,]+?) \(#(\d{1,9})\)(?:, ((?:adds|removes|uses|takes out) .*))?")


# The share of a summary's tokens that the page takes at most if a model writes above it.
_BESIDE_MODEL = 0.5


class Composition(Struct, frozen=True, kw_only=True):
    """An offline summary with its ledger of files. `pieces` concatenate to the summary's text; each can be shown as one
    chunk. `known` are all entries that are in force, whether the summary has them or not."""

    pieces: tuple[str, ...]
    ledger: ArtifactLedger
    known: tuple[Entry, ...] = ()

    @property
    def summary(self) -> str:
        """The whole text of the summary."""
        return "".join(self.pieces)

    @property
    def page(self) -> str:
        """The summary's text, empty if nothing is said."""
        return "" if self.summary == NOTHING_FITS else self.summary


def compose(
    request: SummaryRequest, counter: TokenCounter, reader: Reader | None = None, check: Check = go_on
) -> Composition:
    """Returns a summary and a ledger for `request` that count at most `request.max_tokens` tokens, by
    `counter.count(render_marker(...))`, and no more than there is to say.

    The smallest result is one line and an empty ledger. If even that exceeds the budget, it is returned all the same.
    `reader` remembers what it has read before. `check` is called before each message; its exception ends the work.
    """
    ledger = read_ledger(request, reader or Reader(), check)
    carried = list(carried_on(request, ledger))
    if request.earlier:
        # The ledger has what a page said; what a model or the user wrote is only there.
        carried = [entry for entry in carried if entry.kind is Kind.EARLIER and not entry.name]
    known = standing(ledger)
    entries = [*carried, *left_by_tail(request, known)]
    listed = _listed(request, ledger, carried)
    room = request.max_tokens - _cost(request, "", (), counter)
    while True:
        check()
        text = write_page(entries, max(0, room), counter.count, cwd=request.cwd, style=LISTED).text or NOTHING_FITS
        files = _most(listed, partial(_fits, request, text, counter))
        if files is not None or text == NOTHING_FITS:
            break
        # The whole may have some tokens more than its parts.
        room = min(room, counter.count(text)) - (_cost(request, text, (), counter) - request.max_tokens)
    sections = text.split("\n\n")
    pieces = (*(f"{one}\n\n" for one in sections[:-1]), sections[-1])
    return Composition(pieces=pieces, ledger=ArtifactLedger(files=files or ()), known=known)


def list_files(request: SummaryRequest, counter: TokenCounter, reader: Reader | None = None) -> ArtifactLedger:
    """Returns the files of a request's messages and of the summaries before them, in at most `request.max_tokens`
    tokens."""
    ledger = read_ledger(request, reader or Reader())
    listed = _listed(request, ledger, list(carried_on(request, ledger)))
    fitting = _most(
        listed, lambda files: counter.count(render_ledger(ArtifactLedger(files=files))) <= request.max_tokens
    )
    return ArtifactLedger(files=fitting or ())


def above_page(text: str) -> str:
    """Returns what a model wrote in a summary: the text above the page."""
    lines = text.splitlines(keepends=True)
    begin = next((at for at, line in enumerate(lines) if line.strip().removeprefix("## ") in _HEADINGS), len(lines))
    return "".join(lines[:begin])


def beside_model(request: SummaryRequest) -> SummaryRequest:
    """Returns the request for the page and the files that stay below what a model writes."""
    return replace(request, max_tokens=int(request.max_tokens * _BESIDE_MODEL))


def read_ledger(request: SummaryRequest, reader: Reader, check: Check = go_on) -> Ledger:
    """Returns the ledger of all messages of a request, those that stay included, as they were before they were
    shortened."""
    tail = request.whole or request.tail
    begin = request.indices[-1] + 1 if request.indices else 0
    numbered = [
        *zip(request.earlier_indices, request.earlier, strict=True),
        *zip(request.indices, request.messages, strict=True),
    ]
    numbered = sorted(dict(numbered).items(), key=lambda one: one[0]) + list(enumerate(tail, begin))
    return reader.ledger(
        [message for _, message in numbered],
        [index for index, _ in numbered],
        conversation=request.conversation,
        cwd=request.cwd,
        focus=frozenset(word for word in request.focus.lower().split() if len(word) > _SHORT_WORD),
        check=check,
    )


def left_by_tail(request: SummaryRequest, entries: Sequence[Entry]) -> Iterator[Entry]:
    """Yields the entries without what the messages that stay say in the same words: the user's and the agent's words,
    what ended jobs answered, an earlier summary. What a shortened message lost is nowhere else. States stay on the page
    wherever they are from: who reads it takes a list of files, checks or problems for all that there are."""
    ids = frozenset(request.kept)
    kept = {index for index, message in zip(request.indices, request.messages, strict=True) if message.id in ids}
    begin = request.indices[-1] + 1 if request.indices else 0
    whole = request.whole or request.tail
    kept |= {place for place, pair in enumerate(zip(whole, request.tail, strict=True), begin) if pair[0] == pair[1]}
    for entry in entries:
        is_quoted = entry.kind in (Kind.SAID, Kind.WORDS, Kind.EARLIER) or entry.life in (Life.ENDED, Life.DONE)
        if entry.index not in kept or not is_quoted:
            yield entry


def carried_on(request: SummaryRequest, ledger: Ledger) -> Iterator[Entry]:
    """Yields what an earlier summary says, if nothing else of a conversation is known: the lines of an earlier page
    under their headings, its files, and any other text as an outline. What the ledger has in a newer state is left
    out."""
    previous = request.previous
    if previous is None:
        return
    rest: list[str] = []
    files: dict[str, Entry] = {}
    known = [entry.text for entry in (*ledger.tasks, *ledger.problems, *ledger.checks)]
    for file in previous.ledger.files:
        life = next(life for life, action in _ACTIONS.items() if action is file.action)
        files[file.path] = Entry(kind=Kind.FILE, life=life, index=file.last_index, text=file.path)
    for heading, line in _lines_of_page(previous.summary):
        if line and heading in (_FILES, _FILES_BELOW):
            files |= {entry.text: entry for entry in _read_files(line)}
        elif line and heading in _HEADINGS:
            number = _NUMBER.match(line)
            is_commit = ledger.commits and "last commit " in line.partition("\n")[0]
            if not is_commit and not any(text in line for text in known):
                index = int(number[1]) - 1 if number else 0
                yield Entry(kind=Kind.EARLIER, life=Life.STAND, index=index, text=line, name=heading)
        else:
            rest.append(line if line else f"## {heading}")
    if any(line.strip() and line != NOTHING_FITS for line in rest):
        since = request.indices[0] if request.indices else 0
        yield from _outlined("\n".join(rest), max(0, since - 1), ledger, known)
    newer = {relative(entry.text, request.cwd) for entry in ledger.files}
    yield from (entry for path, entry in files.items() if path not in newer)


def _outlined(text: str, index: int, ledger: Ledger, known: Sequence[str]) -> Iterator[Entry]:
    """Yields the lines of a summary of another program and the tasks in it, without those that are `known`."""
    changed = {posixpath.basename(file.text): file.index for file in ledger.files if file.life is not Life.READ}
    said = {" ".join(entry.text.split()) for entry in ledger.said}
    for entry in still_standing(outline_of(text, index), changed):
        # The user's words have a section of their own.
        if " ".join(entry.text.split()).lstrip("-*• ").strip('"“”') not in said:
            task = task_in(entry)
            if task is None or task.text not in known:
                yield task or entry


def _read_files(line: str) -> Iterator[Entry]:
    """Yields the files of a line of a page (`changed: a.py (#3), adds …`), or of the list below it (`Modified: a.py,
    b.py`)."""
    done, _, rest = line.partition(": ")
    life = _LIVES.get(done)
    if life is None:
        return
    numbered = _NUMBERED.findall(rest)
    if not numbered:
        yield from (Entry(kind=Kind.FILE, life=life, index=0, text=path) for path in rest.split(", "))
    for path, number, what in numbered:
        yield Entry(
            kind=Kind.FILE, life=life, index=int(number) - 1, text=path, beside=what if len(numbered) == 1 else ""
        )


def _lines_of_page(text: str) -> Iterator[tuple[str, str]]:
    """Yields the entries of a page, each with the heading above it, and an empty one for a heading that no page has.
    Lines that continue an entry belong to it."""
    heading, entry = "", list[str]()
    for line in [*text.splitlines(), "## "]:
        if line.startswith("  ") and entry:
            entry.append(line[2:])
            continue
        if entry:
            yield heading, "\n".join(entry)
            entry = []
        if line.startswith("## "):
            heading = line[3:].strip()
            if heading and heading not in _HEADINGS and heading != _FILES_BELOW:
                yield heading, ""
        elif line.startswith("- ") and (heading in _HEADINGS or heading == _FILES_BELOW):
            entry = [line[2:]]
        elif line.strip():
            yield "", line


def _listed(request: SummaryRequest, ledger: Ledger, carried: Sequence[Entry]) -> _Files:
    """Returns the files of the project that a ledger has, and those carried on: changed ones first, the newest first,
    and the newest of those that were only read."""
    files = [*ledger.files, *(entry for entry in carried if entry.kind is Kind.FILE)]
    ranked = sorted(files, key=lambda entry: (entry.life is Life.READ, -entry.index))
    own = [entry for entry in ranked if not entry.is_outside]
    changed = [entry for entry in own if entry.life is not Life.READ]
    return tuple(
        FileArtifact(
            path=relative(entry.text, request.cwd), action=_ACTIONS[entry.life], last_index=max(0, entry.index)
        )
        for entry in (*changed[:_MOST_FILES], *own[len(changed) :][:_MOST_READ])
    )


def _most(files: _Files, fits: Callable[[_Files], bool]) -> _Files | None:
    """Returns as many of the files as fit, if fewer fit whenever more do. Returns None if not even none fit."""
    if fits(files):
        return files
    many = bisect_right(range(len(files)), False, key=lambda number: not fits(files[:number]))
    return files[: many - 1] if many else None


def _fits(request: SummaryRequest, text: str, counter: TokenCounter, files: _Files) -> bool:
    return _cost(request, text, files, counter) <= request.max_tokens


def _cost(request: SummaryRequest, text: str, files: _Files, counter: TokenCounter) -> int:
    """Returns the tokens of the marker with this summary and these files, as the model will be sent it."""
    block = CompactionBlock(
        compaction_number=request.previous.compaction_number + 1 if request.previous else 1,
        timestamp=0,
        summary=text,
        messages_archived=request.indices[-1] + 1 if request.indices else 0,
        context_size_before=0,
        ledger=ArtifactLedger(files=files),
    )
    return counter.count(render_marker(block))
