"""`docs/pictures` is what the program shows; `./scripts/test tests/e2e/test_pictures.py --update-golden` renews it."""

import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Never
from uuid import UUID

import pytest
from pytest import FixtureRequest

from support.agent_homes import Conversation, environment
from support.codex_files import counted, said, session
from support.command_line import ullage_bytes
from support.documents import ROOT, region
from support.editors import EDITORS, NEOVIMS, SERVER, neovim
from support.log_trees import to_bytes
from support.panes import Pane, wait_until
from support.session_log import JsonObject

PICTURES = ROOT / "docs" / "pictures"
_ASKED = "Refunds in two currencies. Never touch the table of rates, and use pnpm, not npm."
# As long as the folder that a test has: lines break at the same words.
_HOME = "/home/meredith"
_IDS = ("0c1f7a2e-95b3-4d20-8f61-2b7c9e0a4d18", "b93d5e60-17c8-4f42-a0d9-63e1f5b7c2a4")
_CODEX, _FORK = "3c1e7a52-4d0b-4b8e-9f36-8a5d2c6b1e07", "a4d82f19-6b3c-4e57-8d10-5f9e7c2b3a68"
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# What differs from run to run, and what is shown for it.
_CHANGING = (
    (r"\b\d\d:\d\d\b", "14:32"),
    (r"\b\d{4}-\d\d-\d\d\b", "2026-11-29"),
    (r"within \d+\.\d s", "within 0.3 s"),
    (r"warm \d min", "warm 9 min"),
    # What takes its time on a busy machine.
    (r"\b\d+ minutes? ago", "2 minutes ago"),
    (r"Ullage \S+ on Python \S+ \(.*\)", "Ullage 0.1.0 on Python 3.13.5 (/usr/bin/python3)"),
    (r"limits of \d+ models", "limits of 368 models"),
    (r"\d+\.\d MB, schema version \d+ of \d+", "0.4 MB, schema version 6 of 6"),
    (r"extras +[^\n]*(\n {18}[^\n]*)*", "extras       anthropic, openai, keyring, mcp, postgres, otel"),
)
_COMMANDS = {
    "ullage-60": (60, ""),
    "ullage": (80, ""),
    "ullage-120": (120, ""),
    "context": (80, "context"),
    "context-60": (60, "context"),
    "lost": (80, "lost 0c1f7a2e"),
    "brief": (80, "lost 0c1f7a2e --brief"),
    "search": (80, "search pnpm"),
    "messages": (80, "messages 0c1f7a2e"),
    "continue": (80, "continue 0c1f7a2e --before-compaction"),
    "doctor": (100, "doctor"),
    "help": (80, "--help"),
    "help-60": (60, "--help"),
}
_ASKING = {"wire": "wire claude-code", "forget": "forget b93d5e60", "watch-asks": "watch"}


@pytest.fixture
def home() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="u", dir="/tmp"))
    assert len(str(folder)) == len(_HOME)
    yield folder

    def is_gone() -> bool:
        # A server of Neovim ends a moment after it, and writes until then.
        shutil.rmtree(folder, ignore_errors=True)
        return not folder.exists()

    wait_until(is_gone)


class Shop:
    """A user's folder, in which two conversations with Claude Code are: one runs, and was compacted."""

    def __init__(self, home: Path) -> None:
        self.home, self.folder = home, home / "shop"
        self.folder.mkdir()
        running, older = Conversation(home, self.folder), Conversation(home, self.folder)
        older.say("Why does the login test fail on Mondays?", 93_000)
        running.say(_ASKED, 60_000)
        running.say("Round half to even.", 166_900)
        running.compact(167_100, "The user wants refunds to work.")
        running.say("Go on with the invoices.", 154_000)
        running.open_in(os.getpid())
        for one, age in ((running, 125), (older, 3 * 86_400)):
            _age(next(home.rglob(f"{one.id}.jsonl")), time.time() - age)
        self._ids = dict(zip((running.id, older.id), _IDS, strict=True))
        self._older = older

    def fork(self) -> None:
        """Continues the older conversation in a fork of it, an hour ago."""
        file = next(self.home.rglob(f"{self._older.id}.jsonl"))
        line = json.loads(file.read_bytes().splitlines()[0])
        origin = {"forkedFrom": {"sessionId": self._older.id, "messageUuid": line["uuid"]}}
        fork = file.with_name(f"{_FORK}.jsonl")
        lines = [json.loads(one) | {"sessionId": _FORK} | origin for one in file.read_bytes().splitlines()]
        fork.write_bytes(to_bytes(lines))
        _age(fork, time.time() - 3_600)

    def run(self, columns: int, words: str) -> str:
        ended = ullage_bytes(*self.real(words).split(), env=self.env(columns), cwd=self.folder)
        return self.named(ended.out)

    def real(self, words: str) -> str:
        for own, shown in self._ids.items():
            words = words.replace(shown[:8], own[:8])
        return words

    def env(self, columns: int) -> dict[str, str]:
        keys = {"ANTHROPIC_API_KEY": "", "OPENAI_API_KEY": "", "XDG_DATA_HOME": "", "PYTHONUTF8": "1", "TERM": "xterm"}
        return {**environment(self.home), "COLUMNS": str(columns), "LC_ALL": "C.UTF-8", "PAGER": "cat", **keys}

    def named(self, shown: str | bytes) -> str:
        """Returns what is shown with the names that the pictures have."""
        text = shown.decode() if isinstance(shown, bytes) else shown
        for own, name in self._ids.items():
            text = text.replace(own, name).replace(own[:8], name[:8])
        text = _ID.sub(lambda found: found[0] if found[0] in (*_IDS, _CODEX, _FORK) else str(UUID(int=1 << 96)), text)
        text = text.replace(str(self.home), _HOME).replace(
            re.sub(r"\W|_", "-", str(self.home)), _HOME.replace("/", "-")
        )
        for changing, fixed in _CHANGING:
            text = re.sub(changing, fixed, text)
        return "".join(f"{line.rstrip()}\n" for line in text.rstrip().splitlines())


