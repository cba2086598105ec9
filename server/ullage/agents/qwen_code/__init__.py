"""What Ullage knows about Qwen Code: where its conversations are, and how Ullage is added to it.

It compacts at 85 % of the window or at the share that `context.autoCompactThreshold` names, or 33,000 tokens before its
end if that is earlier and the window is larger (read in its source, version 0.24.4, and measured at 80,000). Settings
give a model's window as `contextWindowSize`. To the proxy it reports usage and compactions in `_meta` of its updates,
and windows in its list of models.

Measured with 0.24.4: the answer of the hook `PreCompact` is a part of the instructions for its summary, of which it
takes 4,000 characters. The hook `SessionStart` runs after a compaction, but its answer reaches no request; so what a
compaction left out is given with the prompt after it, when the hook `UserPromptSubmit` finds another summary in the
agent's file. That hook runs at the results of tools as well. Its answer is a part of the prompt, which the file keeps,
so that a resumed session has it, too.
"""

import glob
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from ullage.agents.accounts import prompt_and_answer, token_count
from ullage.agents.agent import AcpAgent, Agent, Inserted, Occupancy, Sessions
from ullage.agents.machine import Machine, first_prompt
from ullage.agents.own_context import OwnContext, Rule, Setup
from ullage.agents.own_settings import Given, OwnSettings, Reading, Texts, inner, number
from ullage.agents.qwen_code.conversations import FORMAT
from ullage.agents.session_facts import Facts, common_facts, side_of
from ullage.agents.wiring import HookPlace, SettingsFile, Steering, Wiring
from ullage.model.json_values import JsonObject, as_object, as_objects, as_text


def patterns(machine: Machine) -> tuple[str, ...]:
    """Returns glob patterns for Qwen Code's conversations: per project, with those of sub-agents in a folder per
    session."""
    projects = f"{machine.folder('QWEN_HOME', '.qwen')}/projects/*"
    return (f"{projects}/chats/*.jsonl", f"{projects}/subagents/*/agent-*.jsonl")


def is_sub_agent(path: str) -> bool:
    """Returns whether a file is a sub-agent's: its name begins with `agent-`."""
    return path.rpartition("/")[2].startswith("agent-")


def facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    """Returns the facts of a session or of a sub-agent's conversation. The name of a sub-agent's file has its id, and
    its folder is named after the session that started it."""
    facts = common_facts(path, records)
    if not is_sub_agent(path):
        return facts
    file = PurePosixPath(path)
    return side_of(facts, file.name.partition(".")[0].removeprefix("agent-"), file.parent.name)


def companions(path: str) -> tuple[str, ...]:
    """Returns a glob pattern, relative to a session file's folder, for the files of the session's sub-agents. Empty for
    other files."""
    file = PurePosixPath(path)
    is_chat = file.parent.name == "chats" and file.suffix == ".jsonl"
    return (f"../subagents/{glob.escape(file.stem)}/agent-*.jsonl",) if is_chat else ()


def title_of(records: Sequence[JsonObject]) -> str:
    """Returns a conversation's last title from these of its records, or else the first line of its first prompt. Empty
    if they have neither."""
    payloads = [as_object(record.get("systemPayload")) for record in records]
    titles = [title for payload in payloads if (title := as_text(payload.get("customTitle")))]
    said = [as_object(record.get("message")) for record in records if record.get("type") == "user"]
    return titles[-1] if titles else first_prompt(message.get("parts") for message in said)


_SHARE, _KEPT = 0.85, 33_000


_PART, _WINDOW = "autoCompactThreshold", "contextWindowSize"


def _threshold(setup: Setup) -> Rule:
    given, most = setup.given, setup.window - _KEPT
    part = given.share or _SHARE
    shared, name = int(setup.window * part), given.name("share")
    basis = f"{part:.0%} of the window, or 33,000 tokens before its end"
    if 0 < most < shared:
        return Rule(tokens=most, basis=basis, ignored=name)
    return Rule(tokens=shared, basis=basis, setting=name)


OWN_CONTEXT = OwnContext(threshold=_threshold)


