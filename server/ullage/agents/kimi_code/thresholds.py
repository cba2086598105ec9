"""Where Kimi Code compacts: at 85 % of the window, or 50,000 tokens before its end if that is earlier.

Read in its source, and measured: of 100,000, 52,545 tokens are compacted and 47,545 are not. `config.toml` names other
values for a model: `compaction_trigger_ratio` and `reserved_context_size`, and its window: `max_context_size`.
"""

from ullage.agents.machine import Machine
from ullage.agents.own_context import OwnContext, Rule, Setup
from ullage.agents.own_settings import Given, OwnSettings, Reading, Texts, number
from ullage.model.json_values import as_object, as_text

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
