"""Generates `editors/vscode/src/protocol.gen.ts`: every type on the wire, methods as typed constants, the largest
numbers that params take, and error codes."""

import json
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import get_args

from msgspec import inspect as kinds

from generators import wire
from generators.agent_folders import Names, agent_folders
from ullage.agents.machine import Machine
from ullage.agents.table import AGENTS, agent_called, word_of
from ullage.api.methods import METHODS, NOTIFICATIONS, PREFIXES, settings_schema
from ullage.api.protocol import CLIENT_METHODS, CODES, AnyMethod, ClientMethod

_WIDTH = 120
_PLAIN: Mapping[type[kinds.Type], str] = {
    kinds.NoneType: "null",
    kinds.BoolType: "boolean",
    kinds.IntType: "number",
    kinds.FloatType: "number",
    kinds.StrType: "string",
    kinds.AnyType: "unknown",
}
_HEAD = """\
// Generated from the server's structs by scripts/gen_protocol.py. Do not edit.

/** A request by its name and the types of its params and result. */
export interface Method<P, R> {
  readonly name: string;
  /** Carries the types, is never set. Take params as `NoInfer<P>`, so that the method alone decides what they are. */
  readonly types?: (params: P) => R;
}

/** A notification by its name and the type of its params. */
export interface NotificationMethod<P> {
  readonly name: string;
  /** Carries the type, is never set. */
  readonly types?: (params: P) => void;
}
"""


def typescript() -> str:
    """Returns the whole file."""
    parts = [
        _HEAD,
        *_declarations(),
        *map(_method, (*METHODS, *CLIENT_METHODS)),
        *map(_notification, NOTIFICATIONS),
        _method_names(),
        _settings(),
        _agent_folders(),
        _writable_agents(),
        _maxima(),
        _errors(),
    ]
    return "\n".join(parts)


def _declarations() -> Iterator[str]:
    """Yields the types that have a name, sorted by it."""
    found = {kind.cls.__name__: _declaration(kind) for kind in wire.named_types()}
    found |= {name: _alias(name, (kind.__name__ for kind in get_args(union))) for name, union in wire.UNIONS.items()}
    yield from (found[name] for name in sorted(found))


def _declaration(kind: wire.Named) -> str:
    name, doc = kind.cls.__name__, _comment(wire.doc_of(kind.cls))
    if isinstance(kind, kinds.EnumType):
        return doc + _alias(name, (json.dumps(member.value) for member in kind.cls))
    return doc + _interface(name, wire.members(kind))


def _interface(name: str, members: Iterable[wire.Member]) -> str:
    body = "".join(map(_member, members))
    return f"export interface {name} {{\n{body}}}\n" if body else _alias(name, ["Readonly<Record<string, never>>"])


def _alias(name: str, alternatives: Iterable[str]) -> str:
    words = list(alternatives)
    line = f"export type {name} = {' | '.join(words)};\n"
    if len(line) <= _WIDTH:
        return line
    return f"export type {name} =\n" + "\n".join(f"  | {word}" for word in words) + ";\n"


def _member(member: wire.Member) -> str:
    mark = "?" if member.optional else ""
    default = f"@default {json.dumps(member.default)}" if wire.has_telling_default(member) else ""
    doc = _comment(" ".join(filter(None, (member.doc, default))), "  ")
    return f"{doc}  readonly {member.name}{mark}: {_type(member.type)};\n"


def _type(kind: kinds.Type | str) -> str:
    return kind if isinstance(kind, str) else _PLAIN.get(type(kind)) or _composed(kind)


def _composed(kind: kinds.Type) -> str:
    match kind:
        case kinds.LiteralType(values=values):
            return " | ".join(map(json.dumps, values))
        case kinds.VarTupleType(item_type=item):
            inner = _type(item)
            return f"readonly ({inner})[]" if " | " in inner else f"readonly {inner}[]"
        case kinds.DictType(value_type=value):
            return f"Readonly<Record<string, {_type(value)}>>"
        case kinds.EnumType(cls=cls):
            return cls.__name__
        case kinds.StructType(cls=cls):
            return _inline(kind) if wire.is_anonymous(kind) else cls.__name__
        case kinds.UnionType():
            return " | ".join(map(_type, wire.alternatives(kind)))
        case _:
            raise TypeError(f"no TypeScript for {kind}; add it to {__name__}")


def _inline(kind: kinds.StructType) -> str:
    body = " ".join(_member(member).strip() for member in wire.members(kind))
    return f"{{ {body.removesuffix(';')} }}"


