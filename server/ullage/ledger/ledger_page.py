"""Pages of the ledger: its entries as quoted lines under fixed headings, in the order in which a successor needs them.

The same page serves a summary, a brief, the list of what was left out and the instructions for an agent's own
compaction; they differ in which entries they are given and in how much room. A page stops when nothing is left to say.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from ullage.ledger.carried import NOT_BRIEF, Context
from ullage.ledger.ledger_entry import Entry, Kind, Ledger, Life, failed_command
from ullage.ledger.prose import FAILS, FENCE, GAP, WHOLE, cleaned, ends_of, one_gap, shortened, shown, with_gaps
from ullage.ledger.words import parts_of, words_of
from ullage.model.message import number_of
from ullage.redaction.clean import QUOTE
from ullage.redaction.remembering import remembering

# Characters of the user's words that are shown where the page has room for more, the most that have it; and where
# another message would have none.
_LONGER, _SHORTEST = (4_000, 2_400, WHOLE), 240
# Numbers of messages of the user that a page names because they have no room on it.
_MOST_MISSING = 20
# Characters of one line of anything else, of a problem that was mended, and of a paragraph of the agent's.
_LINE, _MENDED, _PARAGRAPH = 300, 200, 500
# Characters of a job's result that a page shows, and of how many jobs.
_RESULT, _MOST_RESULTS = 500, 3
# A page has at most so many mended problems. The agent's last words are shown in full.
_MOST_MENDED, _LAST_WORDS = 6, 1_400
# Lines around the answer of a sub-agent.
_FRAME = re.compile(r"\[Tool: |-{3,}")
_CODE = re.compile(r"`([^`]+)`")
# How task tools and checklists write the states of tasks that are not done.
_STATES = {
    Life.OPEN: ("pending", "[ ]", "open", "todo", "to do", "not started"),
    Life.IN_PROGRESS: ("in progress", "in_progress", "in-progress", "[~]", "[-]", "current"),
}
# Words and marks of tasks that are done, wherever a line has them.
_DONE = re.compile(r"\b(?:done|completed?|finished|resolved|closed)\b|\[x\]|[✅✓☑]")


class Section(Struct, frozen=True, kw_only=True):
    """A part of a page: its heading, which entries it has, and the share of the room that it may take before the
    sections after it have had theirs."""

    heading: str
    has: Callable[[Entry], bool]
    share: float


def _is(kind: Kind, *lives: Life) -> Callable[[Entry], bool]:
    return lambda entry: entry.kind is kind and (not lives or entry.life in lives)


SECTIONS: tuple[Section, ...] = (
    Section(heading="What the user said, word for word", has=_is(Kind.SAID), share=0.5),
    Section(heading="Tasks that are not done", has=_is(Kind.TASK, Life.OPEN, Life.IN_PROGRESS), share=0.2),
    Section(
        heading="Tasks that an old list left open; they may be done or given up",
        has=_is(Kind.TASK, Life.EARLIER),
        share=0.05,
    ),
    Section(heading="Tasks that are done", has=_is(Kind.TASK, Life.DONE), share=0.05),
    Section(heading="Problems that are still open", has=_is(Kind.PROBLEM, Life.OPEN), share=0.15),
    Section(
        heading="Checks and commits, as they stand",
        has=lambda entry: entry.kind in (Kind.CHECK, Kind.COMMIT),
        share=0.1,
    ),
    Section(heading="Still running, by the id with which it is asked", has=_is(Kind.JOB, Life.RUNNING), share=0.1),
    Section(heading="Files, by what became of them", has=_is(Kind.FILE), share=0.15),
    Section(heading="Problems that were mended", has=_is(Kind.PROBLEM, Life.MENDED), share=0.12),
    Section(heading="What the agent told the user", has=_is(Kind.WORDS), share=0.2),
    Section(heading="What an earlier summary says (older than all above)", has=_is(Kind.EARLIER), share=0.2),
    Section(heading="Results that cannot be had again", has=_is(Kind.JOB, Life.ENDED), share=0.1),
)


class Style(Struct, frozen=True, kw_only=True):
    """How a page is written: a section's heading, the beginning of an entry's first line, and that of its other lines;
    and the text above all sections. With `fills` the user's long words are longer where the page has room."""

    heading: str
    first: str
    more: str
    above: str = ""
    fills: bool = True


