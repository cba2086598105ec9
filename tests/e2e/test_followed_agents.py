"""Real agents next to a real `ullage watch`, with a model on the loopback: the figure is the agent's own, and its
automatic compaction is warned of before and recorded after."""

import asyncio
import json
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from support.acp_end import PATIENCE
from support.agents.launch import need
from support.agents.model_server import ModelServer
from support.agents.panes import HAS_TMUX, panes
from support.agents.runs import ONE_SHOTS, SEATED, SUMMARY_WORDS, OneShot, Seated
from support.command_line import ullage
from support.systems import needs_linux
from support.watching import watching
from support.wire.replies import Call
from ullage.agents.transcripts import read_document
from ullage.formats.parsing import parse_document
from ullage.model.events import CompactionCause, CompactionEdit, ContextEdited
from ullage.store.sqlite.catalogue import Keeping

HAS_COMPILER = shutil.which("cc") is not None
_SOURCE = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long *ahead;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("CLOCK_AHEAD");
  int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, 16, PROT_READ, MAP_SHARED, file, 0);
  if (mapped != MAP_FAILED) ahead = mapped;
  unsetenv("LD_PRELOAD");
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int failed = syscall(SYS_clock_gettime, clock, now);
  if (failed || !ahead || clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID) return failed;
  now->tv_sec += ahead[clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE];
  return 0;
}

int gettimeofday(struct timeval *now, void *zone) {
  struct timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *now) {
  struct timespec precise;
  clock_gettime(CLOCK_REALTIME, &precise);
  if (now) *now = precise.tv_sec;
  return precise.tv_sec;
}
"""


class Clock:
    """The clock of the programs that are started with `variables`. It begins `behind` seconds before the system's."""

    def __init__(self, folder: Path, behind: int) -> None:
        self._behind, self._file, library = behind, folder / "clock", folder / "clock.so"
        self._set(-behind, 0)
        source = folder / "clock.c"
        source.write_text(_SOURCE)
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
        self.variables: Mapping[str, str] = {"LD_PRELOAD": str(library), "CLOCK_AHEAD": str(self._file)}

    def catch_up(self) -> None:
        """Lets the time pass until it is the system's."""
        self._set(0, self._behind)

    def _set(self, wall: int, steady: int) -> None:
        """Sets what is added to the time of day, and to the clocks that only go on, in seconds."""
        with self._file.open("r+b" if self._file.exists() else "wb") as file:
            file.write(struct.pack("=qq", wall, steady))


# Tokens below an agent's threshold at which the user must have been warned. A call in these tests adds fewer.
_SHORT = 4_000
_LOOK_EVERY = 0.3
# Some agents don't compact a short conversation, whatever its usage.
_TRIES = 5
_LONG = " ".join(["cask"] * 4_000)
OTHERS = [pytest.param(one, marks=pytest.mark.long, id=one.known.name) for one in ONE_SHOTS[1:]]


async def until(accept: Callable[[], bool]) -> None:
    """Waits until the condition holds. Raises `TimeoutError`."""
    async with asyncio.timeout(PATIENCE):
        while not accept():
            await asyncio.sleep(_LOOK_EVERY)


class Shown:
    """What Ullage's own commands say of a conversation in a store."""

    def __init__(self, store: Path, session_id: str) -> None:
        self._store = store
        self._session_id = session_id

    def figures(self) -> Any:
        return ullage("context", self._session_id, "--store", self._store, "--json").json

    async def until(self, accept: Callable[[Any], bool]) -> Any:
        """Waits until the figures are as wanted. Raises `AssertionError` with the last ones otherwise."""
        shown = self.figures()
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                while not accept(shown):
                    await asyncio.sleep(_LOOK_EVERY)
                    shown = self.figures()
        assert accept(shown), shown
        return shown


