"""What is generated in `editors/vscode/package.json` and its lock file: `contributes.configuration` and the version."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from textwrap import indent
from typing import Any, cast

from ullage.api.schema import settings_schema

_SPACE = "ullage."
# What the server never hears of. What names a program to run is restricted, too.
_CLIENT: Mapping[str, Mapping[str, Any]] = {
    "server.path": {
        "markdownDescription": "The `ullage` program to run. Empty: `ULLAGE_SERVER`, then `ullage` of the active "
        "Python environment or on `PATH`, then the one this extension brings along.",
        "type": "string",
        "default": "",
        "scope": "machine-overridable",
    },
    "server.python": {
        "markdownDescription": "Python 3.11 or newer that runs the server this extension brings along. Empty: the "
        "active environment's, then `python3` on `PATH`.",
        "type": "string",
        "default": "",
        "scope": "machine-overridable",
    },
    "trace.server": {
        "description": "How much of the talk with the server goes to the log.",
        "type": "string",
        "enum": ["off", "messages", "verbose"],
        "default": "off",
        "scope": "window",
    },
}


def with_settings(manifest: Path) -> str:
    """The manifest's text with the settings as they are now."""
    text = manifest.read_text(encoding="utf-8")
    start, end, margin = _region(text, manifest)
    region = indent(json.dumps(configuration(), indent=2, ensure_ascii=False), margin).lstrip()
    return text[:start] + region + text[end:]


def with_version(text: str, version: str, places: int = 1) -> str:
    """A manifest's text with this version in its first `places` fields called so: those of the package itself. Raises
    `SystemExit` if there are fewer."""
    replaced, found = re.subn(r'^( *"version": *)"[^"]*"', rf'\g<1>"{version}"', text, count=places, flags=re.MULTILINE)
    if found != places:
        raise SystemExit(f"the extension's manifest needs {places} versions; it has {found}")
    return replaced


def configuration() -> Mapping[str, Any]:
    """`contributes.configuration`: the server's settings in their order, then the client's own."""
    server = {name: _scoped(_plain(value)) for name, value in settings_schema()["properties"].items()}
    ordered = enumerate({**server, **_CLIENT}.items())
    return {"title": "Ullage", "properties": {_SPACE + name: {**value, "order": at} for at, (name, value) in ordered}}


def _scoped(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """With where it may be set; what is restricted also stands in the manifest's `restrictedConfigurations`."""
    plain = {key: value for key, value in schema.items() if key != "restricted"}
    return {**plain, "scope": "machine-overridable" if schema.get("restricted") else "window"}


def _region(text: str, manifest: Path) -> tuple[int, int, str]:
    """Where the value of `contributes.configuration` starts and ends, and the margin it stands at."""
    found = list(re.finditer(r'^( *)"configuration": *(?=\{)', text, re.MULTILINE))
    if len(found) != 1:
        raise SystemExit(f'{manifest} needs one line "configuration": {{}} in "contributes"; it has {len(found)}')
    start = found[0].end()
    _, length = json.JSONDecoder().raw_decode(text[start:])
    return start, start + length, found[0][1]


def _plain(schema: Any) -> Any:
    """Without the names of structs, which are nothing to users."""
    if not isinstance(schema, dict):
        return schema
    return {key: _plain(value) for key, value in cast("dict[str, Any]", schema).items() if key != "title"}
