"""The checks of `ullage doctor` for agents that delete their transcripts by themselves."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime

from ullage.agents.table import AGENTS
from ullage.app.opening_archive import open_originals
from ullage.cli.draw.text import plural
from ullage.cli.provider_health import Check
from ullage.model.errors import StoreError
from ullage.store.store_place import StorePlace
from ullage.watch.expiring import Expiring, find_expiring
from ullage.watch.finder import this_machine

_DAY = 86_400_000
# Days ahead that a user is shown.
_AHEAD = 7
# Days from which "never" is a fair word.
_NEVER = 3_650


def retention_checks(store: StorePlace | None) -> Iterator[Check]:
    """Yields one check for each agent that has transcripts on this machine and deletes old ones. `store` is the session
    store's place, or None for the user's."""
    now = time.time_ns() // 1_000_000
    for found in find_expiring(this_machine(), AGENTS, now + _AHEAD * _DAY):
        yield Check(what="transcripts", found=_words(found, store))


def _words(found: Expiring, store: StorePlace | None) -> str:
    if found.days >= _NEVER:
        return f"{found.agent} keeps its {plural(found.files, 'transcript')}"
    begin = f"{found.agent} deletes transcripts {found.days:g} days after their last change"
    stop = f"to stop it, write {found.setting} into {found.settings_path}"
    if not found.soon:
        return f"{begin}, none of {found.files:,} within {_AHEAD} days; {stop}"
    first = datetime.fromtimestamp(found.first_at / 1000, UTC).astimezone()
    when = "at its next start" if first < datetime.now(UTC) else f"from {first:%Y-%m-%d} on"
    kept = _kept(found.soon, store)
    archive = "none of them is in the archive" if not kept else f"{kept:,} of them are in the archive"
    return f"{begin}: {len(found.soon):,} of {found.files:,} within {_AHEAD} days, {when}; {archive}; {stop}"


def _kept(paths: tuple[str, ...], store: StorePlace | None) -> int:
    """Returns how many of these files are in the archive as they are now."""
    try:
        with open_originals(store) as originals:
            return sum(originals.latest(path) is not None for path in paths) if originals else 0
    except StoreError:
        return 0