@pytest.mark.parametrize("agent", [pytest.param(ONE_SHOTS[0], id=ONE_SHOTS[0].known.name), *OTHERS])
@needs_linux
async def test_an_agents_figure_is_its_own_and_its_compaction_is_warned_of_and_recorded(
    agent: OneShot, tmp_path: Path
) -> None:
    need(agent.known)
    store, model = tmp_path / "store.db", ModelServer()
    # Grok takes a shorter summary for none.
    model.summary = " ".join([model.summary] * 40)
    model.summary_words = agent.asks_summary or model.summary_words
    async with model.serving():
        model.until_summary = True
        with watching(store, agent.known.launch(tmp_path, "").environment) as rows:

            async def ask(prompt: str, *, again: bool = True) -> Any:
                await agent.ask(tmp_path, model.url, prompt, again=again)
                own = agent.figure(tmp_path)
                return await rows.until(lambda row: row["used"] == own)

            row = await ask("Which port is it?", again=False)
            assert row["used_source"] == "reported"
            shown = Shown(store, row["session_id"])
            # The agent's settings, where an agent's window is, are not in its conversation's file.
            known = row["compacts_at"] is not None
            assert not known or row["compacts_at"] == agent.compacts_at
            model.inflated = agent.compacts_at - _SHORT - row["used"]
            row = await ask("And the one beside it?")
            figures = shown.figures()
            assert figures["compactions"] == 0
            assert not known or figures["level"] != "normal"
            # Past the threshold, the agent compacts at this prompt or before the one after it.
            model.inflated += 2 * _SHORT
            for number in range(_TRIES):
                prompt = f"Then number {number}?"
                if agent.tool:
                    name, given = agent.tool
                    model.scripted = {prompt: Call(f"c{number}", name, json.dumps(given))}
                await agent.ask(tmp_path, model.url, f"{prompt} {_LONG}", again=True)
                if shown.figures()["compactions"]:
                    break
            after = await shown.until(lambda shown: shown["compactions"] == 1)
            assert not known or after["used"] < agent.compacts_at


@pytest.mark.long
@pytest.mark.parametrize("agent", SEATED, ids=lambda agent: agent.known.name)
@pytest.mark.skipif(not HAS_TMUX, reason="needs tmux; ./scripts/test --all gets it")
@needs_linux
async def test_beside_an_agent_in_a_terminal_the_same_figure_is_on_the_screen(agent: Seated, tmp_path: Path) -> None:
    need(agent.known)
    store, model = tmp_path / "store.db", ModelServer()
    Keeping(store).answer(keep=True)
    async with model.serving():
        model.until_summary, model.summary_words = True, SUMMARY_WORDS
        launch = agent.known.launch(tmp_path, model.url)
        environment = {**launch.environment, "ULLAGE_STORE": str(store)}
        watch = (sys.executable, "-m", "ullage", "--store", str(store), "watch")
        with panes(tmp_path) as opened, watching(store, environment) as rows:
            beside = opened.open("watch", watch, environment, launch.cwd)
            pane = opened.open("agent", (str(agent.known.program), *agent.arguments), environment, launch.cwd)
            await pane.until(agent.ready)

            async def ask(prompt: str) -> Any:
                count = len(model.asked)
                await pane.type(prompt)
                await model.until_asked(count + 1)
                row = await rows.until(
                    lambda row: row["used_source"] == "reported" and (row["messages"] or 0) > asked[-1]
                )
                asked.append(row["messages"])
                # Claude Code's status line follows the answer by 300 ms.
                await until(lambda: agent.figure(tmp_path) == row["used"])
                await beside.until(f"{row['percent']}%")
                return row

            asked = [0]
            row = await ask("Which port is it?")
            assert agent.window == row["window"]
            await pane.type(agent.status)
            await pane.until(agent.told(row["used"]))
            shown = Shown(store, row["session_id"])
            model.inflated = agent.compacts_at - _SHORT - row["used"]
            await ask("And the one beside it?")
            figures = shown.figures()
            assert (figures["level"] != "normal", figures["compactions"]) == (True, 0)
            model.inflated += 2 * _SHORT
            await ask("And the third?")
            await pane.type("And the last?")
            after = await shown.until(lambda shown: shown["compactions"] == 1 and shown["source"] == "reported")
            await until(lambda: agent.figure(tmp_path) == after["used"])
            assert after["compacts_at_source"] == "learned"
            await beside.until(f" {after['percent']}%")


# Milliseconds after its last answer at which Claude Code compacts a conversation that idles, and a size from which on.
_IDLES_AFTER, _IDLES = 54 * 60_000, 210_000
# Seconds in which the test must see that it is announced, and by which the program may be late.
_AHEAD = 30


