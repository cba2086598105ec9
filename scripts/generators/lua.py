"""Generates `types.gen.lua` for the tests of Neovim's plugin, a LuaCATS class for every type on the wire, and
`agent_folders.lua` for the plugin itself."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import inspect as kinds

from generators import wire
from generators.agent_folders import agent_folders as folders_by_system

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


def agent_folders() -> str:
    """Returns the folders in which agents keep conversations, by `sys.platform`."""
    lines = list[str]()
    for system, places in folders_by_system().items():
        lines += [f"  {system} = {{", *(f"    '{place}'," for place in places), "  },"]
    return "\n".join((f"{_HEAD}---@type table<string, string[]>", "return {", *lines, "}", ""))


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


def _value(value: Any) -> str:
    """Returns a default as Lua writes it, for a comment."""
    match value:
        case dict():
            return "vim.empty_dict()"
        case list() | tuple():
            return "{}"
        case str():
            return f"'{value}'"
        case _:
            return json.dumps(value)