# Quoted line by line, for a page that is put between messages; and as Markdown, for a summary, which leaves the room
# that it does not need to messages.
QUOTED = Style(heading="{}:", first=QUOTE, more=QUOTE)
LISTED = Style(heading="## {}", first="- ", more="  ", fills=False)


class Page(Struct, frozen=True, kw_only=True):
    """A page: its text, empty if it says nothing, and the entries in it."""

    text: str
    given: tuple[Entry, ...]


def standing(ledger: Ledger) -> tuple[Entry, ...]:
    """Returns the entries of a ledger that a page may show, in the order of the sections, and nothing that a later
    event replaced. An earlier summary is shown only if the conversation began with it, since its content is in the
    ledger otherwise."""
    mended = [entry for entry in ledger.problems if entry.life is Life.MENDED][-_MOST_MENDED:]
    began = min((entry.index for entry in ledger.said), default=ledger.end)
    return (
        *(entry for entry in ledger.said if entry.life is not Life.REPEATED),
        *(entry for entry in ledger.tasks if entry.life is not Life.DROPPED),
        *(entry for entry in ledger.problems if entry.life is Life.OPEN),
        *ledger.checks,
        *(entry for entry in ledger.commits if entry.life in (Life.LAST, Life.OPEN)),
        *(entry for entry in ledger.jobs if entry.life is Life.RUNNING),
        *(entry for entry in ledger.files if entry.life is not Life.READ and not entry.is_outside),
        *mended,
        *ledger.words,
        *(entry for entry in ledger.earlier if entry.index <= began),
        *[entry for entry in ledger.jobs if entry.life is Life.ENDED and entry.beside][-_MOST_RESULTS:],
    )


def lacking(entries: Sequence[Entry], context: Context, kept: frozenset[int]) -> tuple[Entry, ...]:
    """Returns the entries that a context does not say. `kept` are the indices of messages that it has whole. Of long
    words of the user only the parts that it lacks are left."""
    return tuple(left for entry in entries if (left := _left(entry, context, kept)) is not None)


def _left(entry: Entry, context: Context, kept: frozenset[int]) -> Entry | None:  # noqa: C901 - a table of kinds
    if entry.against:
        return entry
    if entry.index in kept:
        # The message that has its newest state stays.
        return None
    match entry.kind:
        case Kind.SAID:
            return _unsaid(entry, context)
        case Kind.WORDS:
            return _untold(entry, context)
        case Kind.TASK:
            said = entry.life is Life.DONE or _has_task(entry, context)
        case Kind.PROBLEM | Kind.CHECK:
            said = _is_told(entry, context)
        case Kind.COMMIT if entry.life is Life.OPEN:
            said = context.has_name(entry.text.removeprefix("branch "))
        case Kind.COMMIT if entry.name:
            said = context.has_name(entry.name[:7]) or context.has_name(entry.name)
        case Kind.COMMIT | Kind.EARLIER:
            said = context.says_all(entry.text)
        case Kind.FILE:
            # By its whole path, or by its last two parts.
            said = any(map(context.has_name, (entry.text, "/".join(entry.text.split("/")[-2:]))))
            said = said and context.says_changed(entry.text, _CODE.findall(entry.beside))
        case Kind.JOB if entry.life is Life.RUNNING:
            said = context.has_name(entry.name)
        case Kind.JOB:
            said = context.says_all(_result(entry))
    return None if said else entry


def _unsaid(entry: Entry, context: Context) -> Entry | None:
    """Returns what a context lacks of the user's words: all of a message, and of a long one its beginning and its end,
    by which it is known, and the parts between that are not said."""
    many = len(words_of(entry.text).all)
    if len(entry.text.split()) < NOT_BRIEF and context.is_jumbled:
        return entry
    if many < NOT_BRIEF:
        # Of what is no word, such as a thumb, only the sign itself.
        return None if (context.says_briefly(entry.text) if many else context.has_name(entry.text)) else entry
    if all(part.startswith("```") or context.says(part) for part in parts_of(entry.text)):
        return None
    text = cleaned(entry.text)
    if len(text) <= WHOLE:
        return entry
    first, between, last = ends_of(text)
    parts = parts_of(between)
    missing = [part for part in parts if not context.says(part)]
    if missing == parts:
        return entry
    return replace(entry, text="\n".join([first, *with_gaps(parts, missing), last]))


