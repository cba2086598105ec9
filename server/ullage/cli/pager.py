"""Shows long text in the user's pager."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping

# As git sets them if LESS is unset: end at once if the text fits, pass colours on, leave the text on the screen.
_LESS = "FRX"


def show_in_pager(text: str, environment: Mapping[str, str]) -> bool:
    """Shows the text in the pager: the command in the variable PAGER, or `less` if it is unset. Returns True once the
    user has left the pager.

    Returns False, and shows nothing, if there is no pager: PAGER is empty or `cat`, the command can't be started, or
    the terminal is `dumb`.
    """
    command = _command(environment)
    if not command:
        return False
    less = {} if "LESS" in environment else {"LESS": _LESS}
    try:
        pager = subprocess.Popen(command, stdin=subprocess.PIPE, env={**environment, **less})
    except OSError:
        return False
    try:
        pager.communicate(text.encode(errors="replace"))
    except BrokenPipeError:
        # The user has left before the end.
        pass
    except KeyboardInterrupt:
        # The pager gets Ctrl-C as well, and means "stop searching" by it.
        pass
    while pager.poll() is None:
        try:
            pager.wait()
        except KeyboardInterrupt:
            continue
    return True


def _command(environment: Mapping[str, str]) -> list[str]:
    if environment.get("TERM") == "dumb":
        return []
    asked = environment.get("PAGER")
    if asked is None:
        return ["less"] if shutil.which("less", path=environment.get("PATH", os.defpath)) else []
    words = shlex.split(asked)
    return [] if words == ["cat"] else words
