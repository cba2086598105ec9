"""The types on the wire, and the members of each.

A member is optional if it may be missing. Clients may leave out every member with a default. The server leaves out
members that are `UNSET`, and defaults of `omit_defaults` structs. If a missing member means null, null itself is never
sent, so it is no part of the type.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from inspect import getdoc
from typing import Any, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, UNSET, Struct
from msgspec import inspect as kinds

from ullage.api.methods import METHODS, wire_types
from ullage.api.protocol import CLIENT_METHODS, ClientAbilities
from ullage.model.message import Block, ResultPart
from ullage.model.settings import Settings, StrategySettings
from ullage.model.updates import Update

# `typing` does not keep the name of a union.
UNIONS: dict[str, Any] = {
    "Block": Block,
    "ResultPart": ResultPart,
    "StrategySettings": StrategySettings,
    "Update": Update,
}


class Member(Struct, frozen=True, kw_only=True):
    """A field. `default` is the JSON value that a missing member means, or UNSET."""

    name: str
    type: kinds.Type
    optional: bool = False
    default: Any = UNSET
    doc: str = ""


Named = kinds.StructType | kinds.EnumType


def named_types() -> list[Named]:
    """Returns every struct and enum on the wire that has a name, sorted by it."""
    return sorted(_named(wire_types()), key=lambda kind: kind.cls.__name__)


def members(kind: kinds.StructType) -> tuple[Member, ...]:
    """Returns a struct's fields, its tag first."""
    omits, is_sent = _omits_defaults(kind), kind.cls in _sent_by_clients()
    given = tuple(_member(field, omits, is_sent) for field in kind.fields)
    if kind.tag_field is None:
        return given
    return (Member(name=kind.tag_field, type=kinds.LiteralType((kind.tag,))), *given)


def maxima() -> dict[str, dict[str, int]]:
    """Returns the largest value of each integer in a request's params that has one: by struct, then by member."""
    found: dict[str, dict[str, int]] = {}
    for kind in kinds.multi_type_info([method.params for method in METHODS]):
        if isinstance(kind, kinds.StructType):
            limits = {field.encode_name: most for field in kind.fields if (most := _maximum(field.type)) is not None}
            if limits:
                found[kind.cls.__name__] = limits
    return dict(sorted(found.items()))


def optional_members() -> dict[str, list[str]]:
    """Returns the names of the members that may be missing or null, by interface."""
    structs = (kind for kind in named_types() if isinstance(kind, kinds.StructType))
    found = {
        kind.cls.__name__: [one.name for one in members(kind) if one.optional or _may_be_null(one)] for kind in structs
    }
    return {name: names for name, names in found.items() if names}


def _may_be_null(member: Member) -> bool:
    types = member.type.types if isinstance(member.type, kinds.UnionType) else (member.type,)
    return any(isinstance(each, kinds.NoneType) for each in types)


def has_telling_default(member: Member) -> bool:
    """Whether documentation should state the default: it is a boolean, a number or a string that is not empty."""
    return member.optional and isinstance(member.default, bool | int | float | str) and member.default != ""


def is_anonymous(kind: kinds.StructType) -> bool:
    """Whether the struct is written out in place, because an instance of a generic struct has no name of its own."""
    return get_origin(kind.cls) is not None


def alternatives(union: kinds.UnionType) -> tuple[kinds.Type | str, ...]:
    """Returns the members of a union. If its structs together have a name, the name replaces them."""
    structs = frozenset(kind.cls for kind in union.types if isinstance(kind, kinds.StructType))
    for name, known in UNIONS.items():
        if structs == frozenset(get_args(known)):
            rest = (kind for kind in union.types if not isinstance(kind, kinds.StructType))
            return (name, *rest)
    return union.types


@cache
def _sent_by_clients() -> frozenset[type]:
    sent = (*(method.params for method in METHODS), *(method.result for method in CLIENT_METHODS))
    return frozenset(kind.cls for kind in _named((*sent, ClientAbilities, Settings)))


def _named(types: Iterable[type]) -> Iterator[Named]:
    """Yields each struct and enum that is reachable from the types, once."""
    seen = set[type]()
    waiting = list(kinds.multi_type_info(types))
    while waiting:
        kind = waiting.pop()
        waiting.extend(_inner(kind))
        if isinstance(kind, kinds.StructType | kinds.EnumType) and kind.cls not in seen:
            seen.add(kind.cls)
            if isinstance(kind, kinds.EnumType) or not is_anonymous(kind):
                yield kind


def _inner(kind: kinds.Type) -> Iterable[kinds.Type]:
    match kind:
        case kinds.StructType(fields=fields):
            return [field.type for field in fields]
        case kinds.UnionType(types=types):
            return types
        case kinds.VarTupleType(item_type=item):
            return [item]
        case kinds.DictType(value_type=value):
            return [value]
        case kinds.Metadata(type=inner):
            return [inner]
        case _:
            return []


def _member(field: kinds.Field, omits_defaults: bool, sent: bool) -> Member:
    default = _default(field)
    optional = not field.required and (default is UNSET or omits_defaults or sent)
    kind = field.type.type if isinstance(field.type, kinds.Metadata) else field.type
    never_null = omits_defaults and default is None
    return Member(
        name=field.encode_name,
        type=_without_null(kind) if never_null else kind,
        optional=optional,
        default=default,
        doc=_field_doc(field.type),
    )


def _default(field: kinds.Field) -> Any:
    """Returns the default as JSON, or UNSET if there is none."""
    if field.default_factory is not NODEFAULT:
        return msgspec.to_builtins(field.default_factory())
    return UNSET if field.default is NODEFAULT else msgspec.to_builtins(field.default)


def _maximum(kind: kinds.Type) -> int | None:
    match kind:
        case kinds.IntType(le=most):
            return most
        case kinds.UnionType(types=types):
            return next((most for each in types if (most := _maximum(each)) is not None), None)
        case kinds.Metadata(type=inner):
            return _maximum(inner)
        case _:
            return None


def _field_doc(kind: kinds.Type) -> str:
    match kind:
        case kinds.Metadata(extra_json_schema={"description": str(text)}):
            return text
        case _:
            return ""


def _without_null(kind: kinds.Type) -> kinds.Type:
    match kind:
        case kinds.UnionType(types=types):
            rest = tuple(each for each in types if not isinstance(each, kinds.NoneType))
            return rest[0] if len(rest) == 1 else kinds.UnionType(rest)
        case _:
            return kind


def _omits_defaults(kind: kinds.StructType) -> bool:
    origin: type[Struct] = get_origin(kind.cls) or kind.cls
    return origin.__struct_config__.omit_defaults


def doc_of(kind: type) -> str:
    """Returns a type's docstring as one line."""
    return " ".join((getdoc(kind) or "").split())
