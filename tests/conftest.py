"""Options and fixtures that every test may use."""

from collections.abc import Callable
from typing import Never

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="run the slow tests too")
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write protocol/examples/ and server/PROXY.md instead of comparing them",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes more than a few seconds; runs with --all")
    config.addinivalue_line("markers", "editor: drives a real editor, which a rig in scripts/rigs sets up")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--all"):
        return
    skip = pytest.mark.skip(reason="slow: run with --all")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(skip)


@pytest.fixture
def lacking(request: pytest.FixtureRequest) -> Callable[[str], Never]:
    """Ends a test whose tool is missing: the test is skipped, or fails with --all, which installs every tool first."""

    def end(tool: str) -> Never:
        if request.config.getoption("--all"):
            pytest.fail(f"needs {tool}")
        pytest.skip(f"needs {tool}; ./scripts/test --all gets it")

    return end
