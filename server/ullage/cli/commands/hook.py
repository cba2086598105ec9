"""`ullage hook`: answers a hook of an agent, and notes next to the store what it gave: a receipt for each text, and a
line for each hook, for `ullage doctor`. It imports almost nothing, because the agent waits for it."""

import os
import sys
import time
from _thread import allocate_lock, start_new_thread

from ullage import __version__
from ullage.bounds import GIVEN, SETTINGS, read_most, read_plain
from ullage.cli.hooks.hook_state import HookState, has_new_mark
from ullage.cli.statusline.files import as_list, as_object, is_safe, parse
from ullage.cli.statusline.line import Figure, figure_of_row
from ullage.cli.store_choice import local_store
from ullage.host import this_system
from ullage.host.side_files import ARRIVALS
from ullage.store.sqlite.quick_catalogue import add_receipt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any


def add_arguments(parser: "ArgumentParser") -> None:
    parser.add_argument("agent", metavar="AGENT", help="the agent that runs the hook, as `ullage wire` names it")
    mark = "what the summaries in the agent's file begin with, for an agent that runs no hook after a compaction"
    parser.add_argument("--mark", metavar="TEXT", help=mark)
    wired = (
        "do nothing if the agent's settings, a file of this name, have a hook of Ullage's: for the hooks of a plugin"
    )
    parser.add_argument("--unless-wired-in", metavar="NAME", help=wired)
    note = "give the agent's model a note of how full its context is, once at each mark"
    parser.add_argument("--fill-notes", action="store_true", help=note)


def run(args: "Namespace") -> int:
    """Answers the hook. Returns 0."""
    chosen = (("--store", args.store), ("--mark", args.mark), ("--unless-wired-in", args.unless_wired_in))
    words = [text for name, value in chosen if value for text in (name, str(value))]
    return run_words([args.agent, *words, *(["--fill-notes"] if args.fill_notes else [])]) or 0


# A note is due where all else warns, by the setting `context.warnAt`, and when the compaction may be so few calls away.
_FULL, _LAST, _CALLS = "full", "calls", 2
# A context of less than this share of what it was at the last note has been compacted since.
_EMPTIED = 0.6


class Fill:
    """The notes of a fill: those that were given since the last compaction. `value` is what `given` returned last."""

    def __init__(self, value: "dict[str, Any] | None") -> None:
        self._used = int(as_object(value).get("used") or 0)
        self._marks = {str(mark) for mark in as_list(as_object(value).get("marks"))}

    def note(self, figure: Figure, warns_at: int | None) -> str:
        """Returns the note that is due, or "". `warns_at`: the tokens from which on the user is warned, or None."""
        if figure.used is None or not figure.window:
            return ""
        if figure.used < _EMPTIED * self._used:
            self._marks.clear()
            self._used = 0
        due = {_FULL} if warns_at and figure.used >= warns_at else set[str]()
        due |= {_LAST} if figure.calls_left and figure.calls_left[0] <= _CALLS else set[str]()
        if due <= self._marks:
            return ""
        self._marks |= due
        self._used = figure.used
        window = figure.window
        about = "about " if figure.is_estimated else ""
        percent = (200 * figure.used + window) // (2 * window)
        parts = [f"Context: {about}{figure.used:,} of {window:,} tokens ({percent} %)."]
        if figure.compacts_at:
            calls = f", {_calls(figure.calls_left)} from now" if figure.calls_left else ""
            parts.append(f"It is compacted at {figure.compacts_at:,} tokens{calls}.")
        return " ".join(parts)

    @property
    def given(self) -> str:
        """The marks whose notes were given, as JSON."""
        marks = ",".join(f'"{mark}"' for mark in sorted(self._marks))
        return f'{{"used":{self._used},"marks":[{marks}]}}'


def _calls(left: "Iterable[int]") -> str:
    low, high = left
    number = low or high
    bound = "" if low == high else "at least " if low else "up to "
    return f"{bound}{number} {'call' if number == 1 else 'calls'} of the model"


