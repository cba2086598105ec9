"""The project's folder, found from the absolute paths in use, so that everything can be named relative to it."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from ullage.summary.calls import ToolCall
from ullage.summary.touches import touches_of

_ABSOLUTE = re.compile(r"(?<![\w./~-])/(?:[\w.@+-]{1,80}/){1,14}[\w.@+-]{1,80}")
_FOLDER_KEYS = ("cwd", "workdir", "path")
_SHARE = 0.8
_SYSTEM = ("/usr", "/bin", "/etc", "/tmp", "/dev", "/proc", "/opt", "/var", "/lib")


def find_root(calls: Sequence[ToolCall]) -> str:
    """The deepest folder that holds at least 80 % of the absolute paths the agent wrote; "" when none does."""
    folders = Counter(folder for path in _paths(calls) for folder in _ancestors(path))
    total = sum(1 for _ in _paths(calls))
    common = [
        folder
        for folder, times in folders.items()
        if times >= max(2, _SHARE * total) and folder.count("/") > 1 and not folder.startswith(_SYSTEM)
    ]
    return max(common, key=len, default="")


def relative(text: str, root: str) -> str:
    """`text` with the paths under `root` shortened."""
    if not root or root not in text:
        return text
    return re.sub(rf"{re.escape(root)}(?![\w.-])", ".", text.replace(root + "/", ""))


def _paths(calls: Iterable[ToolCall]) -> Iterable[str]:
    for call in calls:
        named = [path for path, _ in touches_of(call)] + [call.input.get(key) for key in _FOLDER_KEYS]
        text = " ".join([call.command[:2000], *(path for path in named if isinstance(path, str))])
        yield from (match[0] for match in _ABSOLUTE.finditer(text) if not match[0].startswith(_SYSTEM))


def _ancestors(path: str) -> Iterable[str]:
    parts = path.split("/")
    # The whole path may itself be the folder, as in `cd /project`.
    return ("/".join(parts[:depth]) for depth in range(3, len(parts) + 1))