def _untold(entry: Entry, context: Context) -> Entry | None:
    """Returns the paragraphs of the agent's words that a context does not say."""
    parts = entry.text.split("\n\n")
    lacking = [part for part in parts if not context.says_all(part)]
    return replace(entry, text="\n\n".join(with_gaps(parts, lacking))) if lacking else None


def _is_told(entry: Entry, context: Context) -> bool:
    """Returns whether a context has a command's outcome: the line that says how it ended, or if it printed none, the
    command."""
    if entry.kind is Kind.CHECK:
        return bool(entry.beside) and not entry.changed and context.says(entry.beside)
    command, detail = failed_command(entry)
    return context.says(detail) if detail else context.says(command)


def _has_task(entry: Entry, context: Context) -> bool:
    """Returns whether a line of the context has a task word for word with its state, and no other state, in the words
    of the tools that keep tasks. A task that is named without its state may as well be done, and so may one of which
    a line says that it is in progress and partly done."""
    if entry.life is Life.EARLIER:
        return bool(context.lines_quoting(entry.text))
    states = _STATES[entry.life]
    return any(
        any(state in line for state in states) and not _DONE.search(line) for line in context.lines_quoting(entry.text)
    )


def write_page(
    entries: Sequence[Entry],
    room: int,
    size: Callable[[str], int],
    *,
    cwd: str = "",
    style: Style = QUOTED,
) -> Page:
    """Returns a page of the entries, of at most `room` by `size`, the text above it included. Paths under the folder
    `cwd` are written without it. The page is empty if not one entry has room."""
    left = room - size(style.above)
    rows = _rows(entries, cwd, style)
    order = {id(entry): at for at, entry in enumerate(entries)}
    chosen: list[list[tuple[Entry, str]]] = [[] for _ in SECTIONS]
    for limited in (True, False):
        for place, section in enumerate(SECTIONS):
            cap = min(left, int(room * section.share)) if limited else left
            left -= _choose(rows[place], chosen[place], cap, size, style.heading.format(section.heading))
            if not limited and chosen[place]:
                left -= _shorten(rows[place], chosen[place], left, size, style)
    # Rows that share a line take less than was reserved for them; those that were chosen last go if a page is too long.
    while True:
        if not any(chosen):
            return Page(text="", given=())
        missing = _without_room(entries, chosen, style)
        text = _text(chosen, style, order, missing)
        if missing and size(text) > room:
            # Their numbers take no words' room.
            missing = list[int]()
            text = _text(chosen, style, order, missing)
        if size(text) <= room:
            if style.fills and _lengthen(chosen, room - size(text), size, style):
                text = _text(chosen, style, order, missing)
            return Page(text=text, given=tuple(entry for section in chosen for entry, _ in section))
        next(section for section in reversed(chosen) if section).pop()


def _rows(entries: Sequence[Entry], cwd: str, style: Style) -> list[list[tuple[Entry, str]]]:
    """Returns the entries of each section as they are written."""
    rows: list[list[tuple[Entry, str]]] = [[] for _ in SECTIONS]
    for entry in entries:
        if (place := next((at for at, one in enumerate(SECTIONS) if _belongs(entry, one)), None)) is not None:
            rows[place].append((entry, _written(entry, cwd, style)))
    return rows


def _without_room(entries: Sequence[Entry], chosen: Sequence[list[tuple[Entry, str]]], style: Style) -> list[int]:
    """Returns the messages of the user that a page lacks, if it names them."""
    there = {entry.index for section in chosen for entry, _ in section if entry.kind is Kind.SAID}
    return [one.index for one in entries if style.fills and one.kind is Kind.SAID and one.index not in there]


