"""`ullage watch`: the conversations of agents on this machine while they continue. What its table shows, and what a key
does to it, is pure: keys and rows in, wishes and lines out."""

import asyncio
import os
import re
import signal
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from shutil import get_terminal_size
from typing import Literal

from msgspec import Struct
from msgspec.structs import asdict
from rich.console import ConsoleDimensions, Group
from rich.live import Live
from rich.text import Text

from ullage.api.protocol import usage_result
from ullage.app.compose import KeepingAnswer, make_follower, open_originals, open_workspace
from ullage.app.team_sending import TeamSender
from ullage.cli.arguments import StoreOptions, add_drawing, number, read_options
from ullage.cli.commands.context import biggest, context_box
from ullage.cli.commands.messages import message_rows, message_table
from ullage.cli.commands.search import hit_lines
from ullage.cli.drawing import Glyphs, Screen, agreed, clock, fit_most, in_bytes, plural, print_json_line
from ullage.cli.session_source import Shortened, conversation_table, limits_of, running_first
from ullage.cli.terminal import at_home
from ullage.host import this_system
from ullage.model.errors import StoreError, UllageError
from ullage.model.settings import ArchiveSettings
from ullage.model.usage import FollowedRow, one_each
from ullage.service.archive.search import search
from ullage.service.conversation.workspace import Workspace
from ullage.service.follow.reminders import DueNotice, due_notices
from ullage.service.follow.rows import replaces
from ullage.store.sqlite.catalogue import Keeping
from ullage.store.store_place import StorePlace, local_path
from ullage.system.stdio import reader_is_gone

_TABLE_KEYS = ("↑↓ choose", "Enter messages", "c context", "/ search", "p pause", "q quit")
_PAGE_KEYS = ("↑↓ scroll", "/ search", "q back")
# Lines that are no rows: the heading, and below the rows what is kept, the warning and the keys.
_AROUND = 4


class What(StrEnum):
    """What is shown of a conversation."""

    MESSAGES = "messages"
    CONTEXT = "context"
    HITS = "search"


class Wish(Struct, frozen=True, kw_only=True):
    """A page about a conversation that the user asks for. `query` is what to search it for."""

    what: What
    session_id: str
    query: str = ""


