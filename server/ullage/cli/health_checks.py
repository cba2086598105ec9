"""The checks of `ullage doctor` for what is outside the installation: the session store, what a team gets of it, the
agents that delete their transcripts, and the providers."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from ullage.agents.table import AGENTS
from ullage.app.opening_archive import open_originals
from ullage.app.team_sending import sent_path
from ullage.cli.draw.text import ago, plural
from ullage.model import words
from ullage.model.errors import (
    AuthenticationFailed,
    InputError,
    InvalidRequest,
    ProviderUnavailable,
    SdkMissing,
    StoreError,
    StoreUnavailable,
    UllageError,
)
from ullage.model.settings import ProviderSettings, Settings
from ullage.model.store_address import is_address
from ullage.model.words import package_missing
from ullage.providers.failures import shown_address
from ullage.providers.prerequisites import EXTRAS, find_key, is_installed, key_remedy, key_source
from ullage.providers.registry import KNOWN, ProviderRegistry
from ullage.store.sqlite.database import connect
from ullage.store.sqlite.journal import has_log
from ullage.store.sqlite.migrations import VERSION
from ullage.store.sqlite.sqlite_errors import reporting
from ullage.store.store_place import StorePlace, local_path, offline_path
from ullage.system.team_choices import choices_path, read_choices, read_sent
from ullage.watch.expiring import Expiring, find_expiring
from ullage.watch.finder import this_machine
from ullage.watch.unpacking import reads_zstd

# Seconds to wait for a provider. Longer than a slow network takes to connect, short enough for a waiting user.
_PATIENCE = 10.0
_DAY = 86_400_000
# Days ahead that a user is shown.
_AHEAD = 7
# Days from which "never" is a fair word.
_NEVER = 3_650
# More sessions than any store has.
_ALL = 1 << 40
_NO_LOG = "its file system has no shared memory for a write-ahead log, so what is read waits for what is written"


class Check(Struct, frozen=True, kw_only=True):
    """The result of one check. `what` is the name of the check and `found` is its result in words. `remedy` is what the
    user must do, or "" if nothing is wrong. `absent` means that the thing checked is not set up, which is no failure.
    """

    what: str
    found: str
    remedy: str = ""
    absent: bool = False


class GivenProvider(Struct, frozen=True, kw_only=True):
    """A provider that the user describes on the command line. If `model` is given, the check also asks whether the
    provider has that model."""

    name: str
    settings: ProviderSettings
    model: str = ""


def provider_checks(given: GivenProvider | None) -> Iterator[Check]:
    """Yields the check of the given provider, or, if `given` is None, of each known one.

    A known provider without a key is not a failure, because counting and offline compaction need no key.
    """
    if given is not None:
        yield _check_provider(given)
        return
    for name, settings in KNOWN.items():
        if find_key(settings) is None:
            yield Check(what=name, found=f"not set up: {key_source(settings)}", absent=True)
        else:
            yield _check_provider(GivenProvider(name=name, settings=settings))


def extras_check() -> Check:
    """Returns a check that lists which optional packages (extras) are installed. A missing one is not a failure,
    because only a provider or the keyring needs it."""
    found = {extra: is_installed(extra) for extra in EXTRAS} | {"zstd": reads_zstd()}
    installed = [extra for extra, is_there in found.items() if is_there]
    missing = [f"{extra} ({words.how_to_install(extra)})" for extra, is_there in found.items() if not is_there]
    parts = [", ".join(installed), f"not installed: {', '.join(missing)}" if missing else ""]
    return Check(what="extras", found="; ".join(filter(None, parts)))


def _check_provider(given: GivenProvider) -> Check:
    source = key_source(given.settings)
    if find_key(given.settings) is None:
        return Check(what=given.name, found="has no key", remedy=key_remedy(given.settings))
    try:
        found = asyncio.run(_ask(given))
    except TimeoutError:
        found = f"no answer within {_PATIENCE:.0f} s ({source})"
        return Check(what=given.name, found=found, remedy=_reach(given.settings))
    except SdkMissing as error:
        return Check(what=given.name, found=f"{source}, but no way to use it", remedy=str(error))
    except UllageError as error:
        return Check(what=given.name, found=f"{error} ({source})", remedy=_remedy(given, error))
    return Check(what=given.name, found=f"{found} ({source})")


async def _ask(given: GivenProvider) -> str:
    settings = Settings(provider=given.name, providers={given.name: given.settings})
    providers = ProviderRegistry()
    try:
        async with asyncio.timeout(_PATIENCE):
            return await providers(given.model, settings).check(given.model)
    finally:
        await providers.close()


def _remedy(given: GivenProvider, error: UllageError) -> str:
    match error:
        case AuthenticationFailed():
            return f"the key is not accepted; make a new one, and {key_remedy(given.settings)}"
        case ProviderUnavailable():
            return _reach(given.settings)
        case InputError():
            return "correct the file"
        case _:
            return "check the model's name and the kind of server"


def _reach(settings: ProviderSettings) -> str:
    if settings.base_url:
        return f"start the server, or correct its address {shown_address(settings.base_url)}"
    return "look at the network; behind a proxy, set HTTPS_PROXY"


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


def store_check(place: StorePlace | None) -> Check:
    """Returns what the store at a place is like, None for the user's own file. Changes nothing. Raises `UllageError`,
    `OSError` or `ValueError` if it can't be used."""
    if isinstance(place, str) and is_address(place):
        return _server(place)
    return _file(local_path(place))


