"""What many conversations in one process cost: memory for each that is held and for each that is idle, and processor
time of an append to either.

Python's own count of its memory (`tracemalloc`) is taken, so that figures do not depend on the machine. The floor of a
held conversation is the text of its messages.
"""

import gc
import time
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benches.report import Report, at_most
from ullage.embed.manager import ContextManager
from ullage.embed.pool import ContextPool

SESSIONS = 1_000
OPEN = 20
_TEXT = "The ship sails on through fog and rain, and nobody says where. " * 8
# A conversation of this many messages has about 13,000 tokens of text.
_MESSAGES = 100
# A thousand idle sessions may hold no more than a megabyte.
_IDLE_AIM, _HELD_AIM = 1_000, 4.0


def run(_: Sequence[Path]) -> Report:
    """A row for held conversations and one for idle ones."""
    held, idle = _held(), _idle()
    aims = [
        at_most("bytes for an idle session", idle["bytes each"], _IDLE_AIM),
        at_most("a held conversation: times its text", held["times its text"], _HELD_AIM),
    ]
    return Report(bench="pool", rows=[held, idle], aims=aims)


def _held() -> dict[str, Any]:
    with ContextPool("gpt-4o", open_at_most=OPEN) as pool:
        _fill(pool.open("warm"))
        before = _start()
        contexts = [pool.open(f"{number}") for number in range(OPEN - 1)]
        for context in contexts:
            _fill(context)
        used = (_stop() - before) / len(contexts)
        return {
            "case": "held",
            "sessions": len(contexts),
            "messages each": _MESSAGES,
            "bytes each": round(used),
            "times its text": used / (len(_TEXT) * _MESSAGES),
            "append us": _append_micros(contexts),
        }


def _idle() -> dict[str, Any]:
    with ContextPool("gpt-4o", open_at_most=OPEN) as pool:
        for number in range(OPEN):
            _fill(pool.open(f"warm-{number}"))
        before = _start()
        contexts = [pool.open(f"{number}") for number in range(SESSIONS)]
        for context in contexts:
            context.add_message({"role": "user", "content": _TEXT})
        used = (_stop() - before) / SESSIONS
        return {
            "case": "idle",
            "sessions": SESSIONS,
            "messages each": 1,
            "bytes each": round(used),
            "times its text": used / len(_TEXT),
            "append us": _append_micros(contexts[:-OPEN:5]),
        }


def _fill(context: ContextManager) -> None:
    context.add_message(*({"role": "user", "content": f"{number} {_TEXT}"} for number in range(_MESSAGES)))


def _append_micros(contexts: Sequence[ContextManager]) -> float:
    """Returns the processor time of an append to each of the conversations in turn, in microseconds."""
    before = time.process_time()
    for context in contexts:
        context.add_message({"role": "user", "content": "And then?"})
    return (time.process_time() - before) / len(contexts) * 1e6


def _start() -> int:
    gc.collect()
    tracemalloc.start()
    return tracemalloc.get_traced_memory()[0]


def _stop() -> int:
    gc.collect()
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return used