class Board:
    """The live table, with the chosen conversation, or a page about it.

    `kept` says what is kept of agents' files, `empty` why there is no row, and `due` returns what is to be told of a
    conversation, now or later, given its row and the time in Unix milliseconds. A notice is shown until a key is
    pressed. `is_over` turns true when the user quits. `wish` is the page that is shown or wanted, None while the table
    is shown.
    """

    def __init__(self, due: Callable[[FollowedRow, int], Iterable[DueNotice]] = lambda _row, _now: ()) -> None:
        self.kept = ""
        self.empty = "Looking for conversations"
        self._due = due
        self._noticed: set[str] = set()
        self._notice: DueNotice | None = None
        self.is_over = False
        self.wish: Wish | None = None
        self._rows: dict[str, FollowedRow] = {}
        # Rows that have changed since the user paused, None while the table is not paused.
        self._held: dict[str, FollowedRow] | None = None
        self._chosen = ""
        self._page: Sequence[Text | str] = ()
        self._top = 0
        self._typed: str | None = None

    def take(self, row: FollowedRow) -> None:
        """Shows a row that is new or has changed; while the table is paused, once it continues."""
        rows = self._rows if self._held is None else self._held
        for other in [one for one in rows.values() if replaces(row, one)]:
            del rows[other.session_id]
        rows[row.session_id] = row

    def drop(self, session_id: str) -> None:
        """Shows the row of a session no longer that was deleted."""
        for rows in filter(None, (self._rows, self._held)):
            rows.pop(session_id, None)

    def show(self, page: Sequence[Text | str]) -> None:
        """Shows the page that was wished for: messages from the newest ones on, other pages from the top."""
        is_list = self.wish is not None and self.wish.what is What.MESSAGES
        self._page, self._top = page, len(page) if is_list else 0

    def press(self, key: str) -> Wish | None:
        """Does what the key means. Returns the page that must be made for it, None if there is none."""
        if self._notice is not None:
            self._noticed.add(self._notice.key)
        if self._typed is not None:
            return self._type(key, self._typed)
        if key in ("q", "escape"):
            self.is_over = self.wish is None
            self.wish, self._page = None, ()
        elif key == "/":
            self._typed = "" if self._ordered() else None
        elif self.wish is not None:
            self._scroll(key)
        elif key == "p":
            self._pause()
        elif key in ("enter", "c"):
            return self._wish(What.CONTEXT if key == "c" else What.MESSAGES)
        else:
            self._choose(key)
        return None

    def lines(self, width: int, height: int, now: int, glyphs: Glyphs) -> list[Text | str]:
        """Returns what a terminal of this size shows. `now` is Unix milliseconds."""
        keys = f"Search: {self._typed}_" if self._typed is not None else self._keys(width, glyphs)
        foot = Text(fit_most(keys, width, glyphs), "" if self._typed is not None else "dim")
        if self.wish is not None:
            room = max(1, height - 2)
            self._top = max(0, min(self._top, len(self._page) - room))
            return [*self._page[self._top : self._top + room], "", foot]
        return [*self._table(width, height, now, glyphs), foot]

    def _table(self, width: int, height: int, now: int, glyphs: Glyphs) -> list[Text | str]:
        rows = self._ordered()
        if not rows:
            return [fit_most(self.empty, width, glyphs), self._foot_line("", width, glyphs)]
        place = self._place(rows)
        room = max(1, height - _AROUND)
        first = max(0, min(place - room // 2, len(rows) - room))
        short = Shortened((row.agent_session_id or row.session_id for row in rows), width)
        named = [(row, short(row.agent_session_id or row.session_id)) for row in rows]
        drawn = conversation_table(named, now, width, glyphs)
        self._notice = self._newest_notice(now)
        chosen = drawn[1 + place]
        chosen.pad_right(max(0, width - chosen.cell_len))
        chosen.stylize("reverse")
        warned = self._notice.text if self._notice else " ".join(rows[place].warnings)
        warning = Text(fit_most(f"{glyphs.warning} {warned}", width, glyphs), "yellow") if warned else ""
        foot = self._foot_line(limits_of(rows, now), width, glyphs)
        return [drawn[0], *drawn[1 + first : 1 + first + room], foot, warning]

    def _newest_notice(self, now: int) -> DueNotice | None:
        """Returns the notice that became due last and that the user has not seen yet; None if there is none."""
        all_due = (one for row in self._rows.values() for one in self._due(row, now))
        shown = (one for one in all_due if one.at <= now < one.until and one.key not in self._noticed)
        return max(shown, key=lambda one: one.at, default=None)

    def _foot_line(self, limits: str, width: int, glyphs: Glyphs) -> Text | str:
        words = f" {glyphs.dot} ".join(filter(None, (limits, self.kept)))
        return Text(fit_most(words, width, glyphs), "dim") if words else ""

    def _keys(self, width: int, glyphs: Glyphs) -> str:
        keys = _PAGE_KEYS if self.wish else _TABLE_KEYS
        words = [key.replace("↑↓", "j/k") if glyphs.ascii else key for key in keys]
        if self._held is not None:
            words = ["paused", *(word.replace("pause", "continue") for word in words)]
        between = f" {glyphs.dot} "
        while len(between.join(words)) > width and len(words) > 1:
            # The last one, how to leave, stays.
            words.pop(-2)
        return between.join(words)

    def _ordered(self) -> list[FollowedRow]:
        return running_first(one_each(self._rows.values()), lambda row: row.live)

    def _place(self, rows: Sequence[FollowedRow]) -> int:
        """Returns the index of the chosen row; the first one if none was chosen."""
        return next((place for place, row in enumerate(rows) if row.session_id == self._chosen), 0)

    def _choose(self, key: str) -> None:
        rows = self._ordered()
        if rows and (place := _moved(key, self._place(rows), len(rows) - 1)) is not None:
            self._chosen = rows[place].session_id

    def _scroll(self, key: str) -> None:
        if (top := _moved(key, self._top, max(0, len(self._page) - 1))) is not None:
            self._top = top

    def _pause(self) -> None:
        held, self._held = self._held, {} if self._held is None else None
        for row in (held or {}).values():
            self.take(row)

    def _wish(self, what: What, query: str = "") -> Wish | None:
        rows = self._ordered()
        session_id = self.wish.session_id if self.wish else rows[self._place(rows)].session_id if rows else ""
        if session_id:
            self.wish = Wish(what=what, session_id=session_id, query=query)
            self._page = ["Reading …"]
        return self.wish

    def _type(self, key: str, typed: str) -> Wish | None:
        if key == "enter":
            self._typed = None
            return self._wish(What.HITS, typed.strip()) if typed.strip() else None
        if key == "escape":
            self._typed = None
        elif key == "backspace":
            self._typed = typed[:-1]
        elif len(key) == 1:
            self._typed = typed + key
        return None


# Lines that a page's key moves.
_PAGE = 10


def _moved(key: str, place: int, last: int) -> int | None:
    """Returns the place, from 0 to `last`, to which a key moves, or None if it does not move."""
    moved = {
        **dict.fromkeys(("up", "k"), place - 1),
        **dict.fromkeys(("down", "j"), place + 1),
        **dict.fromkeys(("page up", "b"), place - _PAGE),
        **dict.fromkeys(("page down", " "), place + _PAGE),
        **dict.fromkeys(("home", "g"), 0),
        **dict.fromkeys(("end", "G"), last),
    }.get(key)
    return None if moved is None else max(0, min(last, moved))


class WatchOptions(StoreOptions, frozen=True, kw_only=True):
    """The arguments of `ullage watch`. `since` is in seconds."""

    since: int


class WatchReport(FollowedRow, frozen=True, kw_only=True):
    """What `ullage watch --json` prints, a line for each change: the conversation that has changed. `version` changes
    if a field is removed or changed."""

    version: Literal[1] = 1


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--since",
        type=number,
        default=3600,
        metavar="SECONDS",
        help="only what changed in the last so many seconds; 3600",
    )
    add_drawing(parser)


# Seconds between two drawings of what only time changes, such as "a minute ago".
_REDRAW_EVERY = 5.0
# The status by which shells report an end by SIGTERM: 128 + 15.
_TERMINATED = 143
# Seconds between two counts of what is kept.
_COUNT_EVERY = 30.0
_HITS = 20
# Minutes from which a time is said in hours.
_HOURS = 120


def run(args: Namespace) -> int:
    """Draws a table that changes in place until the user quits, and returns 0, or 143 after a signal to end."""
    options = read_options(args, WatchOptions)
    if not options.json:
        ask_once(options.store, Screen.of(args))
    with open_workspace(options.store) as workspace:
        try:
            asyncio.run(_until_terminated(workspace, options, args))
        except asyncio.CancelledError:
            return _TERMINATED
    return 0


def ask_once(store: StorePlace | None, screen: Screen) -> None:
    """Asks the user on the terminal whether agents' files are kept, unless the user has answered that before."""
    keeping = KeepingAnswer(local_path(store), ArchiveSettings())
    asked = keeping.question() if sys.stdin.isatty() else None
    if asked is None:
        return
    limit = f"; at most {asked.limit / 1e9:g} GB" if asked.limit else ""
    question = (
        "Agents delete old conversations, some after a month. Ullage can keep them.\n"
        f"  what:   all of {plural(asked.conversations, 'conversation')} on this machine ({in_bytes(asked.size)}), and "
        "of later ones\n"
        f"  where:  {at_home(asked.path)}, which only you may read, compressed{limit}\n"
        "  stop:   ullage keep off; remove: ullage forget\n"
        "  if not: no files are kept, only the words that Ullage reads, in its store; remove: ullage forget\n"
        "Keep them?"
    )
    keeping.answer(keep=agreed("\n".join(screen.prose(question)), by_enter=True))


async def _until_terminated(workspace: Workspace, options: WatchOptions, args: Namespace) -> None:
    task = asyncio.current_task()
    assert task is not None
    for ending in this_system.ending:
        asyncio.get_running_loop().add_signal_handler(ending, task.cancel)
    with TeamSender(options.store).running():
        await (_print(workspace, options) if options.json else _Watch(workspace, options, args).run())


async def _print(workspace: Workspace, options: WatchOptions) -> None:
    def changed(row: FollowedRow) -> None:
        print_json_line(WatchReport(**asdict(row)))

    following = asyncio.ensure_future(make_follower(workspace, options.store, changed, options.since).run())
    # By the next row it would be seen, too, but that may not come for days.
    leaving = asyncio.ensure_future(reader_is_gone(sys.stdout.fileno()))
    leaving.add_done_callback(lambda _: following.cancel())
    await following


def _kept_words(store: StorePlace | None) -> str:
    if Keeping(local_path(store)).wanted is not True:
        return "Kept: words, in the store; no agents' files (ullage keep on)"
    try:
        with open_originals(store) as originals:
            if originals:
                return f"Kept: {plural(originals.count(), 'conversation')}, {in_bytes(originals.size())} (ullage keep)"
    except StoreError as error:
        return str(error)
    return ""


def _terminal_size() -> ConsoleDimensions:
    """Returns what COLUMNS and LINES say, but no more than the terminal has: the first line would be lost."""
    said = get_terminal_size()
    try:
        real = os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ else 1)
    except (OSError, ValueError):
        real = said
    return ConsoleDimensions(min(said.columns, real.columns or said.columns), min(said.lines, real.lines or said.lines))


