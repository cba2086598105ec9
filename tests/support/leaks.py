"""What of a made-up secret has leaked into a text."""

from typing import Any

# So much of a secret helps whoever finds it; shorter ones must not be there whole.
_WINDOW = 10


def secret_of(case: dict[str, Any]) -> str:
    """The secret of one case of `secrets.json`, put together. It lies there in parts, so that no scanner takes the
    file for a leak."""
    return "".join(case["secret"])


def line_of(case: dict[str, Any]) -> str:
    """The secret in the line it is found in."""
    return case["line"].replace("{}", secret_of(case))


def leaks(case: dict[str, Any], text: str) -> list[str]:
    """Pieces of the secret that stand in `text`, its public beginnings aside."""
    telling = case["secret"][-1].replace("\\n", "\n")
    runs = [run for run in telling.split("\n") if run and not run.startswith("-----") and " " not in run]
    pieces = [run[at : at + _WINDOW] for run in runs for at in range(max(1, len(run) - _WINDOW + 1))]
    return [piece for piece in pieces if piece in text]
