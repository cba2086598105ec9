"""Where Codex compacts: at nine tenths of its model's window, or earlier if `model_auto_compact_token_limit` says so.

Measured by trial with 0.169: 244,800 of 272,000 and 90,000 of 100,000; the setting only lowers it. The window that
Codex reports in its files is 95 % of the real one (258,400 of 272,000); older versions report the real one. Of older
versions nothing is known: 0.34 made calls with 271,000 of 272,000 tokens and did not compact.
"""

from ullage.agents.machine import Machine
from ullage.agents.own_context import OwnContext, Rule, Setup, version_of
from ullage.agents.own_settings import Given, OwnSettings, Reading, Texts, inner, number
from ullage.model.json_values import as_text

_SHARE = 0.9
_NOT_SO = (0, 35)
_LIMIT = "model_auto_compact_token_limit"
# Of what follows a compaction's prefix the limit counts other tokens than the context's (0.171).
_SCOPE, _WHOLE = f"{_LIMIT}_scope", "total"


def _threshold(setup: Setup) -> Rule | None:
    if () < version_of(setup.version) < _NOT_SO:
        return None
    # A real window is a whole number of tokens. 272,000 and 200,000 are not 95 % of one; 258,400 and 95,000 are.
    whole, rest = divmod(setup.window * 20, 19)
    window = setup.window if rest else whole
    tokens, limit, name = round(window * _SHARE), setup.given.tokens, setup.given.name("tokens")
    if setup.given.unknown:
        return None
    if limit and limit < tokens:
        return Rule(tokens=limit, basis=name, setting=name)
    return Rule(tokens=tokens, basis=f"Codex compacts at nine tenths of {window:,}", ignored=name)


def _files(machine: Machine) -> tuple[str, ...]:
    project = (f"{machine.cwd}/.codex/config.toml",) if machine.cwd else ()
    return (f"{machine.folder('CODEX_HOME', '.codex')}/config.toml", *project)


def _read(texts: Texts) -> Given:
    reading = Reading()
    for file in texts.files:
        reading.take("tokens", _LIMIT, number(file.get(_LIMIT)))
        profile = as_text(file.get("profile"))
        reading.take("tokens", _LIMIT, number(inner(file, "profiles", profile, _LIMIT)))
        for scope in (file.get(_SCOPE), inner(file, "profiles", profile, _SCOPE)):
            if scope is not None:
                reading.unknown = "" if scope == _WHOLE else f"{_SCOPE}={scope}"
    return reading.given()


OWN_CONTEXT = OwnContext(threshold=_threshold, is_exact=True)
SETTINGS = OwnSettings(files=_files, read=_read)
