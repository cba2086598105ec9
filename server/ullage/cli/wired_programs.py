"""Whether the programs that `ullage wire` has put into agents' settings still start Ullage."""

import os
import subprocess
from collections.abc import Iterable, Iterator

from ullage.app.own_command import gives_fill_notes, own_words, started_by
from ullage.store.sqlite.database import default_path
from ullage.store.store_place import StorePlace, local_path
from ullage.system.wired_files import Receipt

# Seconds. Ullage says its version in a fifth of one.
_PATIENCE = 20
# How an agent's settings started Ullage before modules of the agent's folder were kept out.
_UNSAFE = ("-m", "ullage")


def gone_programs(receipt: Receipt) -> Iterator[str]:
    """Yields, in words, what is wrong with each program that was added to an agent and no longer starts Ullage. None is
    run that would run a module of this folder."""
    for words in _programs(receipt):
        if not os.access(words[0], os.X_OK):
            yield f"{words[0]} is no longer there"
        elif words[1:] != _UNSAFE and words != own_words() and not _starts(words):
            yield f"`{' '.join(words)}` no longer starts Ullage"


def unsafe_programs(receipt: Receipt) -> Iterator[str]:
    """Yields, in words, what is wrong with each program that was added to an agent and would run a module of the folder
    in which the agent works."""
    for words in _programs(receipt):
        if words[1:] == _UNSAFE:
            yield f"`{' '.join(words)}` would run a module `ullage` of a project"


def wire_command(receipt: Receipt, word: str, store: StorePlace | None) -> str:
    """Returns the command that adds the same to an agent once more."""
    added = [file.added for file in receipt.files]
    options = {
        "--statusline": any(one.status_line for one in added),
        "--fill-notes": any(map(gives_fill_notes, added)),
        "--no-mcp": not any(one.mcp for one in added),
        f"--store {store}": local_path(store) != default_path(),
    }
    return " ".join(["ullage wire", word, *(option for option, is_given in options.items() if is_given)])


def _programs(receipt: Receipt) -> Iterable[tuple[str, ...]]:
    return dict.fromkeys(words for file in receipt.files for words in started_by(file.added))


def _starts(words: tuple[str, ...]) -> bool:
    command = [*words, "--version"]
    try:
        ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return ran.returncode == 0