def _choose(
    rows: list[tuple[Entry, str]], chosen: list[tuple[Entry, str]], cap: int, size: Callable[[str], int], heading: str
) -> int:
    """Moves the rows that have room to those that were chosen, and returns the room that they take. Short rows first,
    each doubling of the length after the one below, and of these the newest: a rule is short, and a long text says less
    for its room. Of an earlier summary the first part, which says what is wanted, and then the last ones, which say
    what is left to do."""
    used = 0
    parts = list(dict.fromkeys(_part(entry) for entry, _ in rows if _is_outlined(entry)))
    ranks = {part: len(parts) - at if at else 0 for at, part in enumerate(parts)}
    for row in sorted(rows, key=lambda row: (ranks.get(_part(row[0]), len(row[1]).bit_length()), -row[0].index)):
        text = row[1]
        if _is_outlined(row[0]):
            # The lines above it are there once for all that belong to them.
            above = {line for _, other in chosen for line in other.split("\n")}
            text = "\n".join(line for line in text.split("\n") if line not in above)
        cost = size(text) + 1 + (size(heading) + 4 if not chosen else 0)
        if used + cost <= cap:
            used += cost
            chosen.append(row)
            rows.remove(row)
    return used


def _shorten(
    rows: list[tuple[Entry, str]], chosen: list[tuple[Entry, str]], left: int, size: Callable[[str], int], style: Style
) -> int:
    """Shows of the user's long words that had no room the beginning and the end, the newest first; where there is no
    room for these, of the longest others, too, so that no message is missing because another is long. Returns the room
    that this takes."""
    used = 0
    for row in sorted(rows, key=lambda row: -row[0].index):
        if row[0].kind is not Kind.SAID:
            continue
        short = _longer(row[0], style, _SHORTEST)
        cost = size(short) + 1
        longest = sorted(chosen, key=lambda other: len(other[1]))
        while cost > left - used and longest and len(longest[-1][1]) > 2 * _SHORTEST:
            other = longest.pop()
            less = _longer(other[0], style, _SHORTEST)
            used -= size(other[1]) - size(less)
            chosen[chosen.index(other)] = (other[0], less)
        if cost > left - used:
            break
        used += cost
        chosen.append((row[0], short))
        rows.remove(row)
    return used


def _lengthen(chosen: Sequence[list[tuple[Entry, str]]], left: int, size: Callable[[str], int], style: Style) -> bool:
    """Shows more of the user's long words in the room that a page has left, of the newest first. Not of what a program
    printed, of which the lines that say what failed are enough. Returns whether there is more."""
    has_more = False
    for rows in chosen:
        for at, (entry, row) in sorted(enumerate(rows), key=lambda one: -one[1][0].index):
            text = cleaned(entry.text) if entry.kind is Kind.SAID else ""
            if len(text) <= len(row) or (FAILS.search(text) and len(row) > 2 * _SHORTEST):
                continue
            for longest in _LONGER if not FAILS.search(text) else (WHOLE,):
                longer = _longer(entry, style, longest)
                if 0 < size(longer) - size(row) <= left:
                    left -= size(longer) - size(row)
                    rows[at], has_more = (entry, longer), True
                    break
    return has_more


def _belongs(entry: Entry, section: Section) -> bool:
    """Returns whether a section has an entry. A line of an earlier page has its section's heading as its name."""
    return section.heading == entry.name if entry.kind is Kind.EARLIER and entry.name else section.has(entry)


def _text(
    chosen: Sequence[Sequence[tuple[Entry, str]]], style: Style, order: Mapping[int, int], missing: Sequence[int]
) -> str:
    """Returns a page with these rows. `missing` are the messages of the user that have no room on it."""
    parts = [style.above] if style.above else []
    for section, rows in zip(SECTIONS, chosen, strict=True):
        if rows:
            ordered = sorted(rows, key=lambda row: (row[0].index, order[id(row[0])]))
            files = [row for row in ordered if row[0].kind is Kind.FILE]
            outlined = [row for row in ordered if _is_outlined(row[0])]
            lines = [row for row in ordered if row not in files and row not in outlined]
            lines = [*(row for _, row in lines), *_outline(outlined), *_file_lines(files, style)]
            if missing and style.fills and section is SECTIONS[0]:
                numbers = ", ".join(f"#{number_of(index)}" for index in missing[-_MOST_MISSING:])
                more = f", and {len(missing) - _MOST_MISSING} older ones" if len(missing) > _MOST_MISSING else ""
                lines.append(f"{style.first}Without room here: {numbers}{more}")
            parts.append("\n".join([style.heading.format(section.heading), *lines]))
    return "\n\n".join(parts)


