"""Whether an agent runs a hook of its settings as well as the one of Ullage's plugin."""

import os

# Folders from an agent's file up to the one of its settings: Gemini CLI has the most, four.
_HIGHEST = 6


def is_wired(agent: str, transcript: str, settings: str) -> bool:
    """Returns whether a settings file of this name has a hook of Ullage's for the agent. It is looked for in the
    folders that the agent's file is in, the nearest first: these are the session's, wherever the user has moved them.
    A file that can't be read has none."""
    folder = os.path.dirname(transcript)  # noqa: PTH120
    for _ in range(_HIGHEST):
        try:
            with open(f"{folder}/{settings}", "rb") as file:  # noqa: PTH123
                return f" hook {agent}".encode() in file.read()
        except OSError:
            folder = os.path.dirname(folder)  # noqa: PTH120
    return False
