"""`ullage doctor`: checks the installation, the session store, what a team gets of it, the agents that delete their
transcripts, the providers, and what is added to agents."""

import asyncio
import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct
from rich.cells import cell_len
from rich.text import Text

from ullage import __version__
from ullage.agents.table import AGENTS
from ullage.agents.wiring import HookInFile, Plugin, Wiring
from ullage.app.agent_wiring import (
    Receipt,
    all_known,
    gives_fill_notes,
    has_plugin,
    hook_lines,
    own_words,
    path_here,
    plan_removing,
    project_with_plugin,
    read_receipt,
    started_by,
)
from ullage.app.compose import open_originals
from ullage.app.team_sending import sent_path
from ullage.bounds import OWN_FILE, read_plain
from ullage.cli.arguments import add_json, read_options
from ullage.cli.commands.hook import CHECK
from ullage.cli.drawing import Screen, ago, fit, plural, print_json, wrap
from ullage.cli.lsp_client import start_server
from ullage.cli.reports import Report, filled
from ullage.host.side_files import ARRIVALS, beside
from ullage.known_models import MODELS
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
from ullage.model.settings import Notices, ProviderSettings, Settings
from ullage.model.store_address import is_address
from ullage.model.words import how_to_install, package_missing
from ullage.providers.failures import shown_address
from ullage.providers.prerequisites import EXTRAS, find_key, is_installed, key_remedy, key_source
from ullage.providers.registry import KNOWN, ProviderRegistry
from ullage.store.sqlite.database import VERSION, connect, default_path, has_log, reporting
from ullage.store.store_place import StorePlace, local_path, may_write, offline_path
from ullage.system.desktop import notifier
from ullage.system.settings_files import read_settings, switched_off
from ullage.system.team_choices import choices_path, read_choices, read_sent
from ullage.tokens.counter import get_counter
from ullage.tokens.vocabulary import SPECS, read_tokens
from ullage.watch.candidates import Expiring, find_expiring, this_machine
from ullage.wire.json_files import find_handlers
from ullage.wire.shells import to_run

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

    A known provider without a key or its package is not a failure, because counting and offline compaction need
    neither, and users of agents have keys that are not meant for Ullage.
    """
    if given is not None:
        yield _check_provider(given)
        return
    for name, settings in KNOWN.items():
        lacks = ""
        if find_key(settings) is None:
            lacks = key_source(settings)
        elif not is_installed(name):
            lacks = f"no package {name}: {how_to_install(name)}"
        if lacks:
            yield Check(what=name, found=f"not set up, and only needed for {EXTRAS[name]}: {lacks}", absent=True)
        else:
            yield _check_provider(GivenProvider(name=name, settings=settings))


def extras_check() -> Check:
    """Returns a check that lists which optional packages (extras) are installed, and what the others would add. A
    missing one is not a failure, because all else works without it."""
    installed = [extra for extra in EXTRAS if is_installed(extra)]
    missing = [
        f"- {extra}, for {purpose}: {how_to_install(extra)}"
        for extra, purpose in EXTRAS.items()
        if extra not in installed
    ]
    found = ", ".join(installed) or "none is installed, and none is needed"
    return Check(what="extras", found="\n".join([f"{found}; not installed:" if missing else found, *missing]))


def desktop_checks() -> Iterator[Check]:
    """Yields a check of the system's program for notifications, if the user wants these."""
    if os.environ.get("ULLAGE_NOTICES") != Notices.DESKTOP:
        return
    program = notifier()
    if shutil.which(program):
        yield Check(what="desktop", found=f"{program} shows notices")
        return
    package = " (Debian has it in libnotify-bin)" if program == "notify-send" else ""
    remedy = f"install {program}{package}, or set ULLAGE_NOTICES to `on`"
    yield Check(what="desktop", found=f"notices are not shown: {program} is not installed", remedy=remedy)


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


