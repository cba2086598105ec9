"""Where Codex compacts: at nine tenths of its model's window, or earlier if `model_auto_compact_token_limit` says so.

Measured by trial with 0.169: 244,800 of 272,000 and 90,000 of 100,000; the setting only lowers it. The window that
Codex reports in its files is 95 % of the real one (258,400 of 272,000); older versions report the real one. Of older
versions nothing is known: 0.34 made calls with 271,000 of 272,000 tokens and did not compact.
"""

from ullage.agents.machine import Machine
from ullage.agents.own_context import OwnContext, Rule, Setup, version_of
from ullage.agents.own_settings import Given, OwnSettings, Reading, Texts, inner, number
from ullage.model.json_values import as_object, as_objects, as_text

_SHARE = 0.9
_NOT_SO = (0, 35)
_LIMIT = "model_auto_compact_token_limit"
# Of what follows a compaction's prefix the limit counts other tokens than the context's (0.171).
# The part of a window that Codex uses, and the windows in the list of models of 0.171.
_USED = 19, 20
_WINDOWS = {
    500_000: ("gpt-6.2-sol", "gpt-6.1-sol", "gpt-6.1-terra"),
    272_000: (
        *("gpt-6.2-astra", "gpt-6-astra", "gpt-6-sol", "gpt-6-luna"),
        *("gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna", "gpt-5.5"),
    ),
}
# Features by which Codex compacts elsewhere, or begins a new context without a summary.
_UNCERTAIN = ("token_budget", "async_compaction")
_SCOPE, _WHOLE = f"{_LIMIT}_scope", "total"


def _threshold(setup: Setup) -> Rule | None:
    if () < version_of(setup.version) < _NOT_SO:
        return None
    # A real window is a whole number of tokens. 272,000 and 200,000 are not 95 % of one; 258,400 and 95,000 are.
    whole, rest = divmod(setup.window * _USED[1], _USED[0])
    window = setup.window if rest else whole
    tokens, limit, name = round(window * _SHARE), setup.given.tokens, setup.given.name("tokens")
    if limit and limit < tokens:
        return Rule(tokens=limit, basis=name, setting=name)
    return Rule(tokens=tokens, basis=f"Codex compacts at nine tenths of {window:,}", ignored=name)


def _files(machine: Machine) -> tuple[str, ...]:
    project = (f"{machine.cwd}/.codex/config.toml",) if machine.cwd else ()
    home = machine.folder("CODEX_HOME", ".codex")
    return (f"{home}/models_cache.json", f"{home}/config.toml", *project)


def _read(texts: Texts) -> Given:
    reading = Reading()
    for file in texts.files:
        for listed in as_objects(file.get("models")):
            if texts.model and listed.get("slug") == texts.model:
                _take_window(reading, "models_cache.json: context_window", number(listed.get("context_window")))
                reading.take("tokens", "auto_compact_token_limit", number(listed.get("auto_compact_token_limit")))
        _take_window(reading, "model_context_window", number(file.get("model_context_window")))
        for name, feature in as_object(file.get("features")).items():
            if name in _UNCERTAIN and (feature is True or as_object(feature).get("enabled") is True):
                reading.unknown = f"features.{name}"
        reading.take("tokens", _LIMIT, number(file.get(_LIMIT)))
        profile = as_text(file.get("profile"))
        reading.take("tokens", _LIMIT, number(inner(file, "profiles", profile, _LIMIT)))
        for scope in (file.get(_SCOPE), inner(file, "profiles", profile, _SCOPE)):
            if scope is not None:
                reading.unknown = "" if scope == _WHOLE else f"{_SCOPE}={scope}"
    return reading.given()


def _take_window(reading: Reading, name: str, tokens: float | None) -> None:
    if tokens:
        reading.take("model_window", name, _used(int(tokens)))
        reading.rename("model_window", f"{name}={tokens:g}")


def _window(setup: Setup) -> Rule | None:
    """Returns the window that Codex gives a model of its own list."""
    tokens = next((tokens for tokens, names in _WINDOWS.items() if setup.model in names), None)
    if tokens is None:
        return None
    basis = f"Codex 0.171 gives {setup.model} {tokens:,} tokens and uses 95% of them"
    return Rule(tokens=_used(tokens), basis=basis)


def _used(tokens: int) -> int:
    return tokens * _USED[0] // _USED[1]


# A prompt, and what belongs to settings without an effect on when Codex compacts.
_KNOWN = frozenset({_LIMIT, _SCOPE, "compact_prompt", "experimental_compact_prompt_file", "model_reasoning_summary"})
OWN_CONTEXT = OwnContext(window=_window, threshold=_threshold, is_exact=True)
SETTINGS = OwnSettings(files=_files, read=_read, known=_KNOWN, prefix="CODEX")
