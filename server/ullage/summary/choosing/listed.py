"""Lists that tools printed, each as one line: how many names of a kind, where most of them are, and a few."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ullage.summary.choosing.items import Item, Section
from ullage.summary.reading.anchors import find_anchors
from ullage.summary.reading.digest import Digest
from ullage.summary.reading.excerpts import cut_at_space
from ullage.summary.reading.rows import FEWEST_ROWS, RowGroup, RowKind
from ullage.summary.tuning import TUNING, Tuning

# Names shown of each kind. A list of one more is shown whole, because "4 files, such as" three hides one alone.
_MOST_NAMES = 3
# Each conflict must be resolved.
_MOST_CONFLICTS = 12
# Characters. The longest subject that git's own documents call for is 72 characters, and its hash comes before it.
_NAME_LIMIT = 84
_COMMAND_LIMIT = 100
_NOUNS = {
    RowKind.PASSED: ("test passed", "tests passed"),
    RowKind.PATH: ("path", "paths"),
    RowKind.COMMIT: ("commit", "commits"),
}


def listed_of(digest: Digest, weights: Mapping[str, float], tuning: Tuning = TUNING) -> Iterator[Item]:
    """Yields an item for each command's and each folder's rows of names, newest first; of those with the same command,
    only the newest. The names with the most weight are shown."""
    known: set[str] = set()
    for seen in reversed(digest.seen):
        groups = [group for group in seen.lines.rows.groups if group.names and group.count >= FEWEST_ROWS]
        is_list = seen.group.startswith("$ ") or ("/" in seen.group and " " not in seen.group)
        if groups and is_list and seen.group not in known:
            known.add(seen.group)
            told = "; ".join(_told(group, weights) for group in groups)
            text = f"{_quoted(cut_at_space(seen.group.removeprefix('$ '), _COMMAND_LIMIT))}: {told}"
            yield Item(
                section=Section.LISTED,
                text=text,
                index=seen.index,
                anchors=find_anchors(text),
                value=tuning.shown_value,
            )


def _told(group: RowGroup, weights: Mapping[str, float]) -> str:
    one, many = _NOUNS.get(group.kind, (f"file {group.kind}", f"files {group.kind}"))
    count = group.count
    names = dict.fromkeys(name for name in group.names if len(name) <= _NAME_LIMIT)
    best = sorted(names, key=lambda name: -max((weights.get(part, 0.0) for part in find_anchors(name)), default=0.0))
    most = _MOST_CONFLICTS if group.kind is RowKind.CONFLICT else _MOST_NAMES
    best = best if len(best) <= most + 1 else best[:most]
    shown = ", ".join(map(_quoted, best))
    if not shown or count <= len(best):
        return f"{count} {one if count == 1 else many}" + (f": {shown}" if shown else "")
    folder = _folder(group.names) if group.kind not in (RowKind.COMMIT, RowKind.PASSED) else None
    where = f" ({folder[1]} in {folder[0]})" if folder else ""
    return f"{count} {many}{where}, such as {shown}"


def _quoted(text: str) -> str:
    return "`" + text.replace("`", "'") + "`"


def _folder(names: Sequence[str]) -> tuple[str, int] | None:
    """Returns the deepest folder that holds most of these paths, and how many of them; none if there is no such."""
    inside = Counter[str]()
    for name in names:
        parts = name.split("/")
        inside.update("/".join(parts[:deep]) + "/" for deep in range(1, len(parts)) if parts[deep - 1].strip("."))
    most = [folder for folder, count in inside.items() if count > len(names) // 2]
    best = max(most, key=len, default="")
    return (best, inside[best]) if best else None