class _Watch:
    """The table on a terminal."""

    def __init__(self, workspace: Workspace, options: WatchOptions, args: Namespace) -> None:
        self._workspace = workspace
        self._options = options
        self._args = args
        self._board = Board(lambda row, now: due_notices(workspace, row, now, clock))
        self._kept: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._making: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Draws until the user quits."""
        self._workspace.deletion_listeners.append(self._drop)
        follower = make_follower(self._workspace, self._options.store, self._take, self._options.since)
        following = asyncio.create_task(follower.run())
        following.add_done_callback(lambda _: self._changed.set())
        self._kept = asyncio.create_task(self._tell_kept())
        looking = asyncio.create_task(self._tell_empty(follower.looked))
        console = Screen.of(self._args).console()
        try:
            drawing = Live(console=console, screen=True, auto_refresh=False)
            with drawing as live, keys_pressed(self._press), self._sized():
                while not self._board.is_over and not following.done():
                    self._changed.clear()
                    console.size = _terminal_size()
                    live.update(self._drawn(console.size), refresh=True)
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_REDRAW_EVERY):
                            await self._changed.wait()
        finally:
            for task in filter(None, (following, looking, self._making, self._kept)):
                task.cancel()
            results = await asyncio.gather(following, return_exceptions=True)
        for result in results:
            # Only a fault ends it while it is wanted.
            if isinstance(result, Exception):
                raise result

    async def _tell_empty(self, looked: asyncio.Event) -> None:
        """Shows on an empty board that it is empty, once agents' files were looked at."""
        await looked.wait()
        minutes = max(1, self._options.since // 60)
        past = plural(minutes, "minute") if minutes < _HOURS else plural(minutes // 60, "hour")
        self._board.empty = f"No agent has written anything in the last {past}. Ask one."
        self._changed.set()

    async def _tell_kept(self) -> None:
        """Shows on the board how much is kept of agents' files: soon after the first is kept, and then sometimes."""
        while True:
            self._board.kept = await asyncio.to_thread(_kept_words, self._options.store)
            self._changed.set()
            await asyncio.sleep(_COUNT_EVERY if self._board.kept else _REDRAW_EVERY)

    def _drawn(self, size: ConsoleDimensions) -> Group:
        now, glyphs = self._workspace.ports.clock.now(), Screen.of(self._args).glyphs
        return Group(*self._board.lines(size.width, size.height, now, glyphs))

    def _take(self, row: FollowedRow) -> None:
        self._board.take(row)
        self._changed.set()

    def _drop(self, session_id: str) -> None:
        self._board.drop(session_id)
        self._changed.set()

    def _press(self, key: str) -> None:
        wish = self._board.press(key)
        if wish is not None:
            self._make(wish)
        self._changed.set()

    def _make(self, wish: Wish) -> None:
        if self._making is not None:
            self._making.cancel()
        self._making = asyncio.create_task(self._show(wish))

    async def _show(self, wish: Wish) -> None:
        # Drawn before what may take a second.
        await asyncio.sleep(0)
        page = await make_page(self._workspace, wish, Screen.of(self._args))
        if wish == self._board.wish:
            self._board.show(page)
            self._changed.set()

    @contextmanager
    def _sized(self) -> Generator[None]:
        """Draws again when the terminal has another size, while the block runs."""

        def resized() -> None:
            if self._board.wish is not None:
                self._make(self._board.wish)
            self._changed.set()

        if sys.platform == "win32":
            # Windows has no notice of it; the next drawing has the new size.
            yield
            return
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGWINCH, resized)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGWINCH)


