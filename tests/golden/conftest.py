"""The examples that the code makes now, and the committed ones."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from support.example_messages import EXAMPLES
from support.examples import record_examples


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    return asyncio.run(record_examples(tmp_path_factory.mktemp("stores")))


@pytest.fixture(scope="session")
def committed(made: Mapping[str, Any], request: pytest.FixtureRequest) -> Mapping[str, Any]:
    if request.config.getoption("--update-golden"):
        _write(made)
    return {path.name.removesuffix(".json"): json.loads(path.read_text()) for path in sorted(EXAMPLES.glob("*.json"))}


def _write(messages: Mapping[str, Any]) -> None:
    EXAMPLES.mkdir(exist_ok=True)
    for path in EXAMPLES.glob("*.json"):
        path.unlink()
    for name, message in messages.items():
        text = json.dumps(message, indent=2, ensure_ascii=False)
        (EXAMPLES / f"{name}.json").write_text(text + "\n")
