"""Measures how many secrets survive redaction, and how many lines without one are redacted.

The secrets are random texts that the rules of scanners describe: gitleaks' list, which scripts/gen_secret_shapes.py
gets, and trufflehog's detectors if a checkout of it is named (a folder with `pkg/detectors`). Each is put into twelve
lines, from `DATADOG_API_KEY=…` to a line of a log. A rule of the group `shape` describes a prefix of the token's own,
one of `hex` only hexadecimal digits, and one of `keyword` any other token that is known by the service's name alone.
Fourteen kinds of random secrets, among them passwords of people, are put into the forms of `secret_forms.py`, too.
Rules of ids, names and addresses are left out as far as their length or characters show it.

The lines without secrets are those of the named files and folders; if none is named, the lines of this repository
and of the packages that it is installed with. A line that `redact` changes is counted and shown.
"""

import random
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Struct

from benches.report import Report, at_most
from benches.secret_forms import samples
from gen_secret_shapes import rule_list, sample
from generators import ROOT
from ullage.redaction.clean import clean, redact

_SAMPLES = 2
_SEEDS = (5, 6, 7)
# The shortest text that is taken for a secret, and how much of it may not be shown.
_SHORTEST, _PIECE = 16, 12
_NAMED = (
    "{S}_API_KEY={v}",
    'export {S}_TOKEN="{v}"',
    "  {s}_api_key: {v}",
    '  "{s}ApiKey": "{v}",',
    "X-{S}-Api-Key: {v}",
    "{s}.api.key={v}",
    'client = {S}(api_key="{v}")',
    "{s} deploy --token {v} --verbose",
    "GET https://api.{s}.com/v1/items?apikey={v}&limit=10 200",
)
_BY_SERVICE = ("{S}={v}", "{s}: {v}", "2025-03-01 12:00:01 INFO connected to {s} with {v}")
_HEX = re.compile(r"[0-9a-fA-F-]+")
_NO_SECRET = re.compile(r"[\s{}<>@]|://|\.(?:com|net|io|org|ai)\b")
_GO_PATTERN = re.compile(
    r"regexp\.MustCompile\((?P<prefix>detectors\.PrefixRegex\(\[\]string\{(?P<words>[^}]*)\}\)\s*\+\s*)?"
    r"`(?P<rule>[^`]+)`\)"
)
_TEXTS = {".py", ".pyi", ".ts", ".js", ".lua", ".md", ".json", ".toml", ".txt", ".yaml", ".yml", ".lock", ".log", ".go",
          ".rs", ".c", ".h", ".java", ".sh", ".cfg", ".ini", ".html", ".css", ".sql"}  # fmt: skip
_MOST_LINES, _MOST_SHOWN, _LARGEST_FILE = 300_000, 40, 2_000_000


class Secret(Struct, frozen=True):
    """A random secret: whose rule describes it, the rule's group, the service, and the text."""

    scanner: str
    group: str
    service: str
    text: str


def run(paths: Sequence[Path]) -> Report:
    """Returns rows of surviving secrets and of redacted lines."""
    scanners = [path for path in paths if (path / "pkg" / "detectors").is_dir()]
    folders = [path for path in paths if path not in scanners] or _own_folders()
    secrets = [*_gitleaks(), *(secret for folder in scanners for secret in _trufflehog(folder))]
    survivors = _surviving(secrets)
    lines, changed = _redacted_lines(folders)
    forms = _surviving_forms()
    share = len(changed) / max(1, lines)
    shown = [{"redacted without need": line[:160]} for line in changed[:_MOST_SHOWN]]
    aims = [
        at_most("share of lines without secrets that are redacted", share, 0.0001),
        at_most("share of secrets in the forms of logs that survive", forms[0]["survive %"] / 100, 0.03),
    ]
    return Report(
        bench="secrets",
        rows=[*survivors, *forms, {"lines": lines, "redacted": len(changed)}, *shown],
        aims=aims,
    )


def _gitleaks() -> Iterator[Secret]:
    for rule in tomllib.loads(rule_list().decode())["rules"]:
        if "regex" in rule:
            words = [word.strip("_-. ") for word in rule.get("keywords", [])]
            service = str(rule["id"]).split("-")[0]
            by_name = rule["regex"].startswith((r"(?i)[\w.-]{0,50}", r"[\w.-]{0,50}"))
            yield from _secrets("gitleaks", rule["regex"], words[0] if by_name and words else service, by_name)


