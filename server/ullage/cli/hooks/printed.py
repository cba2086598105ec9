"""What a hook prints: an object with the text that the agent adds to its model's context, or instructions for its
summary."""

import os
import sys


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


def print_nothing() -> None:
    """Prints that there is nothing to give, and will not be."""
    _print("{}")


def _print(answer: str) -> None:
    try:
        sys.stdout.buffer.write(f"{answer}\n".encode())
        sys.stdout.buffer.flush()
    except OSError:
        # The agent no longer waits for it. Python would try again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
