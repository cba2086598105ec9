"""Prepares a process for serving. Used by the Language Server, the ACP agent and the proxy."""

import sys
from importlib import import_module

from ullage.tokens import vocabulary

# Seconds after which a thread that counts or summarizes lets other threads run. With Python's own 5 ms, an answer waits
# several times that long, and once for each busy thread.
_SWITCH_INTERVAL = 0.0005


def share_the_interpreter() -> None:
    """Lets answers be sent while threads are busy: shortens the interpreter's switch interval."""
    sys.setswitchinterval(_SWITCH_INTERVAL)


def warm_up() -> None:
    """Imports the modules that opening a workspace needs, and loads the vocabulary that most models share."""
    import_module("ullage.app.compose")
    vocabulary.warm_up()
