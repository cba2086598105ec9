"""Settings of agents as text, written in many ways, in JSON and in TOML."""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

_TEXTS = st.text(st.characters(blacklist_categories=("Cs",)), max_size=8)
_SCALARS = st.none() | st.booleans() | st.integers(-1000, 1000) | _TEXTS
ANY = st.recursive(_SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3))
_HANDLER = st.fixed_dictionaries({"type": st.just("command"), "command": _TEXTS})
_GROUP = st.fixed_dictionaries({"hooks": st.lists(_HANDLER, max_size=2)}, optional={"matcher": _TEXTS})
_SERVER = st.fixed_dictionaries({"command": _TEXTS}, optional={"args": st.lists(_TEXTS, max_size=2)})
_LOCAL = st.fixed_dictionaries({"type": st.just("local"), "command": st.lists(_TEXTS, max_size=2)})
_EVENTS = st.sampled_from(["SessionStart", "SubagentStop", "Stop", "PreToolUse"])
_KNOWN: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "hooks": st.dictionaries(_EVENTS, st.lists(_GROUP, max_size=2), max_size=3),
        "statusLine": st.fixed_dictionaries({}, optional={"type": st.just("command"), "command": _TEXTS}),
        "mcpServers": st.dictionaries(_TEXTS | st.just("ullage"), _SERVER, max_size=2),
        "mcp": st.dictionaries(_TEXTS | st.just("ullage"), _LOCAL, max_size=2),
        "model": _TEXTS,
    },
)
PLACES = ("hooks", "statusLine", "mcpServers", "mcp")
_OTHERS = st.dictionaries(_TEXTS.filter(lambda key: key not in PLACES), ANY, max_size=3)


def _both(other: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    return {**other, **known}


VALUES: st.SearchStrategy[dict[str, Any]] = st.builds(_both, _OTHERS, _KNOWN)


def _write(value: Any, indent: int | str | None, *, ascii_only: bool) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=ascii_only)


def _commented(text: str) -> str:
    """Puts a comment at the end of each line, and a trailing comma before each closing bracket of a line's own."""
    lines = text.split("\n")
    for place, line in enumerate(lines[:-1]):
        comma = "," if lines[place + 1].strip()[:1] in "]}" and line.strip()[-1:] not in ("[", "{", ",") else ""
        lines[place] = f"{line}{comma} // a note, {{"
    return "\n".join(["/* ours */", *lines])


_SHAPES: tuple[Callable[[str], str], ...] = (
    str,
    _commented,
    lambda text: text.replace("\n", "\r\n"),
    lambda text: f"\ufeff{text}\n",
    lambda text: f"\n{text}\n\n",
)
_INDENTS: tuple[int | str | None, ...] = (None, 0, 2, 4, "\t")


@st.composite
def json_texts(draw: st.DrawFn) -> str:
    """Settings as text, written in one of many ways."""
    value, indent, shape = draw(VALUES), draw(st.sampled_from(_INDENTS)), draw(st.sampled_from(_SHAPES))
    return shape(_write(value, indent, ascii_only=draw(st.booleans())))


_WORDS = st.from_regex(r"[a-z][a-z_]{0,7}", fullmatch=True)
_TOML_VALUES = st.sampled_from(
    [
        "1",
        "-0.5",
        "nan",
        "true",
        "1979-05-27T07:32:00Z",
        "'C:\\u'",
        '"a \\" # b"',
        '"""\n[mcp_servers.ullage]\n\\"""x"""',
        "'''\n# no comment\n[x]\n'''",
        "[1, # one ]\n  2,\n]",
        '{ a = "}", b = [{ c = 1 }] }',
    ]
)
_GAPS = st.sampled_from(["", "", "\n", "# a note [x]\n", "\n\n  # ullage\n"])
_ENDS = st.sampled_from(["\n", "  # why\n", "\t\n"])
_SERVERS = st.sampled_from(
    [
        "",
        "",
        '[mcp_servers.docs]\ncommand = "docs"\n',
        '[mcp_servers]\ndocs = { command = "docs" }\n',
        '[mcp_servers."a.b".env]\nA = "1"\n',
        '[mcp_servers.ullage]\ncommand = "own"\n[mcp_servers.ullage.env]\nA = "1"\n',
    ]
)


@st.composite
def toml_texts(draw: st.DrawFn) -> str:
    """Settings in TOML: keys at the root, tables, and lists of tables, with comments between them."""
    parts = [_keys_of(draw)]
    names = draw(st.lists(_WORDS, unique=True, max_size=4))
    for name in names:
        header = draw(
            st.sampled_from([f"[t_{name}]", f' [t_{name}."x y".z]', f"[[t_{name}]]", f"[[t_{name}]]\n[t_{name}.y]"])
        )
        parts += [draw(_GAPS), header, draw(_ENDS), _keys_of(draw)]
    parts.insert(draw(st.sampled_from([1, len(parts)])), draw(_SERVERS))
    text = "".join(parts) + draw(_GAPS)
    shape = draw(st.sampled_from(_TOML_SHAPES))
    return shape(text)


def _keys_of(draw: st.DrawFn) -> str:
    names = draw(st.lists(_WORDS, unique=True, max_size=3))
    return "".join(f"{draw(_GAPS)}k_{name} = {draw(_TOML_VALUES)}{draw(_ENDS)}" for name in names)


_TOML_SHAPES: tuple[Callable[[str], str], ...] = (
    str,
    lambda text: text.replace("\n", "\r\n"),
    lambda text: f"\ufeff{text}",
    lambda text: text.rstrip("\n"),
    lambda text: text.replace(" = ", "="),
)
