"""Work that must come to an end, in a process of its own that can be stopped."""

import multiprocessing
from collections.abc import Callable
from typing import ParamSpec

_P = ParamSpec("_P")

# Seconds. The work takes a few; if its cost grew with the square of the input, it would take hours.
PATIENCE = 300.0


def ends(work: Callable[_P, object], *args: _P.args, **named: _P.kwargs) -> bool:
    """Returns whether the work returns within `PATIENCE`. Work that does not is stopped. `work` is a function of a
    module, and its arguments can be pickled."""
    process = multiprocessing.get_context("spawn").Process(target=work, args=args, kwargs=named)
    process.start()
    process.join(PATIENCE)
    if process.is_alive():
        process.kill()
        process.join()
    return process.exitcode == 0