@pytest.fixture
def keep(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a picture with the one that is kept, or keeps it."""

    def keep(name: str, shown: str) -> None:
        file = PICTURES / f"{name}.txt"
        if request.config.getoption("--update-golden"):
            PICTURES.mkdir(exist_ok=True)
            file.write_text(shown, encoding="utf-8")
        assert shown == file.read_text(encoding="utf-8"), f"if that is meant: {__doc__}"

    return keep


def test_commands_show_what_the_pictures_show(home: Path, keep: Callable[[str, str], None]) -> None:
    shop = Shop(home)
    shown = {name: shop.run(columns, words) for name, (columns, words) in _COMMANDS.items()}
    for name, text in shown.items():
        keep(name, text)
    told = region((ROOT / "README.md").read_text(encoding="utf-8"), "screen")
    assert told == f"```\n{shown['ullage']}```\n"


def test_two_agents_that_work_in_one_folder_are_seen_at_every_width(
    home: Path, keep: Callable[[str, str], None]
) -> None:
    shop = Shop(home)
    lines = (session(id=_CODEX, cwd=str(shop.folder)), said("user", "Cache the rates for a day."))
    path = home / ".codex/sessions/2026/11/29" / f"rollout-2026-11-29T10-00-00-{_CODEX}.jsonl"
    path.parent.mkdir(parents=True)
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    written = (*lines, said("assistant", "It is cached."), counted(187_000))
    path.write_bytes(to_bytes([one | {"timestamp": now} for one in written]))
    shop.fork()
    for columns in (60, 80, 120):
        keep(f"two-agents-{columns}", shop.run(columns, ""))


def test_a_user_who_has_nothing_is_told_where_to_begin(home: Path, keep: Callable[[str, str], None]) -> None:
    env = {"HOME": str(home), "CLAUDE_CONFIG_DIR": "", "COLUMNS": "60", "PYTHONUTF8": "1", "LC_ALL": "C.UTF-8"}
    keep("first-run-60", ullage_bytes(env=env, cwd=home).out.decode())
    demo = ullage_bytes("demo", "--fast", env=env, cwd=home).out.decode()
    keep("demo-end", demo[demo.index("That was") :])


@pytest.fixture
def pane(home: Path, lacking: Callable[[str], Never]) -> Iterator[Pane]:
    if not shutil.which("tmux"):
        lacking("tmux")
    pane = Pane(home / "tmux")
    yield pane
    pane.stop()


@pytest.mark.parametrize("name", _ASKING)
def test_questions_are_what_the_pictures_show(
    name: str, home: Path, pane: Pane, keep: Callable[[str, str], None]
) -> None:
    shop = Shop(home)
    if name == "forget":
        shop.run(80, "search pnpm")
    env = {name: value for name, value in shop.env(80).items() if name not in ("COLUMNS", "LINES")}
    words = shop.real(_ASKING[name]).split()
    # A path is not broken: the terminal has room for it.
    columns = 100 if name == "forget" else 80
    pane.start([sys.executable, "-m", "ullage", *words], env, (columns, 24), shop.folder)
    keep(name, shop.named(pane.wait(lambda text: "/" in text and text.rstrip().endswith(("]", "details]")))))


def test_help_that_does_not_fit_is_shown_in_a_pager_that_says_how_to_leave_it(
    home: Path, pane: Pane, lacking: Callable[[str], Never]
) -> None:
    if not shutil.which("less"):
        lacking("less")
    env = {name: value for name, value in Shop(home).env(80).items() if name not in ("COLUMNS", "LINES", "LESS")}
    pane.start([sys.executable, "-m", "ullage", "--help"], env | {"PAGER": "less"}, (80, 24), home)
    assert "usage: ullage" in pane.wait(lambda text: "q: leave" in text)


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_the_live_table_is_what_the_picture_shows(
    columns: int, home: Path, pane: Pane, keep: Callable[[str, str], None]
) -> None:
    shop = Shop(home)
    shop.run(80, "keep off")
    env = {name: value for name, value in shop.env(80).items() if name not in ("COLUMNS", "LINES")}
    pane.start([sys.executable, "-m", "ullage", "watch", "--since", "999999"], env, (columns, 8), shop.folder)
    keep(f"watch-{columns}", shop.named(pane.wait(lambda text: "47%" in text and "77%" in text and "Kept" in text)))
    pane.type("q")


def test_emacs_shows_the_figure_in_its_mode_line(
    home: Path, pane: Pane, keep: Callable[[str, str], None], lacking: Callable[[str], Never]
) -> None:
    emacs = shutil.which("emacs") or lacking("Emacs 28.1 or newer (Debian: emacs-nox)")
    shop, code = Shop(home), ROOT / "editors" / "examples" / "ullage.el"
    command = f'(setq ullage-command (list "{sys.executable}" "-m" "ullage" "lsp") inhibit-startup-screen t)'
    words = [emacs, "-nw", "-Q", "-l", str(code), "--eval", command, "--eval", "(ullage-mode 1)", "refunds.py"]
    env = {name: value for name, value in shop.env(80).items() if name not in ("COLUMNS", "LINES")}
    pane.start(words, env | {"TERM": "screen"}, (80, 6), shop.folder)
    shown = shop.named(pane.wait(lambda text: "CC 77%" in text))
    line = next(line for line in shown.splitlines() if "CC 77%" in line)
    keep("emacs", f"{line}\n")
    told = region((ROOT / "docs" / "guide" / "emacs.md").read_text(encoding="utf-8"), "screen")
    assert told == f"```\n{line}\n```\n"


def _clock_row(shop: Shop) -> JsonObject:
    """Returns a row of the live file that has all that the clock can say."""
    now = int(time.time() * 1_000)
    return {
        "session_id": "s1",
        "agent": "Claude Code",
        "agent_short": "CC",
        "title": "Refunds in two currencies",
        "cwd": str(shop.folder),
        "live": True,
        "used": 310_000,
        "used_source": "reported",
        "window": 400_000,
        "compacts_at": 367_000,
        "calls_left": [14, 41],
        "compact_command": "/compact",
        "updated_at": now - 3_600_000,
        "idle": {"at": now + 480_000, "setting": '"idleCompaction": false'},
        "cache": {"until": now + 590_000, "source": "promised", "tokens": 310_000, "warm": 0.21, "cold": 1.9},
        "moment": {"at": now - 20_000, "work": "fix: refunds", "tokens": 14_000, "cost": 0.05},
        "rate_limits": [{"name": "5h", "percent": 42}, {"name": "7d", "percent": 80}],
    }


@pytest.fixture
def nvim(shop: Shop, pane: Pane, lacking: Callable[[str], Never]) -> Pane:
    """Neovim in the folder of the shop, which follows its conversations."""
    program = neovim(NEOVIMS[-1]) or lacking(f"Neovim {NEOVIMS[-1]}")
    env = {name: value for name, value in shop.env(80).items() if name not in ("COLUMNS", "LINES")}
    env |= {"ULLAGE_SERVER": str(SERVER), "TERM": "screen-256color", "XDG_STATE_HOME": str(shop.home / "state")}
    look = "set laststatus=2 noswapfile statusline=%f%=%{%v:lua.require'ullage'.statusline()%}"
    words = ["--cmd", f"set rtp^={EDITORS / 'nvim'}", "--cmd", "let g:ullage = #{follow: v:true}", "--cmd", look]
    pane.start([str(program), "--clean", *words], env, (80, 20), shop.folder)
    return pane


@pytest.fixture
def shop(home: Path) -> Shop:
    return Shop(home)


def test_neovim_shows_the_clock(
    shop: Shop, pane: Pane, keep: Callable[[str, str], None], request: FixtureRequest
) -> None:
    live = shop.home / ".local" / "share" / "ullage" / "sessions.db.live.json"
    live.parent.mkdir(parents=True)
    row = _clock_row(shop)
    live.write_text(json.dumps({"version": 1, "at": 0, "follower": os.getpid(), "sessions": [row]}), encoding="utf-8")
    request.getfixturevalue("nvim")
    told = pane.wait(lambda text: "(:Ullage continue)" in text and "CC 78 %" in text)
    pane.type(":Ullage agents", "Enter")
    listed = pane.wait(lambda text: "Type number" in text)
    keep(
        "neovim-clock",
        shop.named("\n".join([*told.rstrip().splitlines()[-2:], "", *listed.rstrip().splitlines()[-5:]])),
    )


def test_neovim_shows_a_conversation_and_what_its_compaction_left_out(
    shop: Shop, nvim: Pane, keep: Callable[[str, str], None]
) -> None:
    shop.run(80, "keep off")
    nvim.wait(lambda text: "CC 77 %" in text)
    nvim.type(":Ullage", "Enter")
    nvim.wait(lambda text: "Go on with the invoices." in text)
    nvim.type(":only", "Enter", "gg]]", "Enter")
    keep("neovim", shop.named(nvim.wait(lambda text: "Left out: 2 messages" in text)))


def _age(path: Path, at: float) -> None:
    """Sets all times of a conversation, and that of its file."""
    past = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at))
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", past, path.read_text(encoding="utf-8"))
    path.write_text(text, encoding="utf-8")
    os.utime(path, (at, at))
