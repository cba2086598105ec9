"""Generates for Neovim: `types.gen.lua`, LuaCATS classes that are never run, and `generated.lua`, a module of
values."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from msgspec import inspect as kinds
from msgspec import to_builtins

from generators import wire
from generators.names import constant
from ullage.api.codes import CODES
from ullage.api.methods import METHODS, NOTIFICATIONS
from ullage.api.schema import PREFIXES, settings_schema
from ullage.api.wire import CLIENT_METHODS
from ullage.model.settings import Settings

_HEAD = "-- Generated from the server's structs by scripts/gen_protocol.py. Do not edit.\n"
_SPACE = "ullage."
_PLAIN: Mapping[type[kinds.Type], str] = {
    kinds.NoneType: "vim.NIL",
    kinds.BoolType: "boolean",
    kinds.IntType: "integer",
    kinds.FloatType: "number",
    kinds.StrType: "string",
    kinds.AnyType: "any",
}


def types() -> str:
    """Returns every type on the wire. A JSON null is nil up to Neovim 0.10, and `vim.NIL` in later versions."""
    return "\n".join((f"---@meta _\n{_HEAD}", *map(_declaration, wire.declarations())))


def values() -> str:
    """Returns method names, error codes, the settings' defaults (nested, as they are sent) and their schema (flat)."""
    names = (*(method.name for method in (*METHODS, *CLIENT_METHODS)), *NOTIFICATIONS)
    methods = {constant(name): PREFIXES["lsp"] + name for name in names}
    return "\n".join(
        (
            f"{_HEAD}\nlocal M = {{}}\n",
            f"--- Names of the methods.\nM.methods = {_table(methods)}\n",
            f"--- The code of every error by its `data.kind`.\nM.errors = {_table(_codes())}\n",
            "--- The settings' defaults. A setting that is not in the table is unset.\n"
            f"---@type ullage.Settings\nM.defaults = {_table(to_builtins(Settings()))}\n",
            "--- The JSON Schema of each setting.\n"
            f"---@type table<string, table>\nM.settings = {_table(settings_schema()['properties'])}\n",
            "return M\n",
        )
    )


def _codes() -> Mapping[str, int]:
    return {kind.__name__: code for kind, code in CODES.items()}


def _declaration(declaration: wire.Declaration) -> str:
    match declaration:
        case wire.Interface(name=name, doc=doc, members=members):
            return f"--- {doc}\n---@class (exact) {_SPACE}{name}\n" + "".join(map(_field, members))
        case wire.Choice(name=name, doc=doc, values=values):
            return f"--- {doc}\n" + _alias(name, map(json.dumps, values))
        case wire.Union(name=name, of=of):
            return _alias(name, (_SPACE + each for each in of))


def _alias(name: str, alternatives: Iterable[str]) -> str:
    return f"---@alias {_SPACE}{name} {'|'.join(alternatives)}\n"


def _field(member: wire.Member) -> str:
    default = f"Default {_value(member.default)}." if wire.has_telling_default(member) else ""
    doc = " ".join(filter(None, (member.doc, default)))
    kind = _type(member.type)
    mark = "?" if member.optional or kind.endswith("|vim.NIL") else ""
    return f"---@field {member.name}{mark} {kind} {doc}".rstrip() + "\n"


def _type(kind: kinds.Type | str) -> str:
    return _SPACE + kind if isinstance(kind, str) else _PLAIN.get(type(kind)) or _composed(kind)


def _composed(kind: kinds.Type) -> str:
    match kind:
        case kinds.LiteralType(values=values):
            return "|".join(map(json.dumps, values))
        case kinds.VarTupleType(item_type=item):
            inner = _type(item)
            return f"({inner})[]" if "|" in inner else f"{inner}[]"
        case kinds.DictType(value_type=value):
            return f"table<string, {_type(value)}>"
        case kinds.EnumType(cls=cls):
            return _SPACE + cls.__name__
        case kinds.StructType(cls=cls):
            return _inline(kind) if wire.is_anonymous(kind) else _SPACE + cls.__name__
        case kinds.UnionType():
            return "|".join(map(_type, wire.alternatives(kind)))
        case _:
            raise TypeError(f"no Lua for {kind}; add it to {__name__}")


def _inline(kind: kinds.StructType) -> str:
    return "{ " + ", ".join(f"{member.name}: {_type(member.type)}" for member in wire.members(kind)) + " }"


def _table(entries: Mapping[str, Any], indent: str = "") -> str:
    """Returns a table constructor as stylua formats it. Nulls are left out, because a nil in a Lua table is a
    missing key."""
    if not entries:
        return "vim.empty_dict()"
    inner = indent + "  "
    lines = "".join(
        f"{inner}{_key(name)} = {_value(value, inner)},\n" for name, value in entries.items() if value is not None
    )
    return f"{{\n{lines}{indent}}}"


def _list(values: Sequence[str], indent: str) -> str:
    if any("\n" in value for value in values):
        return "{\n" + "".join(f"{indent}  {value},\n" for value in values) + indent + "}"
    return f"{{ {', '.join(values)} }}" if values else "{}"


def _key(name: str) -> str:
    return name if name.isidentifier() else f"[{_string(name)}]"


def _string(text: str) -> str:
    """Returns the text in single quotes, unless that needs more escapes; `stylua.toml` asks for the same."""
    quoted = json.dumps(text, ensure_ascii=False)
    return quoted if "'" in text else "'" + quoted[1:-1].replace('\\"', '"') + "'"


def _value(value: Any, indent: str = "") -> str:
    match value:
        case dict():
            return _table(cast("Mapping[str, Any]", value), indent)
        case list() | tuple():
            inner = [each for each in cast("Sequence[Any]", value) if each is not None]
            deeper = indent + "  " if any(isinstance(each, dict) for each in inner) else indent
            return _list([_value(each, deeper) for each in inner], indent)
        case str():
            return _string(value)
        case _:
            return json.dumps(value)