def _trufflehog(folder: Path) -> Iterator[Secret]:
    for file in sorted((folder / "pkg" / "detectors").rglob("*.go")):
        if not file.name.endswith("_test.go"):
            for found in _GO_PATTERN.finditer(file.read_text(encoding="utf-8")):
                words = re.findall(r'"([\w. -]+)"', found["words"] or "")
                service = max(words, key=len, default=file.parent.name)
                yield from _secrets("trufflehog", found["rule"], service, found["prefix"] is not None)


def _secrets(scanner: str, rule: str, service: str, by_name: bool) -> Iterator[Secret]:
    chance = random.Random(rule)
    try:
        texts = [sample(rule, chance) for _ in range(_SAMPLES)]
    except ValueError:
        return
    if any(len(text) < _SHORTEST or _NO_SECRET.search(text) or text.isalpha() for text in texts):
        return
    alike = texts[0][:3] == texts[1][:3]
    group = "hex" if all(map(_HEX.fullmatch, texts)) else "shape" if alike and not by_name else "keyword"
    name = re.sub(r"\W", "", service) or "service"
    yield from (Secret(scanner, group, name, text) for text in texts)


def _surviving(secrets: Sequence[Secret]) -> list[dict[str, Any]]:
    tried: Counter[tuple[str, str, str]] = Counter()
    survived: Counter[tuple[str, str, str]] = Counter()
    for secret in secrets:
        for context in (*_NAMED, *_BY_SERVICE):
            line = context.format(S=secret.service.upper(), s=secret.service.lower(), v=secret.text)
            is_left = _is_shown(secret.text, clean(line))
            for which in (context, "all lines"):
                tried[secret.scanner, secret.group, which] += 1
                survived[secret.scanner, secret.group, which] += is_left
    return [
        {
            "scanner": scanner,
            "line": context.replace("{", "").replace("}", ""),
            "secrets": sum(count for (one, _, which), count in tried.items() if (one, which) == (scanner, context)),
            **{
                f"{group} %": round(100 * survived[scanner, group, context] / max(1, tried[scanner, group, context]), 1)
                for group in ("shape", "keyword", "hex")
            },
        }
        for scanner in dict.fromkeys(secret.scanner for secret in secrets)
        for context in ("all lines", *_NAMED, *_BY_SERVICE)
    ]


def _is_shown(secret: str, line: str) -> bool:
    """Returns whether a piece of the secret's second half is in the line. The first half can be a public prefix."""
    starts = range(len(secret) // 2, len(secret) - _PIECE + 1)
    return any(secret[start : start + _PIECE] in line for start in (*starts, max(0, len(secret) - _PIECE)))


def _surviving_forms() -> list[dict[str, Any]]:
    """Returns the shares that survive: of all, of each kind, and of each form of which any do."""
    tried: Counter[str] = Counter()
    left: Counter[str] = Counter()
    for one in (one for seed in _SEEDS for one in samples(seed)):
        survives = any(piece in clean(one.text) for piece in one.pieces)
        for which in ("all forms", one.kind, repr(one.form)):
            tried[which] += 1
            left[which] += survives
    shown = [which for which in tried if left[which] or not which.startswith(("'", '"'))]
    return [{"form or kind": which, "survive %": round(100 * left[which] / tried[which], 2)} for which in shown]


def _redacted_lines(paths: Sequence[Path]) -> tuple[int, list[str]]:
    lines, changed = 0, list[str]()
    for line in islice((line for path in paths for line in _lines(path)), _MOST_LINES):
        lines += 1
        if redact(line) != line:
            changed.append(redact(line).strip())
    return lines, changed


def _lines(path: Path) -> Iterator[str]:
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file() and (file.suffix in _TEXTS or not path.is_dir()) and file.stat().st_size < _LARGEST_FILE:
            yield from file.read_text(encoding="utf-8", errors="replace").splitlines()


def _own_folders() -> list[Path]:
    return [ROOT / "server", ROOT / "editors", ROOT / "scripts", *sorted((ROOT / ".venv" / "lib").glob("*"))]
