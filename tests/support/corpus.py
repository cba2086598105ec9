"""Test cases that are kept as data in `tests/data`, and the parts of a made-up secret that have leaked into a text."""

import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[1] / "data"


def cases(name: str) -> list[dict[str, Any]]:
    """Returns the objects of one file."""
    return json.loads((DATA / name).read_text())


# Characters: a part this long helps an attacker. A shorter secret must not be in the text as a whole.
_WINDOW = 10


def secret_of(case: dict[str, Any]) -> str:
    """Returns the secret of one case of `secrets.json`. The file holds it in parts, so that no scanner takes the
    file for a leak."""
    return "".join(case["secret"])


def line_of(case: dict[str, Any]) -> str:
    """Returns the line with the secret in it."""
    return case["line"].replace("{}", secret_of(case))


def leaks(case: dict[str, Any], text: str) -> list[str]:
    """Returns the pieces of the secret that are in `text`, without its public beginnings."""
    telling = case["secret"][-1].replace("\\n", "\n")
    runs = [run for run in telling.split("\n") if run and not run.startswith("-----") and " " not in run]
    pieces = [run[at : at + _WINDOW] for run in runs for at in range(max(1, len(run) - _WINDOW + 1))]
    return [piece for piece in pieces if piece in text]
