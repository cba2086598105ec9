"""The state of a reader as bytes, so that another process can read a file on from where this one has come.

A reader is a plain object with a builder and helpers, some of which share objects: an answer's place is known to its
children. So the state is the graph of these objects, with each one written once. Nothing of it is run when it is read:
only classes of readers and values that are loaded already are made, without a call of their constructors.
"""

import io
import pickle
import sys
from collections import Counter, deque
from collections.abc import Iterator
from enum import Enum, IntEnum
from typing import Any, cast

import msgspec
from msgspec import Struct

from ullage.model.json_values import as_object

# Where the classes of readers, builders and values are.
_PACKAGES = ("ullage.agents.", "ullage.formats.", "ullage.model.")
_SCALARS = frozenset({str, int, float, bool, bytes, type(None)})
_TEXT = frozenset({str})


class _Kind(IntEnum):
    """What a node of the graph is: a list that begins with its kind. A text or a number is its own node."""

    SEEN = 0
    LIST = 1
    TUPLE = 2
    DICT = 3
    # A dict whose keys are texts and whose values are no nodes.
    FLAT = 4
    SET = 5
    FROZEN_SET = 6
    DEQUE = 7
    STRUCT = 8
    OBJECT = 9
    ENUM = 10
    COUNTER = 11
    BYTES = 12


_OF_ITEMS: dict[type, _Kind] = {
    list: _Kind.LIST,
    tuple: _Kind.TUPLE,
    set: _Kind.SET,
    frozenset: _Kind.FROZEN_SET,
    deque: _Kind.DEQUE,
}
_OF_KINDS = {kind: known for known, kind in _OF_ITEMS.items()}


def write_state(reader: object, builder: object, new: object) -> bytes | None:
    """Returns the state of a reader and its builder, or None if something in it can't be written: a function, an open
    file, or an object of another package. `new` is a new reader of the same kind."""
    try:
        roots = [builder, reader, *(getattr(reader, name) for name in _helpers(new, builder))]
        writer = _Writer(roots)
        nodes = [{name: writer.node(value) for name, value in _attributes(root).items()} for root in roots]
        kinds = [type(root).__qualname__ for root in roots]
        return msgspec.msgpack.encode((kinds, writer.classes, nodes))
    except (TypeError, ValueError, AttributeError, OverflowError, RecursionError):
        # msgspec refuses half surrogate pairs, and integers of more than 64 bits.
        return None


def read_state(state: bytes, new: object, builder: object) -> bool:
    """Gives a new reader and its builder the state that `write_state` has written. Returns False, and they are not to
    be used, if the bytes are of no such reader, or of one whose classes have changed or are not loaded."""
    roots = [builder, new, *(getattr(new, name) for name in _helpers(new, builder))]
    try:
        kinds, names, nodes = msgspec.msgpack.decode(state, type=tuple[list[str], list[str], list[dict[str, Any]]])
        if kinds != [type(root).__qualname__ for root in roots]:
            return False
        known = _Reader(roots, [_class(name) for name in names])
        for root, attributes in zip(roots, nodes, strict=True):
            if attributes.keys() != _attributes(root).keys():
                return False
            vars(root).update({name: known.value(node) for name, node in attributes.items()})
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, RecursionError, msgspec.DecodeError):
        return False
    return True


def copy_state(reader: object, builder: object, new: object, new_builder: object) -> bool:
    """Gives a new reader and its builder the state of another one of the same kind, in this process. A third of
    the time of `write_state` and `read_state`. Returns False, and they are not to be used, if something in it can't be
    copied."""
    helpers = _helpers(new, new_builder)
    roots = [builder, reader, *(getattr(reader, name) for name in helpers)]
    copies = [new_builder, new, *(getattr(new, name) for name in helpers)]
    written = io.BytesIO()
    try:
        _Pickler(written, roots).dump([_attributes(root) for root in roots])
        written.seek(0)
        states = _Unpickler(written, copies).load()
    except (TypeError, ValueError, AttributeError, RecursionError, pickle.PickleError):
        return False
    for copy, attributes in zip(copies, states, strict=True):
        vars(copy).update(attributes)
    return True


def _root(place: int) -> object:
    """Stands for the copy of a root in a pickle."""
    raise ValueError(place)


class _Pickler(pickle.Pickler):
    """Writes roots that the state refers to as their places."""

    def __init__(self, written: io.BytesIO, roots: list[Any]) -> None:
        super().__init__(written, pickle.HIGHEST_PROTOCOL)
        self._places = {id(root): place for place, root in enumerate(roots)}

    def reducer_override(self, obj: Any) -> Any:
        place = self._places.get(id(obj))
        return NotImplemented if place is None else (_root, (place,))


class _Unpickler(pickle.Unpickler):
    """Reads what `_Pickler` has just written, with copies in place of the roots."""

    def __init__(self, written: io.BytesIO, copies: list[Any]) -> None:
        super().__init__(written)
        self._copies = copies

    def find_class(self, module: str, name: str) -> Any:
        return self._copies.__getitem__ if name == _root.__name__ else super().find_class(module, name)