def _method(method: AnyMethod | ClientMethod) -> str:
    is_notified = not isinstance(method, ClientMethod) and method.notification
    kind = "NotificationMethod" if is_notified else "Method"
    types = [method.params.__name__, *([] if is_notified else [method.result.__name__])]
    doc = f"{method.doc} Sent by the server." if isinstance(method, ClientMethod) else method.doc
    return _comment(doc) + _typed_name(method.name, f"{kind}<{', '.join(types)}>")


def _notification(method: str) -> str:
    return _comment("Sent by the server.") + _typed_name(
        method, f"NotificationMethod<{NOTIFICATIONS[method].__name__}>"
    )


def _typed_name(method: str, kind: str) -> str:
    return f"export const {_constant(method)}: {kind} = {{ name: {json.dumps(PREFIXES['lsp'] + method)} }};\n"


def _constant(method: str) -> str:
    """Spells `session/append` as `SessionAppend`, `session/request_permission` as `SessionRequestPermission` and
    `context/givenBack` as `ContextGivenBack`."""
    return "".join(part[:1].upper() + part[1:] for part in method.replace("_", "/").split("/"))


def _method_names() -> str:
    constants = "".join(f"  {_constant(method.name)},\n" for method in METHODS)
    doc = _comment("The names of all methods that the server serves.")
    return f"{doc}export const methodNames: readonly string[] = [\n{constants}].map(({{ name }}) => name);\n"


def _settings() -> str:
    names = "".join(f"  {json.dumps(name)},\n" for name in settings_schema()["properties"])
    doc = _comment("The names of all settings, with dots between the names of nested members.")
    return f"{doc}export const settingNames = [\n{names}] as const;\n"


def _agent_folders() -> str:
    """Returns the folders in which agents keep conversations, by `process.platform`."""
    lines = "".join(
        f"  {system}: [\n{''.join(f'    {json.dumps(place)},' + chr(10) for place in places)}  ],\n"
        for system, places in agent_folders().items()
    )
    doc = _comment("The folders in which agents keep conversations, by `process.platform`.")
    return f"{doc}export const agentFolders: Readonly<Record<string, readonly string[]>> = {{\n{lines}}};\n"


def _writable_agents() -> str:
    """Returns the agents whose sessions can be written, for the commands that make one."""
    agents = [(word_of(agent), agent.name, _settings_folders(word_of(agent))) for agent in AGENTS if agent.writer]
    lines = "".join(
        f"  {{ word: {json.dumps(word)}, agent: {json.dumps(name)}, folders: {json.dumps(folders)} }},\n"
        for word, name, folders in agents
    )
    doc = _comment(
        "The agents whose sessions can be written. `word` is the agent's name in commands. The first of `folders` "
        "whose variables are set holds its settings."
    )
    kind = "readonly { readonly word: string; readonly agent: string; readonly folders: readonly string[] }[]"
    return f"{doc}export const writableAgents: {kind} = [\n{lines}];\n"


def _settings_folders(word: str) -> list[str]:
    """Returns the folders that an agent may have for its settings, on every system. They begin with `~` or with an
    environment variable, these first."""
    agent = agent_called(word)
    if agent is None or agent.wiring is None:
        raise SystemExit(f"{word}: it is not known where this agent has its settings")
    path = agent.wiring.files[0].path
    variables: tuple[Mapping[str, str], ...] = (Names(), {})
    machines = (Machine(system="linux", home="~", variables=named) for named in variables)
    return list(dict.fromkeys(path(machine).rpartition("/")[0] for machine in machines))


def _maxima() -> str:
    lines = "".join(
        f"  {struct}: {{ {', '.join(f'{name}: {most}' for name, most in limits.items())} }},\n"
        for struct, limits in wire.maxima().items()
    )
    doc = _comment("The largest number that the server accepts, by the type of the params and the name of the member.")
    return f"{doc}export const maxima = {{\n{lines}}} as const;\n"


def _errors() -> str:
    codes = "".join(f"  {kind.__name__}: {code},\n" for kind, code in CODES.items())
    doc = _comment("The JSON-RPC code of every error by its `data.kind`.")
    return (
        f"{doc}export const errorCodes = {{\n{codes}}} as const;\n\n"
        + _comment("The `data.kind` of an error that this version of the protocol knows.")
        + "export type ErrorKind = keyof typeof errorCodes;\n"
    )


def _comment(text: str, indent: str = "") -> str:
    if not text:
        return ""
    if len(text) + len(indent) + len("/**  */") <= _WIDTH:
        return f"{indent}/** {text} */\n"
    lines = textwrap.wrap(text, _WIDTH - len(indent) - len(" * "))
    return f"{indent}/**\n" + "".join(f"{indent} * {line}\n" for line in lines) + f"{indent} */\n"
