"""What Ullage knows about Kimi Code: where its sessions are, its settings, and where it compacts.

It compacts at 85 % of the window, or 50,000 tokens before its end if that is earlier. Read in its source, and measured:
of 100,000, 52,545 tokens are compacted and 47,545 are not. `config.toml` names other values for a model:
`compaction_trigger_ratio` and `reserved_context_size`, and its window: `max_context_size`.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from ullage.agents.agent import Agent, Inserted, Sessions
from ullage.agents.kimi_code.wire_log import FORMAT
from ullage.agents.machine import Machine, first_prompt, last_text
from ullage.agents.own_context import OwnContext, Rule, Setup
from ullage.agents.own_settings import Given, OwnSettings, Reading, Texts, number
from ullage.agents.session_facts import Facts, common_facts, side_of
from ullage.model.json_values import JsonObject, as_object, as_text


def patterns(machine: Machine) -> tuple[str, ...]:
    """Returns a glob pattern for Kimi Code's logs: in a folder per session, and in it one per agent."""
    return (f"{machine.folder('KIMI_CODE_HOME', '.kimi-code')}/sessions/*/*/agents/*/wire.jsonl",)


def title_of(records: Sequence[JsonObject]) -> str:
    """Returns a session's title from `state.json` or these records of a log, or else the first line of the first
    prompt. Empty if they have neither."""
    prompts = (record.get("input") for record in records if record.get("type") == "turn.prompt")
    return last_text(records, "title") or first_prompt(prompts)


def is_sub_agent(path: str) -> bool:
    """Returns whether a log is a sub-agent's: it is not in the folder `main`, which is that of the user's own agent."""
    return "/agents/main/" not in path


def facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    """Returns the facts of a session. Its id is the name of the folder that contains `agents`; that of a sub-agent's
    conversation has the name of its own folder, too."""
    folder, _, place = path.partition("/agents/")
    session_id = folder.rpartition("/")[2]
    facts = replace(common_facts(path, records), session_id=session_id)
    return side_of(facts, f"{session_id}/{place.partition('/')[0]}", session_id) if is_sub_agent(path) else facts


def companions(path: str) -> tuple[str, ...]:
    """Returns the path, relative to the log's folder, of the `state.json` of the session. Empty if the file is not a
    log."""
    return ("../../state.json",) if path.endswith("/wire.jsonl") else ()


_SHARE, _KEPT = 0.85, 50_000


def _threshold(setup: Setup) -> Rule | None:
    given = setup.given
    share = _SHARE if given.share is None else given.share
    kept = _KEPT if given.reserve is None else given.reserve
    tokens = min(int(setup.window * share), setup.window - kept)
    setting = ", ".join(filter(None, (given.name("share"), given.name("reserve"))))
    basis = f"{share:.0%} of the window, or {kept:,} tokens before its end"
    return Rule(tokens=tokens, basis=basis, setting=setting) if tokens > 0 else None


def _files(machine: Machine) -> tuple[str, ...]:
    return (f"{machine.folder('KIMI_CODE_HOME', '.kimi-code')}/config.toml",)


def _read(texts: Texts) -> Given:
    reading = Reading()
    for file in texts.files:
        models = as_object(file.get("models"))
        named = [as_object(value) for name, value in models.items() if texts.model in (name, _model(value))]
        for values in named:
            reading.take("model_window", "max_context_size", number(values.get("max_context_size")) or None)
            reading.take("share", "compaction_trigger_ratio", number(values.get("compaction_trigger_ratio")))
            reading.take("reserve", "reserved_context_size", number(values.get("reserved_context_size")))
    return reading.given()


def _model(value: object) -> str:
    return as_text(as_object(value).get("model"))


OWN_CONTEXT = OwnContext(threshold=_threshold)
SETTINGS = OwnSettings(files=_files, read=_read, prefix="KIMI")

AGENT = Agent(
    name="Kimi Code",
    short="Kimi",
    formats=(FORMAT,),
    companions=companions,
    sessions=Sessions(
        patterns=patterns, title_of=title_of, facts_of=facts_of, fact_files=companions, is_sub_agent=is_sub_agent
    ),
    own_context=OWN_CONTEXT,
    own_settings=SETTINGS,
    inserted=Inserted(tags=("git-context", "system-reminder")),
)