def _files(machine: Machine) -> tuple[str, ...]:
    return (settings_path(machine), *((f"{machine.cwd}/.qwen/settings.json",) if machine.cwd else ()))


def _read(texts: Texts) -> Given:
    reading = Reading()
    for file in texts.files:
        part = number(inner(file, "context", _PART)) or 0
        reading.take("share", f"context.{_PART}", part if 0 < part <= 1 else None)
        reading.take(
            "model_window", f"model.{_WINDOW}", number(inner(file, "model", "generationConfig", _WINDOW)) or None
        )
    for file in texts.files:
        # What is set for one model comes before what is set for all.
        for listed in as_object(file.get("modelProviders")).values():
            for model in as_objects(listed):
                if texts.model and model.get("id") == texts.model:
                    size = number(inner(model, "generationConfig", _WINDOW)) or number(model.get(_WINDOW))
                    reading.take("model_window", f"modelProviders: {_WINDOW}", size or None)
    return reading.given()


# Settings that say with which model and with which files and images it compacts.
_KNOWN = frozenset(
    {
        *(_PART, "chatCompression", "compactionModel", "compactMode"),
        *(f"QWEN_COMPACT_{name}" for name in ("MAX_RECENT_FILES", "MAX_RECENT_IMAGES", "SCREENSHOT_THRESHOLD")),
        "QWEN_COMPACT_SCREENSHOT_TRIGGER",
    }
)
SETTINGS = OwnSettings(files=_files, read=_read, known=_KNOWN, prefix="QWEN")


def _occupancy(update: Mapping[str, Any]) -> Occupancy | None:
    """Returns the tokens in the agent's context from a session update: those after the agent's own compaction, or else
    those that the usage of a request shows. Returns None if the update has neither."""
    meta = as_object(update.get("_meta"))
    left = token_count(as_object(meta.get("contextCompression")).get("newTokenCount"))
    used = left if left is not None else prompt_and_answer(as_object(meta.get("usage")))
    return None if used is None else Occupancy(used=used)


def _window(model: Mapping[str, Any]) -> int | None:
    limit = as_object(model.get("_meta")).get("contextLimit")
    return limit if isinstance(limit, int) else None


def _compaction_done(update: Mapping[str, Any]) -> bool:
    return as_object(as_object(update.get("_meta")).get("contextCompression")).get("phase") == "done"


ACP = AcpAgent(
    name="qwen-code",
    compact_command="compress",
    offers_command=False,
    occupancy_in_update=_occupancy,
    window_of_model=_window,
    compaction_done=_compaction_done,
)

# Seconds, above `ullage hook`'s own limit of 4.
_TIMEOUT = 5
# The first words of a summary.
_SUMMARY_OPENING = "<state_snapshot>"


def settings_path(machine: Machine) -> str:
    """Returns the path of the file with the user's settings."""
    return f"{machine.folder('QWEN_HOME', '.qwen')}/settings.json"


WIRING = Wiring(
    word="qwen-code",
    files=(
        SettingsFile(
            path=settings_path,
            hooks=(
                HookPlace(event="PreCompact", timeout=_TIMEOUT),
                HookPlace(event="UserPromptSubmit", timeout=_TIMEOUT, arguments=("--mark", _SUMMARY_OPENING)),
                HookPlace(event="Stop", timeout=_TIMEOUT, for_notes=True),
            ),
            mcp_server=True,
        ),
    ),
    summary_in_file=True,
    steering=Steering(characters=4_000, is_answer=True),
)

INSERTED = Inserted(
    not_typed=(r"<qwen:user-prompt-submit-context>",),
    tags=("qwen:user-prompt-submit-context",),
)

AGENT = Agent(
    name="Qwen Code",
    short="Qwen",
    formats=(FORMAT,),
    companions=companions,
    sessions=Sessions(patterns=patterns, title_of=title_of, facts_of=facts_of, is_sub_agent=is_sub_agent),
    own_context=OWN_CONTEXT,
    own_settings=SETTINGS,
    acp=ACP,
    inserted=INSERTED,
    wiring=WIRING,
)