def _is_outlined(entry: Entry) -> bool:
    return entry.kind is Kind.EARLIER and not entry.name


def _part(entry: Entry) -> str:
    """Returns the outermost line of an outline that a line belongs to."""
    return (entry.beside or entry.text).partition("\n")[0] if _is_outlined(entry) else ""


def _outline(rows: Sequence[tuple[Entry, str]]) -> Iterator[str]:
    """Yields the lines of an earlier summary in their order, each of the lines that several belong to once."""
    before: list[str] = []
    for _, row in rows:
        lines = row.split("\n")
        known = next(
            (at for at, pair in enumerate(zip(lines, before, strict=False)) if pair[0] != pair[1]), len(before)
        )
        yield from lines[known:]
        before = lines


def _characters(entry: Entry, cwd: str, style: Style) -> int:  # noqa: ARG001
    return len(entry.text) + len(entry.beside) + len(entry.against) + len(cwd)


def _file_lines(rows: Sequence[tuple[Entry, str]], style: Style) -> Iterator[str]:
    """Yields a line for each file of which is known what its changes did, and then one for all others that had the same
    done to them."""
    done: dict[Life, list[str]] = {}
    for entry, row in rows:
        if entry.beside or entry.against:
            yield f"{style.first}{entry.life.value}: {row}"
        else:
            done.setdefault(entry.life, []).append(row)
    for life, names in done.items():
        yield f"{style.first}{life.value}: {', '.join(names)}"


@remembering(2_000_000, _characters)
def _written(entry: Entry, cwd: str, style: Style) -> str:
    """Returns an entry as a page has it. Of a file, whose line others may share, what comes after its state."""
    if entry.kind is Kind.FILE:
        what = f", {_line(entry.beside)}" if entry.beside else ""
        told = f"\n{style.more}{_otherwise(entry)}" if entry.against else ""
        return f"{relative(entry.text, cwd)} (#{number_of(entry.index)}){what}{told}"
    return _styled([*_lines(entry, cwd), *([_otherwise(entry)] if entry.against else [])], style)


@lru_cache(maxsize=512)
def _longer(entry: Entry, style: Style, longest: int) -> str:
    return _styled(_lines(entry, "", longest), style)


def _styled(lines: Sequence[str], style: Style) -> str:
    first, *others = lines
    return "\n".join([f"{style.first}{first}", *(f"{style.more}{line}" for line in others)])


def prepare(entries: Sequence[Entry], cwd: str) -> None:
    """Writes the lines of the entries for a summary's page, which remembers them."""
    for entry in entries:
        _written(entry, cwd, LISTED)


def is_on(text: str, entry: Entry, cwd: str) -> bool:
    """Returns whether a quoted page has an entry: its first line, or of a file what its line says of it."""
    row = _written(entry, cwd, QUOTED).partition("\n")[0]
    return row in text if entry.kind is Kind.FILE else f"\n{row}\n" in f"\n{text}\n"


def _otherwise(entry: Entry) -> str:
    return f"  ≠ the summary says: {_line(entry.against)}"