def _helpers(new: object, builder: object) -> list[str]:
    """Returns the names of the attributes in which a new reader has its helpers, other than a builder. Its tables of
    functions may be bound to these, so they are given their states, and are not replaced."""
    found = ((name, value) for name, value in vars(new).items() if hasattr(value, "__dict__"))
    return [name for name, value in found if type(value) is not type(builder)]


def _attributes(root: object) -> dict[str, Any]:
    """Returns the attributes of an object without its tables of functions, which a new one has, too."""
    return {name: value for name, value in vars(root).items() if not _is_table(value)}


def _is_table(value: Any) -> bool:
    functions = as_object(value).values()
    return bool(functions) and all(map(callable, functions))


class _Writer:
    def __init__(self, roots: list[Any]) -> None:
        self.classes: list[str] = []
        self._numbers: dict[type, int] = {}
        # The nodes that were written, by the identity of their objects, which live as long as the roots.
        self._seen = {id(root): number for number, root in enumerate(roots)}

    def node(self, value: Any) -> Any:  # noqa: PLR0911 - one for each kind
        """Returns a value as a node. Raises `TypeError` if it can't be one."""
        known = cast("type[Any]", type(value))
        if known in _SCALARS:
            return value
        if (number := self._seen.get(id(value))) is not None:
            return [_Kind.SEEN, number]
        self._seen[id(value)] = len(self._seen)
        if kind := _OF_ITEMS.get(known):
            return [kind, *map(self.node, value)]
        if known is bytearray:
            return [_Kind.BYTES, bytes(value)]
        if known is Counter:
            return [_Kind.COUNTER, {**value}]
        if known is dict:
            return self._dict(value)
        if issubclass(known, Struct):
            return [_Kind.STRUCT, self._class(known), *(self.node(getattr(value, name)) for name in _fields(known))]
        if issubclass(known, Enum):
            return [_Kind.ENUM, self._class(known), value.value]
        attributes = cast("dict[str, Any]", vars(value))
        return [_Kind.OBJECT, self._class(known), *self._pairs(attributes)]

    def _dict(self, value: dict[Any, Any]) -> list[Any]:
        if _TEXT.issuperset(map(type, value)) and _SCALARS.issuperset(map(type, value.values())):
            return [_Kind.FLAT, value]
        return [_Kind.DICT, *self._pairs(value)]

    def _pairs(self, value: dict[Any, Any]) -> Iterator[Any]:
        for key, one in value.items():
            yield self.node(key)
            yield self.node(one)

    def _class(self, known: type) -> int:
        if known not in self._numbers:
            name = f"{known.__module__}:{known.__qualname__}"
            if _class(name) is not known:
                raise TypeError(f"{name} is not found by its name")
            self._numbers[known] = len(self.classes)
            self.classes.append(name)
        return self._numbers[known]


class _Reader:
    def __init__(self, roots: list[Any], classes: list[type[object]]) -> None:
        self._classes = classes
        self._seen = [*roots]

    def value(self, node: Any) -> Any:
        """Returns the value of a node. Raises what `read_state` catches if the node is damaged."""
        if not isinstance(node, list):
            return node
        kind, *rest = cast("list[Any]", node)
        if kind == _Kind.SEEN:
            return self._seen[rest[0]]
        place = len(self._seen)
        self._seen.append(None)
        if kind == _Kind.LIST:
            items = self._seen[place] = list[Any]()
            items.extend(map(self.value, rest))
            return items
        if kind in (_Kind.DICT, _Kind.FLAT):
            pairs = self._seen[place] = dict[Any, Any]()
            pairs.update(rest[0] if kind == _Kind.FLAT else self._pairs(rest))
            return pairs
        if kind == _Kind.OBJECT:
            one = self._seen[place] = object.__new__(self._class(rest[0]))
            vars(one).update(self._pairs(rest[1:]))
            return one
        self._seen[place] = self._made_at_once(kind, rest)
        return self._seen[place]

    def _made_at_once(self, kind: int, rest: list[Any]) -> Any:
        """Returns a value that is made of its parts: none of these has it."""
        if kind in _OF_KINDS:
            return _OF_KINDS[_Kind(kind)](map(self.value, rest))
        if kind in (_Kind.COUNTER, _Kind.BYTES):
            return Counter[Any](rest[0]) if kind == _Kind.COUNTER else bytearray(rest[0])
        known = self._class(rest[0])
        if kind == _Kind.ENUM and issubclass(known, Enum):
            return known(rest[1])
        if kind == _Kind.STRUCT and issubclass(known, Struct):
            return known(**dict(zip(_fields(known), map(self.value, rest[1:]), strict=True)))
        raise ValueError(f"no such kind of node: {kind}")

    def _pairs(self, rest: list[Any]) -> Iterator[tuple[Any, Any]]:
        values = map(self.value, rest)
        return zip(values, values, strict=True)

    def _class(self, number: int) -> type[object]:
        return self._classes[number]


def _fields(known: type[Struct]) -> tuple[str, ...]:
    return known.__struct_fields__


def _class(name: str) -> type[object]:
    """Returns the class with this name. Raises `ValueError` if it is not loaded, or is not of a reader's packages."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module) if module.startswith(_PACKAGES) else None
    for part in path.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type) or found.__module__ != module:
        raise ValueError(f"{name} is not a class of a reader")
    return cast("type[object]", found)