def _file(path: Path) -> Check:
    if not path.exists():
        return Check(what="store", found=f"{path}: not there yet, made when it is first needed", absent=True)
    with reporting(path), closing(connect(path)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (sessions,) = connection.execute("SELECT count(*) FROM sessions WHERE NOT deleted").fetchone()
        journal = "" if has_log(connection) else f"; {_NO_LOG}"
    held = _held(sessions, path.stat().st_size)
    return Check(what="store", found=f"{path}: {held}, schema version {version} of {VERSION}{journal}")


def _server(address: str) -> Check:
    try:
        from ullage.store.postgres.server_errors import is_away  # noqa: PLC0415  (few have its package)
        from ullage.store.postgres.server_facts import read_facts  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise StoreUnavailable(package_missing("a store in PostgreSQL", "psycopg", "postgres")) from error
    copy = _copied(offline_path(address))
    try:
        facts = read_facts(address)
    except StoreUnavailable as error:
        if not is_away(error) or not copy:
            raise
        return Check(what="store", found=f"{error}; {copy}", remedy="what is added is sent when the server is back")
    held = "no tables yet, made when first needed"
    if facts.tables:
        held = f"{_held(facts.sessions, facts.size)}, schema version {facts.tables} of {facts.known}"
    remedy = ""
    if facts.tables > facts.known:
        remedy = "update Ullage, which is older than the one that wrote the tables"
    elif facts.loses:
        remedy = f"turn {' and '.join(facts.loses)} on, or the server may lose messages when it ends at once"
    return Check(
        what="store",
        found="; ".join(
            filter(None, (f"{facts.server}: reached, version {facts.version}, {facts.security}", held, copy))
        ),
        remedy=remedy,
    )


def _copied(path: Path) -> str:
    """Returns what the copy on this machine has of a store on a server, empty if there is none."""
    if not path.exists():
        return ""
    # Imported on use: few have one.
    from ullage.store.offline.local_copy import open_copy  # noqa: PLC0415

    with open_copy(path) as local:
        sessions, unsent = len(local.find_ids("", _ALL)), len(local.unsent())
    waiting = f", {unsent:,} with something to send" if unsent else ""
    return f"the copy on this machine: {_held(sessions, path.stat().st_size)}{waiting}"


def _held(sessions: int, size: int) -> str:
    return f"{plural(sessions, 'session')}, {size / 1_000_000:.1f} MB"


def team_checks() -> Iterator[Check]:
    """Yields a check for each folder that is shared, none if nothing is."""
    try:
        choices = read_choices(choices_path())
    except InvalidRequest as error:
        yield Check(what="team", found=str(error), remedy="see above")
        return
    for folder, chosen in choices.folders.items():
        known = read_sent(sent_path(), folder)
        shared = f"{folder} is shared with {', '.join(chosen.members)}"
        if known is None or not known.at:
            last = "nothing was sent yet"
        else:
            last = f"{plural(len(known.marks), 'session')} sent, last {ago(known.at, time.time_ns() // 1_000_000)}"
        how = "by hand" if chosen.by_hand else "by Ullage's servers"
        error = f"; the last try failed: {known.error}" if known and known.error else ""
        remedy = "run `ullage team send`, which says what is wrong" if error else ""
        yield Check(what="team", found=f"{shared}: {last}, {how}{error}", remedy=remedy)