def _lines(entry: Entry, cwd: str, longest: int = WHOLE) -> list[str]:  # noqa: C901, PLR0911 - a table of kinds
    number = f"#{number_of(entry.index)} "
    text = _line(entry.text)
    match entry.kind:
        case Kind.SAID:
            beside = [f"  ← {_line(entry.beside)}"] if entry.beside else []
            return [*_block(number, shown(cleaned(entry.text), longest)), *beside]
        case Kind.TASK:
            named = f"task {entry.name}, " if entry.name and entry.name != entry.text else ""
            old = f" ({entry.beside})" if entry.beside else ""
            state = "" if entry.life is Life.EARLIER else f"[{entry.life.value}] "
            return [f"{number}{state}{named}{text}{old}"]
        case Kind.PROBLEM:
            text = shortened(text, _MENDED) if entry.life is Life.MENDED else text
            mend = f" → {_line(entry.beside)}" if entry.beside else ""
            return [f"{number}{text}{mend}{_changed(entry, cwd, 'not tried again since a change of ')}"]
        case Kind.CHECK:
            how = f": {_line(entry.beside)}" if entry.beside else ""
            return [f"{number}`{text}` passed{how}{_changed(entry, cwd, 'not run since a change of ')}"]
        case Kind.COMMIT if entry.life is Life.OPEN:
            return [f"{number}{text}, {entry.beside}"]
        case Kind.COMMIT:
            known = f" ({entry.beside})" if entry.beside else ""
            name = f"{entry.name} " if entry.name else ""
            return [f"{number}last commit {name}{text}{known}{_changed(entry, cwd, 'not committed: ')}"]
        case Kind.JOB if entry.life is Life.RUNNING:
            return [f"{number}{entry.beside}{f' {entry.name}' if entry.name else ''}: {text}"]
        case Kind.JOB:
            return _block(f"{number}{text}: ", _result(entry))
        case Kind.WORDS:
            answer = [f"  → {_line(entry.beside)}"] if entry.beside else []
            return [*_block(number, _paragraphs(entry)), *answer]
        case Kind.EARLIER if entry.name:
            return cleaned(entry.text).splitlines() or [""]
        case _:
            return [
                f"{'  ' * depth}{_line(line)}" for depth, line in enumerate([*entry.beside.splitlines(), entry.text])
            ]


def _block(number: str, text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.strip()]
    if GAP in lines or len([line for line in lines if FENCE.match(line)]) % 2:
        # A fence without its other end would make code of all that follows.
        lines = [line for line in lines if not FENCE.match(line)]
    shown = one_gap(lines or [""])
    return [f"{number}{shown[0]}", *shown[1:]]


def _line(text: str) -> str:
    return shortened(" ".join(cleaned(text).split()), _LINE)


def _result(entry: Entry) -> str:
    """Returns the end of what a job answered, where it says what it found, without the calls that some agents list. It
    begins with a line, or with a sentence."""
    lines = [line for line in cleaned(entry.beside).splitlines() if line.strip() and not _FRAME.match(line)]
    shown: list[str] = []
    while lines and sum(map(len, shown)) + len(lines[-1]) <= _RESULT:
        shown.insert(0, lines.pop())
    before = [GAP] if lines else []
    if not shown and lines:
        shown = [ends_of(lines[-1])[2]]
    return "\n".join([*before, *shown])


def _paragraphs(entry: Entry) -> str:
    """Returns as many whole paragraphs of the agent's words as have room, from the last: that is where it says what
    came of the turn. Of words without an answer, which are the newest, there are more."""
    room = _PARAGRAPH if entry.beside else _LAST_WORDS
    parts = entry.text.removesuffix(f"\n\n{GAP}").split("\n\n")
    shown = [shortened(parts.pop(), room)]
    while parts and sum(map(len, shown)) + len(parts[-1]) <= room:
        shown.insert(0, parts.pop())
    if parts and shown[0] != GAP:
        shown.insert(0, GAP)
    return "\n".join(shown)


def _changed(entry: Entry, cwd: str, words: str) -> str:
    if not entry.changed:
        return ""
    names = [relative(path, cwd) for path in entry.changed[-3:]]
    more = f" and {len(entry.changed) - 3} more" if len(entry.changed) > 3 else ""
    return f" ({words}{', '.join(names)}{more})"


def relative(path: str, cwd: str) -> str:
    """Returns a path as pages have it: under the folder `cwd` without it."""
    inside = path.removeprefix(f"{cwd.rstrip('/')}/") if cwd else path
    return " ".join(cleaned(inside if inside != path else posixpath.normpath(path)).split())
