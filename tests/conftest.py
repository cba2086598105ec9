"""Options and fixtures that every test may use."""

import gc
import os
import signal
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Never

import pytest
from coverage import Coverage
from hypothesis import HealthCheck, settings

from run_tests import in_stretches
from support.open_databases import closed_databases, watch_databases
from support.postgres_server import PostgresServer, running_server

# Tests that are traced for coverage: those that call the code in their own process, but for recordings, hostile texts,
# races and long repetitions. These have the mark `no_cover`: others reach the same lines, and tracing takes up to three
# times as long as what it traces.
MEASURED = ("tests/unit/", "tests/interaction/", "tests/golden/")
# Tests whose programs are traced: together they run most commands. In each program it takes time to begin and to end.
MEASURED_PROGRAMS = tuple(
    f"tests/e2e/test_{name}.py"
    for name in ("cost", "pictures", "plugin_hooks", "stored_sessions", "team_in_doors", "wire_toml")
)
# Folders of tests that start programs.
_PROGRAMS = ("e2e", "editors")
# By this variable coverage finds its settings in a program that a test starts.
TRACED = "COVERAGE_PROCESS_CONFIG"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run the slow tests too")
    parser.addoption("--long", action="store_true", help="the same, and further agents, older editors and stories")
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write protocol/examples/, server/PROXY.md and docs/item_types.md instead of comparing them",
    )


def unignore_signals() -> None:
    """Has the programs that tests start take signals as in a terminal, also if the tests run under `nohup` or in the
    background of a script: a program inherits that a signal is ignored, but not that it has a handler."""
    for name in ("SIGINT", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda _, __: None)


def pytest_configure(config: pytest.Config) -> None:
    unignore_signals()
    config.addinivalue_line("markers", "slow: takes more than a few seconds; runs with --all")
    config.addinivalue_line("markers", "long: a further agent, an older editor, or a part in full; runs with --long")
    config.addinivalue_line("markers", "minutes: takes minutes, and begins first, so that others run beside it")
    config.addinivalue_line("markers", "editor: drives a real editor, which a rig in scripts/rigs sets up")
    # No example has a time limit, nor has the making of them, which a busy machine would miss. Examples are the same at
    # every run, so that a change fails for what it did; --long, which runs every night, looks for new ones.
    settings.register_profile(
        "ullage",
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        derandomize=not config.getoption("--long"),
    )
    settings.load_profile("ullage")
    if config.getoption("--long"):
        config.option.all = True
    watch_databases()
    # In a process of pytest-xdist coverage begins at its start, with pytest-cov, and for the tests. What began before
    # these would trace where a test is not traced.
    while hasattr(config, "workerinput") and (begun := Coverage.current()):
        begun.stop()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keeps ten thousand tests and what they import out of the collection of garbage. They stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if not item.nodeid.startswith(MEASURED):
            item.add_marker(pytest.mark.no_cover)
    # Each process of pytest-xdist finds the same order.
    items[:] = _in_order(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))
    for mark in ("slow", "long"):
        option = "--all" if mark == "slow" else "--long"
        skip = pytest.mark.skip(reason=f"{mark}: run with {option}")
        for item in items:
            if mark in item.keywords and not config.getoption(option):
                item.add_marker(skip)


def _in_order(items: list[pytest.Item], processes: int) -> list[pytest.Item]:
    """Returns tests of minutes first, of which the longest, VS Code's walk, is the last by name. Then, if there are
    several processes, each has files of tests of programs, which wait for these, and further tests at its end."""
    minutes = [item for item in items if "minutes" in item.keywords]
    others = [item for item in items if "minutes" not in item.keywords]
    if processes == 1:
        return [*minutes, *others]
    files: dict[Path, list[pytest.Item]] = {}
    for item in others:
        if item.path.parent.name in _PROGRAMS:
            files.setdefault(item.path, []).append(item)
    short = [item for item in others if item.path not in files]
    return in_stretches([*([item] for item in reversed(minutes)), *files.values()], short, processes)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Starts the programs of most tests without coverage."""
    held = None if item.nodeid.startswith(MEASURED_PROGRAMS) else os.environ.pop(TRACED, None)
    try:
        return (yield)
    finally:
        if held is not None:
            os.environ[TRACED] = held


@pytest.fixture(autouse=True)
def every_database_is_closed() -> Generator[None]:
    """Fails a test that leaves a store open."""
    with closed_databases():
        yield


@pytest.fixture(scope="session")
def postgres_server() -> Generator[PostgresServer]:
    """A PostgreSQL server for all tests of a process."""
    # Nothing here has to survive a power cut.
    with running_server("fsync=off") as server:
        yield server


@pytest.fixture
def postgres_address(postgres_server: PostgresServer) -> str:
    """The address of an empty store in PostgreSQL."""
    return postgres_server.new_schema()


@pytest.fixture
def lacking(request: pytest.FixtureRequest) -> Callable[[str], Never]:
    """Ends a test whose tool is missing: the test is skipped, or fails with --all, which installs every tool first."""

    def end(tool: str) -> Never:
        if request.config.getoption("--all"):
            pytest.fail(f"needs {tool}")
        pytest.skip(f"needs {tool}; ./scripts/test --all gets it")

    return end