# Seconds. A user waits for an agent's hook; what needs longer is left out. Agents wait for 5 seconds, of which a busy
# machine may take one to start this process.
LIMIT = 4.0
# Seconds of them in which a brief is waited for. After a compaction, the model has just taken longer for its summary
# and may continue for long before a prompt comes. A prompt's brief may as well come with the next one.
_WAITS, _WAITS_WITH_A_PROMPT = 3.0, 1.0
# Seconds between two looks whether the brief is there.
_STEP = 0.005
# Outcomes after which nothing is owed.
_SETTLED = ("given", "nothing")
# Characters of a token in plain English, about: a note is one line.
_CHARACTERS = 4
# Characters of the longest summary that is kept.
_LONGEST = 1_000_000
# The event of `ullage doctor`, which asks whether the hook runs.
CHECK = "UllageCheck"
# Folders from an agent's file up to the one of its settings: Gemini CLI has the most, four.
_HIGHEST = 6


def run_words(words: "Sequence[str]") -> int | None:
    """Answers the hook that an agent describes on standard input. Returns 0, whatever happens; prints nothing unless
    there is something to give back. Returns None if the arguments are not valid."""
    options = _read_words(words)
    if options is None:
        return None
    *values, notes_fill = options
    hook = _Hook(*values, notes_fill=notes_fill)
    start_new_thread(hook.end_late, ())
    try:
        hook.answer()
    except Exception:  # noqa: BLE001  (an agent would show the traceback, or stop)
        hook.note("failed")
    return 0


