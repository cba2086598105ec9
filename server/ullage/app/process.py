"""Prepares a process for serving. Used by the Language Server, the ACP agent and the proxy."""

import sys
from importlib import import_module

from ullage.redaction.clean import clean
from ullage.tokens import vocabulary

# Seconds after which a thread that counts or summarizes lets other threads run. With Python's own 5 ms, an answer waits
# several times that long, and once for each busy thread.
_SWITCH_INTERVAL = 0.0005


def share_the_interpreter() -> None:
    """Sets the interpreter's switch interval to 0.5 ms, so that answers are sent soon while other threads compute."""
    sys.setswitchinterval(_SWITCH_INTERVAL)


def warm_up() -> None:
    """Imports the modules that opening a workspace needs, and loads the tokenizer vocabulary that most models share, so
    that the first request doesn't wait for them."""
    import_module("ullage.app.compose")
    clean("")
    vocabulary.warm_up()