def _words(found: Expiring, store: StorePlace | None) -> str:
    if found.days >= _NEVER:
        return f"{found.agent} keeps its {plural(found.files, 'transcript')}"
    begin = f"{found.agent} deletes transcripts {found.days:g} days after their last change"
    stop = f"to stop it, write {found.setting} into {found.settings_path}"
    if not found.soon:
        return f"{begin}, none of {found.files:,} within {_AHEAD} days; {stop}"
    first = datetime.fromtimestamp(found.first_at / 1000, UTC).astimezone()
    when = "at its next start" if first < datetime.now(UTC) else f"from {first:%Y-%m-%d} on"
    kept = _count_archived(found.soon, store)
    copies = f"Ullage keeps {kept:,} of them" if kept else "Ullage keeps none of them (`ullage keep on`)"
    return f"{begin}: {len(found.soon):,} of {found.files:,} within {_AHEAD} days, {when}; {copies}; {stop}"


def _count_archived(paths: tuple[str, ...], store: StorePlace | None) -> int:
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
        return _server_of_store(place)
    return _file(local_path(place))


def _file(path: Path) -> Check:
    if not path.exists():
        if not may_write(path):
            remedy = "make its folder one that you can write, or choose another file with --store"
            return Check(what="store", found=f"{path}: can't be made", remedy=remedy)
        return Check(what="store", found=f"{path}: not there yet, made when it is first needed", absent=True)
    with reporting(path), closing(connect(path)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        (sessions,) = connection.execute("SELECT count(*) FROM sessions WHERE NOT deleted").fetchone()
        journal = "" if has_log(connection) else f"; {_NO_LOG}"
    held = _held(sessions, path.stat().st_size)
    return Check(what="store", found=f"{path}: {held}, schema version {version} of {VERSION}{journal}")


def _server_of_store(address: str) -> Check:
    try:
        from ullage.store.postgres.postgres_store import read_facts  # noqa: PLC0415
        from ullage.store.postgres.server import is_away  # noqa: PLC0415
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
    return f"{plural(sessions, 'conversation')}, {size / 1_000_000:.1f} MB"


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
            last = f"{plural(len(known.marks), 'conversation')} sent, last {ago(known.at, time.time_ns() // 1_000_000)}"
        how = "by hand" if chosen.by_hand else "by Ullage's servers"
        error = f"; the last try failed: {known.error}" if known and known.error else ""
        remedy = "run `ullage team send`, which says what is wrong" if error else ""
        yield Check(what="team", found=f"{shared}: {last}, {how}{error}", remedy=remedy)


_OUTCOMES = {
    "given": "gave back {characters:,} characters",
    "begun": "began to read the conversation",
    "kept": "kept a summary",
    "nothing": "had nothing to give back",
    "no summary": "was not given the summary before, so it looks again at the next prompt",
    "late": "was too slow; the next prompt gives it back",
    "failed": "could not read the conversation",
}
# The program that the hooks run, and where they look for it besides PATH.
_PROGRAM, _ELSEWHERE = "ullage", "~/.local/bin"
# Seconds. Ullage says its version in a fifth of one.
_VERSION_WAIT = 20
# How an agent's settings started Ullage before modules of the agent's folder were kept out.
_UNSAFE = ("-m", "ullage")
# What a hook answers when it is asked whether it runs.
_ANSWER = re.compile(r"ullage (?P<version>\S+) store (?P<store>\d+)")


class Arrival(Struct, frozen=True, kw_only=True):
    """A hook that arrived, `at` a time in Unix milliseconds. `outcome` is `begun`, `kept`, `given`, `nothing`,
    `no summary`, `late` or `failed`."""

    at: int
    agent: str
    event: str
    outcome: str
    characters: int


def wiring_checks(store: StorePlace | None) -> Iterator[Check]:
    """Yields a check for each agent that something was added to. `store`: None for the user's."""
    path = local_path(store)
    arrivals = read_arrivals(path)
    for agent, wiring in all_known():
        try:
            receipt = read_receipt(path, wiring.word)
        except InputError as error:
            yield Check(what="hooks", found=str(error), remedy=f"run `ullage wire {wiring.word}` after removing it")
            continue
        if receipt is not None:
            own = [arrival for arrival in arrivals if arrival.agent == wiring.word]
            yield _wiring_check(agent.name, wiring, receipt, own, store)


def read_arrivals(store: Path) -> list[Arrival]:
    """Returns the hooks that arrived, the newest last. Lines that can't be read are left out."""
    try:
        lines = read_plain(beside(store, ARRIVALS), OWN_FILE).splitlines()
    except OSError:
        return []
    found = list[Arrival]()
    for line in lines:
        try:
            found.append(msgspec.json.decode(line, type=Arrival))
        except msgspec.MsgspecError:
            continue
    return found


def _wiring_check(
    name: str, wiring: Wiring, receipt: Receipt, arrivals: list[Arrival], store: StorePlace | None
) -> Check:
    again = f"add it again: {wire_command(receipt, wiring.word, store)}"
    gone = [folder for file in receipt.files[:1] if not (folder := Path(file.path).parent).is_dir()]
    if gone:
        found = f"{name}: its settings in {gone[0]} are gone, and with them what was added"
        return Check(what="hooks", found=found, remedy=f"if {name} is no longer here: ullage unwire {wiring.word}")
    try:
        missing = [file.path for file in receipt.files if plan_removing(file).is_empty]
        approved = bool(missing) or _is_approved(wiring, receipt)
    except InputError as error:
        return Check(what="hooks", found=f"{name}: {error}", remedy="correct the file")
    if missing:
        found = f"{name}: {' and '.join(missing)} no longer has what was added"
        return Check(what="hooks", found=found, remedy=again)
    added = f"{name}: added to {' and '.join(file.path for file in receipt.files)}"
    gone_now = " and ".join(gone_programs(receipt))
    trouble = f"{gone_now}, so nothing is given back" if gone_now else " and ".join(unsafe_programs(receipt))
    if trouble := trouble or silent_hooks(receipt, local_path(store)):
        return Check(what="hooks", found=f"{added}; {trouble}", remedy=again)
    remedy = ""
    if off := switched_off(wiring.hooks_off):
        added, remedy = f"{added}; hooks are switched off by {off}", "take it out there, if it is yours"
    elif wiring.approval is not None and not approved:
        added, remedy = f"{added}; the hooks are not allowed yet", wiring.approval.remedy
    return Check(what="hooks", found=added if remedy else f"{added}; {last_arrival(arrivals)}", remedy=remedy)


def silent_hooks(receipt: Receipt, store: Path) -> str:
    """Returns in words why the hooks that were added give nothing back, "" if one of them runs. It is run as the agent
    runs it, with an input that has no effect."""
    line = next((line for file in receipt.files for line in hook_lines(file.added)), "")
    if not line:
        return ""
    asked = msgspec.json.encode({"hook_event_name": CHECK})
    try:
        ran = subprocess.run(
            to_run(line, has_sh=Path("/bin/sh").exists()),
            input=asked,
            capture_output=True,
            timeout=_VERSION_WAIT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"the hook does not run ({error})"
    if ran.returncode:
        said = ran.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        return f"the hook does not run ({said or f'exit status {ran.returncode}'})"
    answer = _ANSWER.fullmatch(ran.stdout.decode(errors="replace").strip())
    if answer is None:
        return "the hook runs an Ullage that is older than this one"
    if (version := file_version(store)) > int(answer["store"]):
        known = f"reads stores up to version {answer['store']}"
        return f"the hook runs Ullage {answer['version']}, which {known}; the store has version {version}"
    return ""


def file_version(path: Path) -> int:
    """Returns the version of a store's file, 0 if there is none that can be read."""
    if not path.exists():
        return 0
    with suppress(UllageError, OSError), reporting(path), closing(connect(path)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        return int(version)
    return 0


def _is_approved(wiring: Wiring, receipt: Receipt) -> bool:
    """Says whether the user has allowed the hooks, if the agent asks for that. Raises `InvalidRequest`."""
    if wiring.approval is None:
        return True
    config = read_settings(path_here(wiring.approval.path)) or b""
    hooks = list[HookInFile]()
    for file in receipt.files:
        paths = tuple(dict.fromkeys((file.path, os.path.realpath(file.path))))
        text = (read_settings(Path(file.path)) or b"").decode(errors="replace")
        hooks += [
            HookInFile(paths=paths, event=place.event, group=place.group, number=place.handler)
            for place in find_handlers(text, file.added)
        ]
    return wiring.approval.is_given(config.decode(errors="replace"), hooks)


def last_arrival(arrivals: Sequence[Arrival]) -> str:
    """Returns in words when the last of these hooks arrived, and what it did."""
    if not arrivals:
        return "no hook has arrived yet; the first comes with a compaction"
    last = arrivals[-1]
    now = time.time_ns() // 1_000_000
    told = _OUTCOMES.get(last.outcome, last.outcome).format(characters=last.characters)
    return f"the last hook arrived {ago(last.at, now)} ({last.event}) and {told}"


def plugin_checks(store: StorePlace | None) -> Iterator[Check]:
    """Yields one check for each agent that has Ullage's plugin, if only in the project of this folder. `store` is the
    session store's place, or None for the user's, which alone the hooks of a plugin use."""
    path = local_path(store)
    for agent, wiring in all_known():
        try:
            if wiring.plugin is not None and has_plugin(wiring):
                yield _check_plugin(f"{agent.name}: Ullage's plugin is on", wiring, wiring.plugin, path)
            elif wiring.plugin is not None and (project := project_with_plugin(wiring)):
                found = f"{agent.name}: Ullage's plugin is on in this project alone, by {project}"
                yield _check_plugin(found, wiring, wiring.plugin, path)
        except InputError as error:
            yield Check(what="plugin", found=f"{agent.name}: {error}", remedy="correct the file")


def _check_plugin(found: str, wiring: Wiring, plugin: Plugin, store: Path) -> Check:
    receipt = read_receipt(store, wiring.word)
    if receipt is not None:
        found = f"{found}; its hooks give way to those that `ullage wire` added"
        if not any(file.added.mcp for file in receipt.files):
            return Check(what="plugin", found=found)
        remedy = f"take one of them out: {plugin.remedy}, or ullage wire {wiring.word}"
        return Check(what="plugin", found=f"{found}; the MCP server is there twice", remedy=remedy)
    arrivals = [arrival for arrival in read_arrivals(store) if arrival.agent == wiring.word]
    folders = os.pathsep.join((os.environ.get("PATH", os.defpath), str(Path(_ELSEWHERE).expanduser())))
    if not arrivals and shutil.which(_PROGRAM, path=folders) is None:
        found = f"{found}, but the program `{_PROGRAM}` that it runs is not found"
        return Check(what="plugin", found=found, remedy=f"put its folder on PATH, or a link to it into {_ELSEWHERE}")
    return Check(what="plugin", found=f"{found}; {last_arrival(arrivals)}")


def gone_programs(receipt: Receipt) -> Iterator[str]:
    """Yields, in words, what is wrong with each program that was added to an agent and no longer starts Ullage. None is
    run that would run a module of this folder."""
    for words in _programs(receipt):
        if not os.access(words[0], os.X_OK):
            yield f"{words[0]} is no longer there"
        elif words[1:] != _UNSAFE and words != own_words() and not _starts(words):
            yield f"`{' '.join(words)}` no longer starts Ullage"


def unsafe_programs(receipt: Receipt) -> Iterator[str]:
    """Yields what is wrong with each added program that would run a module of the folder where the agent works."""
    for words in _programs(receipt):
        if words[1:] == _UNSAFE:
            yield f"`{' '.join(words)}` would run a module `ullage` of a project"


def wire_command(receipt: Receipt, word: str, store: StorePlace | None) -> str:
    """Returns the command that adds the same to an agent once more."""
    added = [file.added for file in receipt.files]
    options = {
        "--statusline": any(one.status_line for one in added),
        "--fill-notes": any(map(gives_fill_notes, added)),
        "--no-mcp": not any(one.mcp for one in added),
        f"--store {store}": local_path(store) != default_path(),
    }
    return " ".join(["ullage wire", word, *(option for option, is_given in options.items() if is_given)])


def _programs(receipt: Receipt) -> Iterable[tuple[str, ...]]:
    return dict.fromkeys(words for file in receipt.files for words in started_by(file.added))


def _starts(words: tuple[str, ...]) -> bool:
    try:
        ran = subprocess.run(
            [*words, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_VERSION_WAIT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return ran.returncode == 0


class CheckRow(Struct, frozen=True, kw_only=True):
    """A check of `ullage doctor`. `status` is `ok`, `fix` (then `remedy` is what to do), or `absent` if the thing
    checked is not set up, which is no failure."""

    what: str
    status: Literal["ok", "fix", "absent"]
    found: str
    remedy: str


class DoctorReport(Report, frozen=True, kw_only=True):
    """What `ullage doctor --json` prints. `ok` is true if no check has the status `fix`."""

    ok: bool
    checks: tuple[CheckRow, ...]


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--provider", metavar="NAME", help="check this provider: anthropic, openai, or one of your own")
    parser.add_argument(
        "--kind",
        choices=["anthropic", "openai", "openai_chat", "scripted", "replay"],
        help="what it speaks; openai_chat unless it is known by name",
    )
    parser.add_argument("--base-url", metavar="URL", help="its address, for example http://localhost:11434/v1")
    parser.add_argument("--key-env", metavar="VARIABLE", help="the environment variable that holds its key")
    parser.add_argument("--file", metavar="PATH", help="the script or transcript that it plays")
    parser.add_argument("--model", metavar="NAME", help="a model that it should have")
    add_json(parser)


# The kind of a provider that isn't known by name: most local servers offer OpenAI's chat API.
_DEFAULT_KIND = "openai_chat"
_SIGNS = {"ok": ("ok", "green"), "fix": ("FIX", "bold red"), "absent": ("-", "dim")}
# Cells of a sign and of a check's name, and the fewest that are left for what it found.
_SIGN, _NAME, _LEAST = 5, 11, 20
_OLDEST_PYTHON = (3, 11)
# A text and its number of tokens in o200k_base, GPT-4o's encoding, as OpenAI's own tokenizer counts them.
_KNOWN_MODEL, _KNOWN_TEXT, _KNOWN_TOKENS = "gpt-4o", "tiktoken is great!", 6
_REINSTALL = "install Ullage again: a file of the package is damaged"


class DoctorOptions(Struct, frozen=True, kw_only=True):
    """The arguments of `ullage doctor`. All except `store` and `json` describe one provider to check."""

    store: str | None
    provider: str | None
    kind: str | None
    base_url: str | None
    key_env: str | None
    file: str | None
    model: str | None
    json: bool

    @property
    def given(self) -> GivenProvider | None:
        """The provider that the arguments describe, or None if they describe none.

        Raises `InvalidRequest` for a provider name that Ullage doesn't know, if no other argument describes that
        provider.
        """
        described = {"kind": self.kind, "baseUrl": self.base_url, "keyEnv": self.key_env, "file": self.file}
        given = {name: value for name, value in described.items() if value is not None}
        if not given and self.provider is None:
            return None
        known = msgspec.to_builtins(KNOWN[self.provider]) if self.provider in KNOWN else {"kind": _DEFAULT_KIND}
        if self.provider not in KNOWN and not given:
            raise InvalidRequest(
                f"--provider {self.provider}: only {' and '.join(KNOWN)} are known by name; give --base-url, or --kind"
            )
        settings = msgspec.convert({**known, **given}, ProviderSettings)
        return GivenProvider(name=self.provider or settings.kind, settings=settings, model=self.model or "")


def run(args: Namespace) -> int:
    """Prints one line per check, with what to do if it failed. Returns 1 if any failed, otherwise 0."""
    options, screen = read_options(args, DoctorOptions), Screen.of(args)
    found: list[Check] = []
    for check in checks(options.store, options.given):
        found.append(check)
        if not options.json:
            screen.print(_lines(check, screen))
    failed = sum(bool(check.remedy) for check in found)
    if options.json:
        rows = tuple(filled(CheckRow, (check,), status=_status(check)) for check in found)
        print_json(DoctorReport(ok=not failed, checks=rows))
    else:
        screen.print([f"{plural(failed, 'thing')} to mend: see FIX above." if failed else "All is well."])
    return 1 if failed else 0


def _status(check: Check) -> Literal["ok", "fix", "absent"]:
    if check.remedy:
        return "fix"
    return "absent" if check.absent else "ok"


def _lines(check: Check, screen: Screen) -> Iterator[Text]:
    """Yields the lines for one check: its sign and name in columns of their own, then what was found and what to do."""
    sign, style = _SIGNS[_status(check)]
    name = fit(check.what, max(_NAME, cell_len(check.what)), screen.glyphs)
    head = Text.assemble((f"{sign:<{_SIGN}}", style), name, "  ")
    room = max(_LEAST, screen.room - head.cell_len)
    texts = [*((text, "") for text in check.found.splitlines()), *([(check.remedy, "bold")] if check.remedy else [])]
    lines = ((line, style) for text, style in texts for line in wrap(text, room, screen.glyphs, whole_paths=True))
    for place, text in enumerate(lines):
        yield Text.assemble(head if place == 0 else " " * head.cell_len, text)


def checks(store: StorePlace | None, provider: GivenProvider | None) -> Iterator[Check]:
    """Yields the results of all checks: Python, the store, the package's data, the server, the extras and the
    providers. Each check runs when its result is requested.

    `store` is the store's place, or None for the one in the user's data folder. `provider` is the only provider to
    check, or None for all known ones.
    """
    yield _python()
    guarded: dict[str, Callable[[], Check]] = {
        "store": lambda: store_check(store),
        "vocabulary": _vocabularies,
        "counting": _counting,
        "catalog": _catalog,
        "server": _server,
    }
    for what, check in guarded.items():
        try:
            yield check()
        except (UllageError, OSError, ValueError, EOFError, msgspec.MsgspecError) as error:
            remedy = _REINSTALL if what != "store" else "see above, or use --store"
            yield Check(what=what, found=str(error), remedy=remedy)
    now = time.time_ns() // 1_000_000
    for found in find_expiring(this_machine(), AGENTS, now + _AHEAD * _DAY):
        yield Check(what="transcripts", found=_words(found, store))
    yield from wiring_checks(store)
    yield from plugin_checks(store)
    yield from team_checks()
    yield extras_check()
    yield from desktop_checks()
    yield from provider_checks(provider)


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    found = f"Ullage {__version__} on Python {version} ({sys.executable})"
    too_old = sys.version_info[:2] < _OLDEST_PYTHON
    return Check(what="python", found=found, remedy="use Python 3.11 or newer" if too_old else "")


def _vocabularies() -> Check:
    damaged = [name for name, spec in SPECS.items() if _published_hash(name) != spec.sha256]
    if damaged:
        return Check(what="vocabulary", found=f"{', '.join(damaged)}: not the published tokens", remedy=_REINSTALL)
    return Check(what="vocabulary", found=f"{', '.join(SPECS)}: as published")


def _published_hash(name: str) -> str:
    """Returns the SHA-256 hash of a vocabulary's file as OpenAI published it, computed from the packed tokens."""
    published = hashlib.sha256()
    for rank, token in enumerate(read_tokens(name)):
        published.update(b"%b %d\n" % (base64.b64encode(token), rank))
    return published.hexdigest()


def _counting() -> Check:
    counted = get_counter(_KNOWN_MODEL).count(_KNOWN_TEXT)
    wrong = "" if counted == _KNOWN_TOKENS else _REINSTALL
    return Check(what="counting", found=f"{_KNOWN_TEXT!r} is {counted} tokens for {_KNOWN_MODEL}", remedy=wrong)


def _catalog() -> Check:
    models = msgspec.json.decode(MODELS.read_bytes(), type=dict[str, object])
    return Check(what="catalog", found=f"limits of {len(models):,} models", remedy="" if models else _REINSTALL)


def _server() -> Check:
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="ullage-") as folder:
        asyncio.run(_start_and_stop(Path(folder) / "sessions.db"))
    return Check(what="server", found=f"started, answered and ended within {time.perf_counter() - start:.1f} s")


async def _start_and_stop(store: Path) -> None:
    async with start_server(store, None, lambda _method, _params: None):
        pass