class _Hook:
    """One hook of an agent, until it is answered or too late."""

    def __init__(self, agent: str, place: str, mark: str, settings: str, *, notes_fill: bool) -> None:
        self._agent = agent
        self._settings = settings
        self._mark = mark
        self._place = place
        # With what the files begin that this machine keeps next to the store.
        self._store = local_store(place)
        self._notes_fill = notes_fill
        self._session = self._path = self._event = self._source = ""
        self._worker = 0
        self._began = time.monotonic()
        self._kept = HookState(self._store, "")
        # Held by what ends the hook first: the answer, or the time limit.
        self._ending = allocate_lock()

    def end_late(self) -> None:
        """Ends the process without a word when the time is over."""
        time.sleep(LIMIT)
        if self._ending.acquire(blocking=False):
            self._write_note("late")
            os._exit(0)

    def answer(self) -> None:
        """Reads what the agent says, and does what its event needs."""
        said = as_object(parse(read_most(sys.stdin.buffer, GIVEN)))
        event, source = _text_of(said, "hook_event_name"), _text_of(said, "source")
        if event == CHECK:
            from ullage.store.sqlite.database import VERSION  # noqa: PLC0415  (only `ullage doctor` asks)

            print_plain(f"ullage {__version__} store {VERSION}")
            return
        handler = self._handlers.get(event if event != "SessionStart" else f"{event} {source}")
        if handler is None:
            return
        self._event = event
        self._source = source if event == "SessionStart" else ""
        self._session, self._path = _text_of(said, "session_id"), _text_of(said, "transcript_path")
        if self._settings and is_wired(self._agent, self._path, self._settings):
            return
        if not is_safe(self._session):
            self._session = ""
            self.note("failed")
            return
        self._kept = HookState(self._store, self._session)
        handler(said)

    def note(self, outcome: str) -> None:
        """Writes the line of this hook, unless the time is over."""
        if self._ending.acquire(blocking=False):
            self._write_note(outcome)

    @property
    def _handlers(self) -> "dict[str, Callable[[dict[str, Any]], None]]":
        return {
            "PreCompact": self._begin,
            "SubagentStop": self._keep,
            "SessionStart compact": self._give_after_compaction,
            "SessionStart resume": self._give_again,
            "UserPromptSubmit": self._answer_prompt,
            "Stop": self._count,
            "BeforeAgent": self._answer_prompt,
            "AfterAgent": self._count,
        }

    def _begin(self, _: "dict[str, Any]") -> None:
        """Has the transcript read while the agent writes its summary. Prints what the summary must keep, if the agent
        takes that as instructions and the worker has it in time."""
        self._kept.give_up()
        self._start_worker()
        until = self._began + _WAITS
        while (guide := self._kept.guide()) is None and time.monotonic() < until and self._worker_runs():
            time.sleep(_STEP)
        text = _text_of(guide or {}, "text")
        if self._ending.acquire(blocking=False):
            if text and (guide or {}).get("is_answer"):
                print_answer(self._event, text)
            elif text:
                print_plain(text)
            self._write_note("begun", len(text), as_object((guide or {}).get("counts")))

    def _keep(self, said: "dict[str, Any]") -> None:
        """Keeps the summary of a compaction. It is handed over as the last words of a sub-agent without a type, before
        the session starts again; no file has it then."""
        summary = said.get("last_assistant_message")
        if said.get("agent_type") == "" and isinstance(summary, str) and 0 < len(summary) <= _LONGEST:
            self._kept.ask(summary)
            if not self._worker_runs():
                self._start_worker()
            self.note("kept")

    def _give_after_compaction(self, said: "dict[str, Any]") -> None:
        """Gives the brief as soon as the worker has it. Without a summary that was handed over, the agent's file may
        have one already; else the next prompt asks again."""
        if compaction := _text_of(said, "compaction_id"):
            self._give_for(compaction)
            return
        self._kept.forget_fill()
        if not (self._kept.has_brief() or self._kept.is_unanswered()):
            self._kept.owe()
            self._kept.ask("")
        self._wait(_WAITS)
        if self._give(self._kept.claim, "compact") in _SETTLED:
            self._kept.settle()

    def _give_again(self, said: "dict[str, Any]") -> None:
        """Gives what was given before: an agent forgets it when its session is resumed."""
        if compaction := _text_of(said, "compaction_id"):
            self._give_for(compaction)
        elif self._kept.has_brief() or self._kept.given():
            self._give(lambda: self._kept.claim() or self._kept.given(), "resume")

    def _give_for(self, compaction: str) -> None:
        """Gives the brief of a compaction that the agent's file has, as often as it is asked for, or prints that there
        is none. Only a new compaction, or one whose summary was not found, has a brief written."""
        is_new = self._kept.set_mark(compaction.encode())
        if is_new:
            self._kept.forget_fill()
            self._kept.owe()
        if is_new or (self._kept.owed() and not (self._kept.has_brief() or self._kept.is_unanswered())):
            self._kept.ask("")
        if self._kept.has_brief() or self._kept.is_unanswered():
            self._wait(_WAITS)
        outcome = self._give(lambda: self._kept.claim() or self._kept.given(), self._source)
        if outcome in _SETTLED:
            self._kept.settle()
        if outcome == "nothing":
            _print("{}")

    def _answer_prompt(self, _: "dict[str, Any]") -> None:
        # The agent's file has a mark of a compaction that no hook has reported.
        if self._mark and has_new_mark(self._kept, self._path, self._mark):
            self._kept.owe()
        owed = self._kept.owed()
        if owed and not (self._kept.has_brief() or self._kept.is_unanswered()):
            self._kept.ask("")
        if self._kept.has_brief() or self._kept.is_unanswered():
            self._wait(_WAITS_WITH_A_PROMPT)
            self._give(self._kept.claim, "prompt")
            if owed and not self._kept.is_unanswered():
                self._kept.settle()
        if self._notes_fill and self._ending.acquire(blocking=False):
            self._note_fill()

    def _note_fill(self) -> None:
        """Gives a note of how full the context is, if one is due. With a prompt that has a brief there is no room."""
        counted = self._kept.figure()
        fill = Fill(self._kept.fill())
        before, note = fill.given, fill.note(figure_of_row(counted), counted.get("warns_at")) if counted else ""
        if fill.given != before:
            self._kept.note_fill(fill.given)
        if note:
            print_answer(self._event, note)
            self._write_note("note", len(note))
            self._write_receipt("fill", note, {"characters": len(note), "tokens": len(note) // _CHARACTERS}, {})

    def _count(self, said: "dict[str, Any]") -> None:
        """Has the context counted for the note with the next prompt, in the window that the agent names."""
        if self._notes_fill:
            window = said.get("context_window")
            start_counting(self._place, self._session, self._path, window if isinstance(window, int) else 0)

    def _wait(self, seconds: float) -> None:
        """Waits for the worker's brief while there is a worker, and at most until this hook took so many seconds."""
        if not (self._kept.has_brief() or self._worker_runs()):
            self._start_worker()
        until = self._began + seconds
        while not self._kept.has_brief() and time.monotonic() < until and self._worker_runs():
            time.sleep(_STEP)

    def _give(self, take: "Callable[[], dict[str, Any] | None]", why: str) -> str:
        """Prints a brief, if there is one in time, and notes what was given. Returns the outcome; "" if too late."""
        if not self._ending.acquire(blocking=False):
            return ""
        brief = take()
        if brief is None:
            outcome = "late" if self._kept.is_unanswered() else "failed"
            self._write_note(outcome)
            return outcome
        text, counts = _text_of(brief, "text"), as_object(brief.get("counts"))
        numbers = {name: int(brief.get(name) or 0) for name in ("characters", "tokens")}
        if text:
            print_answer(self._event, text)
        self._write_note(outcome := _text_of(brief, "outcome"), numbers["characters"], counts)
        if text:
            self._write_receipt(why, text, numbers, counts)
        return outcome

    def _write_receipt(self, why: str, text: str, numbers: "dict[str, int]", counts: "dict[str, int]") -> None:
        told = {"agent": self._agent, "session": self._session, "transcript": self._path, "why": why, "text": text}
        note_receipt(self._store, told, numbers, counts)

    def _start_worker(self) -> None:
        self._worker = _start("worker", (self._agent, self._store, self._session, self._path, *_starters()))
        self._kept.set_worker(self._worker)

    def _worker_runs(self) -> bool:
        return this_system.runs(self._kept.worker())

    def _write_note(self, outcome: str, characters: int = 0, given: "dict[str, int] | None" = None) -> None:
        event = f"{self._event} {self._source}".strip()
        try:
            texts = {"agent": self._agent, "session": self._session, "event": event, "outcome": outcome}
            note_arrival(self._store, texts, characters, given or {})
        except OSError:
            pass


def _text_of(value: "dict[str, Any]", name: str) -> str:
    found = value.get(name)
    return found if isinstance(found, str) else ""


def _read_words(words: "Sequence[str]") -> "tuple[str, str, str, str, bool] | None":
    """Returns the agent's word, the place of the store, the mark, the name of the settings that a plugin's hook gives
    way to, and whether there are notes of the fill. Returns None if the arguments are not valid or ask for help."""
    agent, notes_fill = "", False
    chosen = {"--store": "", "--mark": "", "--unless-wired-in": ""}
    left = iter(words)
    for word in left:
        name, equals, value = word.partition("=")
        if name in chosen:
            chosen[name] = value if equals else next(left, "")
        elif word == "--fill-notes":
            notes_fill = True
        elif word.startswith("-") or agent:
            return None
        else:
            agent = word
    # A line of the list of arrivals has the word as it is.
    known = agent.replace("-", "").isalnum() and agent.isascii()
    if not known:
        return None
    return agent, chosen["--store"], chosen["--mark"], chosen["--unless-wired-in"], notes_fill


def start_counting(store: str, session: str, path: str, window: int) -> int:
    """Starts counting the session in the file at `path`, for a note of its fill. `window` is that of its model, in
    tokens, or 0. Returns the process's id. Raises `OSError`."""
    named = (str(window),) if window > 0 else ()
    return _start("counting", (store, session, path, str(time.time_ns()), *named))


def _starters() -> "list[str]":
    """Returns the processes that started this one, for the worker to end with them; [] where asking takes a process."""
    if sys.platform != "linux":
        return []
    return [*map(str, this_system.ancestors(os.getpid()))]


def _start(module: str, words: "Iterable[str]") -> int:
    """Starts a module of this room. It shares no open file with this process, so nothing waits for its end."""
    # `-P`: the folder in which the agent runs may have a module of any name.
    command = [sys.executable, "-P", "-m", f"ullage.cli.hooks.{module}", *words]
    if sys.platform != "win32":
        nothing = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
        try:
            return os.posix_spawn(command[0], command, os.environ, file_actions=nothing, setsid=True)
        except NotImplementedError:
            # A system without POSIX_SPAWN_SETSID, such as macOS.
            pass
    import subprocess  # noqa: PLC0415

    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **this_system.detached(),
    )
    # It outlives this process; nothing is to be said of that at exit.
    process.returncode = 0
    return process.pid


def is_wired(agent: str, transcript: str, settings: str) -> bool:
    """Returns whether a settings file of this name has a hook of Ullage's for the agent. It is looked for in the
    folders that the agent's file is in, the nearest first: these are the session's, wherever the user has moved them.
    A file that can't be read has none."""
    folder = os.path.dirname(transcript)  # noqa: PTH120
    for _ in range(_HIGHEST):
        try:
            return f" hook {agent}".encode() in read_plain(f"{folder}/{settings}", SETTINGS)
        except OSError:
            folder = os.path.dirname(folder)  # noqa: PTH120
    return False


# Bytes after which the older half is dropped: some hundred lines.
_LONGEST_ARRIVALS = 100_000


def quoted(text: str) -> str:
    """Returns a text as a JSON string, without importing `json`, which takes as long as all else that a hook does."""
    try:
        from _json import encode_basestring_ascii  # noqa: PLC0415
    except ImportError:
        import json  # noqa: PLC0415

        return json.dumps(text)
    return encode_basestring_ascii(text)


def print_answer(event: str, text: str) -> None:
    """Prints the answer to the hook of an event."""
    told = f'{{"hookEventName":{quoted(event)},"additionalContext":{quoted(text)}}}'
    _print(f'{{"hookSpecificOutput":{told}}}')


def print_plain(text: str) -> None:
    """Prints text that an agent takes as it is: before a compaction, as instructions for its summary."""
    _print(text)


def _print(answer: str) -> None:
    try:
        sys.stdout.buffer.write(f"{answer}\n".encode())
        sys.stdout.buffer.flush()
    except OSError:
        # The agent no longer waits for it. Python would try again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def note_receipt(
    store: str, texts: "Mapping[str, str]", numbers: "Mapping[str, int]", counts: "Mapping[str, int]"
) -> None:
    """Adds a receipt to those of a session in the catalogue.

    - `texts`: `session`, the agent's own id of it; `agent`; `transcript`, the path of the agent's file;
      `why` and `text`.
    - `numbers`: `characters` and `tokens`.
    - `counts`: how many losses of each kind are in the text.

    All but the first three are as in `GivenBack`. Raises `OSError`.
    """
    at = time.time_ns() // 1_000_000
    told = [f"{quoted(name)}:{quoted(text)}" for name, text in texts.items()]
    told += [f"{quoted(name)}:{number}" for name, number in numbers.items()]
    by_kind = ",".join(f"{quoted(kind)}:{count}" for kind, count in counts.items())
    receipt = f'{{"at":{at},{",".join(told)},"counts":{{{by_kind}}}}}'
    add_receipt(store, texts["session"], at, receipt.encode())


