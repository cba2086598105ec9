"""What both doors do to the process they serve from."""

import sys
from importlib import import_module

from ullage.tokens import vocabulary

# A thread that counts or summarises hands the interpreter over after so many seconds. Python's own 5 ms are waited for
# several times in an answer, and once for each thread that is at work.
_SWITCH_INTERVAL = 0.0005


def share_the_interpreter() -> None:
    """Lets answers go out while threads are at work."""
    sys.setswitchinterval(_SWITCH_INTERVAL)


def warm_up() -> None:
    """Imports what opening a workspace imports, and loads the vocabulary that most models share."""
    import_module("ullage.app.compose")
    vocabulary.warm_up()
