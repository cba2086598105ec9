"""What Ullage knows about Gemini CLI: where its conversations are, and its settings.

It deletes its conversations from version 0.61 on at the latest, seen in its source (`general.sessionRetention`). Behind
the proxy its answer to a prompt contains a quota with the sum of the turn's requests.

Measured with 0.61: it compresses after its hook `BeforeAgent`, and the hook `PreCompress` runs at every prompt, whether
it compresses or not. So what a compression left out is given with the prompt after it, when the hook `BeforeAgent`
finds another summary in the agent's file. It is a part of that prompt, which the file keeps, so that a resumed session
has it, too. `AfterAgent` runs when the answer is in the file.

An extension's hooks run in addition to those of the settings. If both name one MCP server, the model gets its words
twice.
"""

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

import msgspec
from msgspec.structs import replace

from ullage.agents.agent import AcpAgent, Agent, Inserted, Occupancy, Retention, Sessions, prompt_and_answer
from ullage.agents.gemini_cli.conversations import FORMAT
from ullage.agents.machine import Machine, first_prompt, last_text
from ullage.agents.own_context import OwnContext, share
from ullage.agents.own_settings import Given, OwnSettings, Reading, Texts, inner, number
from ullage.agents.session_facts import Facts, common_facts, side_of
from ullage.agents.wiring import HookPlace, HooksOff, Plugin, SettingsFile, Wiring
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text


def patterns(machine: Machine) -> tuple[str, ...]:
    """Returns glob patterns for Gemini CLI's conversations: per project, those of sub-agents one folder deeper, and
    saved checkpoints."""
    projects = f"{machine.folder('GEMINI_CLI_HOME', '')}/.gemini/tmp/*"
    return (f"{projects}/chats/session-*.json*", f"{projects}/chats/*/*.jsonl", f"{projects}/checkpoint-*.json")


def fact_files(path: str) -> tuple[str, ...]:
    """Returns the path, relative to the conversation's folder, of the file that contains the folder of its project."""
    return ("../.project_root",) if "/chats/" in path else (".project_root",)


def is_sub_agent(path: str) -> bool:
    """Returns whether a file is a sub-agent's: it is in a folder of its own in `chats`, named after the main
    conversation."""
    return PurePosixPath(path).parent.parent.name == "chats"


def facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    """Returns the facts of a conversation. Its folder is in the file `.project_root`, or in the first record of the
    conversation."""
    roots = (as_text(record.get("text")).strip() for record in records if record.get("file") == ".project_root")
    heads = (as_list(as_object(record.get("$set", record)).get("directories")) for record in records)
    folders = (as_text(folder) for folders in heads for folder in folders)
    facts = common_facts(path, records)
    if is_sub_agent(path):
        file = PurePosixPath(path)
        facts = side_of(facts, facts.session_id or file.stem, file.parent.name)
    return replace(
        facts,
        cwd=next(roots, "") or next(folders, ""),
        is_side=facts.is_side or any(record.get("kind") == "subagent" for record in records),
    )


def title_of(records: Sequence[JsonObject]) -> str:
    """Returns a conversation's title from these of its records, or else the first line of its first prompt. Empty if
    they have neither."""
    facts = [as_object(record.get("$set", record)) for record in records]
    # A resumed conversation begins with all of its messages in one record.
    said = [message for fact in facts for message in (fact, *as_objects(fact.get("messages")))]
    prompts = (message.get("content") for message in said if message.get("type") == "user")
    return last_text(facts, "summary") or first_prompt(prompts)


_AGE = re.compile(r"(\d+)([hdwm])")
_DAYS = {"h": 1 / 24, "d": 1, "w": 7, "m": 30}


def _retention_files(machine: Machine) -> tuple[str, ...]:
    return (f"{machine.folder('GEMINI_CLI_HOME', '')}/.gemini/settings.json",)


def _days_in(settings: JsonObject) -> float | None:
    retention = as_object(as_object(settings.get("general")).get("sessionRetention"))
    if retention.get("enabled") is False:
        return math.inf
    age = _AGE.fullmatch(as_text(retention.get("maxAge")))
    return int(age[1]) * _DAYS[age[2]] if age else None