async def make_page(workspace: Workspace, wish: Wish, screen: Screen) -> Sequence[Text | str]:
    """Returns the lines of the page that the user asks for, or what prevents it."""
    try:
        conversation = workspace.open(wish.session_id)
        title = Text(fit_most(conversation.transcript.title or wish.session_id, screen.room, screen.glyphs), "bold")
        match wish.what:
            case What.CONTEXT:
                now = workspace.ports.clock.now()
                usage, big = usage_result(conversation), await biggest(conversation)
                return [title, *context_box(usage, now, screen.glyphs, screen.width, big)]
            case What.MESSAGES:
                return [title, *message_table(await message_rows(conversation), screen)]
            case What.HITS:
                found = await search(workspace, wish.session_id, wish.query, _HITS)
                none = () if found.hits else (f"Nothing found for {wish.query!r}.",)
                return [*none, *screen.prose(found.note), *hit_lines(found.hits, workspace, screen)]
    except UllageError as error:
        return [*screen.prose(str(error))]


_SEQUENCE = re.compile(r"\x1b(?:[\[O][0-?]*[ -/]*[@-~]|$|(?=\x1b))")
_ARROWS = {"A": "up", "B": "down", "H": "home", "F": "end"}
_NAMES = {
    **{f"\x1b{kind}{letter}": name for kind in "[O" for letter, name in _ARROWS.items()},
    "\x1b[5~": "page up",
    "\x1b[6~": "page down",
    "\x1b[1~": "home",
    "\x1b[4~": "end",
    "\x1b": "escape",
    "\r": "enter",
    "\n": "enter",
    "\x7f": "backspace",
    "\b": "backspace",
}
# The second codes of Windows' special keys (`getwch` returns first U+0000 or U+00E0).
_WINDOWS = {"H": "up", "P": "down", "G": "home", "O": "end", "I": "page up", "Q": "page down"}
# Seconds between two questions to Windows, which has no notice of a key.
_ASK_EVERY = 0.05


