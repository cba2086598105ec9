"""Names that found no room in a summary, each with the file in which it was seen last: words to search the archive for,
and where to open it."""

import re
from collections.abc import Iterator, Mapping, Sequence, Set

from ullage.summary.choosing.items import Item, Section
from ullage.summary.choosing.weights import Mention
from ullage.summary.reading.digest import Digest

# Names after the heaviest 120 weigh too little to be searched for. A hint with more than six names is not read.
_MOST_NAMES = 120
_NAMES_PER_HINT = 6
# Parts of a path: a file with its folder is found in most projects.
_PARTS = 2
# Paths and whole identifiers. Options of commands and attributes (`self.path`) are found too often to be searched for.
_NAME = re.compile(r"(?!self\.|this\.|\d+[A-Za-z]+$|/[\w-]+$)[\w~./@][\w./@:-]*\w")
_FILE = re.compile(r"[^\s$]*[^\s/$.]\.\w+")


def hints_of(
    digest: Digest, weights: Mapping[str, float], mentions: Mapping[str, Mention], covered: Set[str]
) -> Iterator[Item]:
    """Yields items that name, for a search, anchors which are not on the page: one for each file in which such were
    seen last, and for those that were seen in no file one for each message in which they occur last. `covered` are the
    anchors on the page."""
    shown = (name for name in mentions if name not in covered and _NAME.fullmatch(name))
    missing = sorted(shown, key=lambda name: (-weights[name], name))[:_MOST_NAMES]
    files = _files_of(digest, missing)
    groups: dict[str | int, list[str]] = {}
    for name in missing:
        groups.setdefault(files[name][0] if name in files else mentions[name].last_index, []).append(name)
    for group, names in groups.items():
        told = tuple(names[:_NAMES_PER_HINT])
        listed = ", ".join(f"`{name}`" for name in told)
        is_file = isinstance(group, str)
        yield Item(
            section=Section.LOOKUP,
            text=f"{listed} in {'/'.join(group.split('/')[-_PARTS:])}" if is_file else listed,
            index=max(files[name][1] for name in told) if is_file else group,
            anchors=told,
        )


def _files_of(digest: Digest, names: Sequence[str]) -> dict[str, tuple[str, int]]:
    """Returns, for each name that was seen in a file, the file in which it was last, and the message's index."""
    missing, found = set(names), dict[str, tuple[str, int]]()
    for seen in reversed(digest.seen):
        if not missing:
            break
        if seen.counts.names and _FILE.fullmatch(seen.group):
            for name in missing.intersection(seen.counts.names):
                found[name] = seen.group, seen.index
            missing.difference_update(found)
    return found