RETENTION = Retention(
    patterns=_retention_files,
    days_in=_days_in,
    default=30,
    setting='"general": {"sessionRetention": {"enabled": false}}',
)


def settings_path(machine: Machine) -> str:
    """Returns the path of the file with the user's settings."""
    return f"{machine.folder('GEMINI_CLI_HOME', '')}/.gemini/settings.json"


def _files(machine: Machine) -> tuple[str, ...]:
    project = (f"{machine.cwd}/.gemini/settings.json",) if machine.cwd else ()
    return (settings_path(machine), *project)


def _read(texts: Texts) -> Given:
    reading = Reading()
    for file in texts.files:
        reading.take("share", "model.compressionThreshold", number(inner(file, "model", "compressionThreshold")))
    return reading.given()


SETTINGS = OwnSettings(files=_files, read=_read, known=frozenset({"compressionThreshold"}))


def _occupancy(result: Mapping[str, Any]) -> Occupancy | None:
    quota = as_object(as_object(result.get("_meta")).get("quota"))
    used = prompt_and_answer(as_object(quota.get("token_count")))
    models = as_objects(quota.get("model_usage"))
    if used is None:
        return None
    return Occupancy(used=used, model=as_text(models[-1].get("model")) if models else "", summed=True)


ACP = AcpAgent(compact_command="compress", occupancy_in_answer=_occupancy)

# Milliseconds: above `ullage hook`'s own limit of 4 seconds, for a machine that is too busy to keep it.
_TIMEOUT = 5_000
# The first words of a summary.
_SUMMARY_OPENING = "<state_snapshot>"


def _extensions_path(machine: Machine) -> str:
    return f"{settings_path(machine).removesuffix('settings.json')}extensions/extension-enablement.json"


def _has_extension(enablement: str) -> bool:
    """Says whether an extension of Ullage's name is on in some folder. Each rule is a folder, after `!` one in which it
    is off."""
    try:
        extensions = as_object(msgspec.json.decode(enablement))
    except (msgspec.DecodeError, RecursionError):
        return False
    rules = as_list(as_object(extensions.get("ullage")).get("overrides"))
    return any(isinstance(rule, str) and not rule.startswith("!") for rule in rules)


def _settings_layers(machine: Machine) -> tuple[str, ...]:
    usual = machine.for_all_users("gemini-cli", "GeminiCli", "ProgramData/gemini-cli")
    system = machine.variables.get("GEMINI_CLI_SYSTEM_SETTINGS_PATH") or f"{usual}/settings.json"
    return (*_files(machine), system)


def _hooks_off_by(_: str, settings: JsonObject) -> str | None:
    is_on = as_object(settings.get("hooksConfig")).get("enabled")
    return {False: "hooksConfig.enabled = false", True: ""}.get(is_on) if isinstance(is_on, bool) else None


WIRING = Wiring(
    word="gemini-cli",
    files=(
        SettingsFile(
            path=settings_path,
            hooks=(
                HookPlace(event="BeforeAgent", timeout=_TIMEOUT, arguments=("--mark", _SUMMARY_OPENING)),
                HookPlace(event="AfterAgent", timeout=_TIMEOUT, for_notes=True),
            ),
            mcp_server=True,
        ),
    ),
    plugin=Plugin(path=_extensions_path, is_on=_has_extension, remedy="gemini extensions uninstall ullage"),
    hooks_off=HooksOff(layers=_settings_layers, off_by=_hooks_off_by),
    summary_in_file=True,
)

AGENT = Agent(
    name="Gemini CLI",
    short="Gemini",
    formats=(FORMAT,),
    sessions=Sessions(
        patterns=patterns, title_of=title_of, facts_of=facts_of, fact_files=fact_files, is_sub_agent=is_sub_agent
    ),
    retention=RETENTION,
    # Half of the window, measured by trial.
    own_context=OwnContext(threshold=share(0.5)),
    own_settings=SETTINGS,
    acp=ACP,
    inserted=Inserted(tags=("session_context", "hook_context")),
    wiring=WIRING,
)