def key_names(text: str) -> list[str]:
    """Returns the keys in what a terminal has sent: a special key by its name, such as `page down`, any other by its
    character. Unknown sequences are left out."""
    keys: list[str] = []
    while text:
        found = _SEQUENCE.match(text)
        sent = found[0] if found else text[0]
        text = text[len(sent) :]
        name = _NAMES.get(sent, sent)
        if name in _NAMES.values() or (len(name) == 1 and name.isprintable()):
            keys.append(name)
    return keys


@contextmanager
def keys_pressed(press: Callable[[str], object]) -> Generator[None]:
    """Calls `press` with each key while the block runs, in the running event loop. Afterwards the terminal is as it was
    before. Without a terminal on standard input, no key is read."""
    if not sys.stdin.isatty():
        yield
    elif sys.platform == "win32":
        task = asyncio.get_running_loop().create_task(_ask_windows(press))
        try:
            yield
        finally:
            task.cancel()
    else:
        with _read_terminal(press):
            yield


if sys.platform == "win32":
    import msvcrt

    async def _ask_windows(press: Callable[[str], object]) -> None:
        while True:
            while msvcrt.kbhit():
                key = msvcrt.getwch()
                names = [_WINDOWS.get(msvcrt.getwch(), "")] if key in "\x00\xe0" else key_names(key)
                for name in filter(None, names):
                    press(name)
            await asyncio.sleep(_ASK_EVERY)

else:

    @contextmanager
    def _read_terminal(press: Callable[[str], object]) -> Generator[None]:
        # Python may have been built without them.
        import termios  # noqa: PLC0415
        import tty  # noqa: PLC0415

        loop, descriptor = asyncio.get_running_loop(), sys.stdin.fileno()
        before = termios.tcgetattr(descriptor)

        def read() -> None:
            try:
                sent = os.read(descriptor, 1024)
            except OSError:
                sent = b""
            if not sent:
                # The terminal is gone.
                loop.remove_reader(descriptor)
            for key in key_names(sent.decode("utf-8", "replace")):
                press(key)

        # Ctrl-C stays a signal.
        tty.setcbreak(descriptor)
        loop.add_reader(descriptor, read)
        try:
            yield
        finally:
            loop.remove_reader(descriptor)
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