@pytest.mark.long
@pytest.mark.skipif(not (HAS_TMUX and HAS_COMPILER), reason="needs tmux and cc; ./scripts/test --all gets them")
@needs_linux
async def test_claude_code_compacts_while_it_idles_when_it_was_announced_and_shows_no_threshold(tmp_path: Path) -> None:
    agent = SEATED[0]
    need(agent.known)
    store, model, clock = tmp_path / "store.db", ModelServer(), Clock(tmp_path, _IDLES_AFTER // 1_000 - _AHEAD)
    async with model.serving():
        model.summary_words, model.inflated = SUMMARY_WORDS, _IDLES
        # Any other summary is refused while it idles.
        model.summary = f"<analysis>Short.</analysis>\n<summary>\n{model.summary}\n</summary>"
        launch = agent.known.launch(tmp_path, model.url)
        shifted = {**launch.environment, **clock.variables, "ENABLE_PROMPT_CACHING_1H": "1"}
        with panes(tmp_path) as opened, watching(store, launch.environment) as rows:
            pane = opened.open("agent", (str(agent.known.program),), shifted, launch.cwd)
            await pane.until(agent.ready)
            await pane.type("Which port is it?")
            first = await rows.until(lambda row: row["idle"] is not None)
            await pane.type("And the one beside it?")
            row = await rows.until(lambda row: row["idle"] is not None and row["messages"] > first["messages"])
            clock.catch_up()
            assert row["idle"]["at"] == row["updated_at"] + _IDLES_AFTER
            shown = Shown(store, row["session_id"])
            await shown.until(lambda shown: shown["compactions"] == 1)
            events = read_document(parse_document(Path(row["path"]).read_bytes(), "log")).events
            edits = [event.edit for event in events if isinstance(event, ContextEdited)]
            assert [isinstance(edit, CompactionEdit) and edit.cause for edit in edits] == [CompactionCause.IDLE]
            assert abs(edits[0].timestamp - row["idle"]["at"]) < _AHEAD * 1_000
            model.inflated = 0
            await pane.type("And the last?")
            after = await shown.until(lambda shown: shown["source"] == "reported" and shown["compactions"] == 1)
            assert (after["compacts_at"], after["compacts_at_source"], after["idle"]) == (967_000, "rule", None)


# By the agent's name: the arguments with which it answers one prompt and asks for no permission, its tool that runs a
# command, and the arguments of that. Codex asks the model again while a command runs for longer than the given
# time, at most 30 s.
_ALONE = {
    "claude-agent-acp": (("--dangerously-skip-permissions", "-p"), "Bash", "command", {"description": "Wait"}),
    "codex-acp": (
        ("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"),
        "exec_command",
        "cmd",
        {"yield_time_ms": 30_000},
    ),
}
# Tokens that the answers report, besides what they have: two with a call, and the last one.
_FIRST, _SECOND, _LAST = 50_000, 60_000, 70_000
# Seconds that the model takes for an answer after the first: a model is seldom faster.
_THINKS = 3.0


@pytest.mark.slow
@pytest.mark.parametrize("agent", SEATED, ids=lambda agent: agent.known.name)
@needs_linux
async def test_the_figure_of_an_answer_is_shown_while_its_tool_runs(agent: Seated, tmp_path: Path) -> None:
    need(agent.known)
    arguments, tool, command, given = _ALONE[agent.known.name]

    def waits_for(name: str) -> Call:
        """Returns a call that runs until a file is there."""
        run = f"until [ -e {tmp_path / name} ]; do sleep 0.1; done; echo {name} came"
        return Call(f"toolu_{name}", tool, json.dumps({command: run, **given}))

    model = ModelServer()
    model.summary_words, model.inflated = SUMMARY_WORDS, _FIRST
    model.scripted["Which port"] = waits_for("berta")
    async with model.serving():
        launch = agent.known.launch(tmp_path, model.url)
        with watching(tmp_path / "store.db", launch.environment) as rows:

            async def until(tokens: int) -> None:
                await rows.until(lambda row: row["used"] >= tokens and row["used_source"] == "reported")

            process = await asyncio.create_subprocess_exec(
                str(agent.known.program),
                *arguments,
                "Which port is it?",
                env=launch.environment,
                cwd=launch.cwd,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
            )
            try:
                await until(_FIRST)
                model.scripted["berta came"], model.inflated = waits_for("carla"), _SECOND
                model.free.clear()
                (tmp_path / "berta").touch()
                await model.until_asked(2)
                asyncio.get_running_loop().call_later(_THINKS, model.free.set)
                await until(_SECOND)
                assert process.returncode is None
                model.inflated = _LAST
                (tmp_path / "carla").touch()
                async with asyncio.timeout(PATIENCE):
                    assert await process.wait() == 0
            finally:
                for name in ("berta", "carla"):
                    (tmp_path / name).touch()
                if process.returncode is None:
                    process.kill()
            await until(_LAST)