def note_arrival(store: str, texts: "Mapping[str, str]", characters: int, given: "Mapping[str, int]") -> None:
    """Adds a line: the time, these texts, the number of characters of the answer, and how many losses of each kind it
    has. All texts are plain words, so that they need no escapes in JSON. Raises `OSError`."""
    path = store + ARRIVALS
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)  # noqa: PTH103, PTH120
    told = "".join(f',"{name}":"{text}"' for name, text in texts.items())
    counts = ",".join(f'"{kind}":{count}' for kind, count in given.items())
    at = time.time_ns() // 1_000_000
    line = f'{{"at":{at}{told},"characters":{characters},"given":{{{counts}}}}}\n'
    append_line(path, line.encode(), _LONGEST_ARRIVALS)


def append_line(path: str, line: bytes, longest: int) -> None:
    """Adds a line, with its line end, to a file in one write. If the file is longer than `longest` bytes then, its
    older half is dropped. No line of another process is lost. Raises `OSError`."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        # Until it is closed, no other process drops the older half, which rewrites the file, and none appends while
        # this one does.
        this_system.lock(descriptor)
        os.write(descriptor, line)
        if os.fstat(descriptor).st_size > longest:
            # A process that ends in the midst of this leaves lines twice.
            kept = longest // 2
            with open(path, "r+b") as file:  # noqa: PTH123
                file.seek(-kept, os.SEEK_END)
                newer = file.read(2 * kept).partition(b"\n")[2]
                file.seek(0)
                file.write(newer)
                file.truncate()
    finally:
        os.close(descriptor)
