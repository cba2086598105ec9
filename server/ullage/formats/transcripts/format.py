"""A transcript format: how its files are recognised, and how they are read, at once or while they are being written;
which conversation of several in a document is read; and the state of a reader as bytes, so that another process can
read a file on from where this one has come.

A reader is a plain object with a builder and helpers, some of which share objects: an answer's place is known to its
children. So the state is the graph of these objects, with each one written once. Nothing in it is run when it is read:
only classes of readers and values that are loaded already are made, without a call of their constructors.
"""

import io
import pickle
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum, IntEnum
from typing import Any, Protocol, TypeVar, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.formats.parsing import Document, Line, parse_json
from ullage.formats.transcripts.builder import ImportedTranscript, SkippedLine, TranscriptBuilder, choose_run
from ullage.model.json_values import JsonObject, as_object

LastLine = TypeVar("LastLine")


class Records(Struct, frozen=True, kw_only=True):
    """The records of one conversation of a document, in the order in which they were written. `skipped` has an entry
    for each other conversation of the document."""

    lines: tuple[Line, ...]
    skipped: tuple[SkippedLine, ...] = ()


def records_of(values: Iterable[JsonObject], skipped: tuple[SkippedLine, ...] = (), first: int = 0) -> Records:
    """Returns these objects as records, numbered from `first`."""
    lines = tuple(Line(number=number, value=value) for number, value in enumerate(values, start=first))
    return Records(lines=lines, skipped=skipped)


class Reader(Protocol):
    """Reads the records of one conversation, one by one, and adds events to the `TranscriptBuilder` that it was made
    with.

    A reader never looks at later records, so reading a file in pieces gives the same events as reading it at once.
    """

    def take(self, record: Line) -> None:
        """Reads the next record. Events that later records may still change, such as an answer that is spread over
        several records, are added later."""
        ...

    def finish(self) -> None:
        """Adds the events that are still held back. No record may follow."""
        ...


class Ends(Protocol):
    """Both ends of a file of records."""

    @property
    def first(self) -> tuple[Line, ...]:
        """The first record, and the one after it that says what the conversation is, if that is near."""
        ...

    def last(self) -> Iterator[bytes]:
        """Yields the lines after `first` that are not blank, the last one first, as far as they are read."""
        ...

    def last_with(self, text: bytes) -> Line | None:
        """Returns the last record that has this text in it, or None."""
        ...


def from_end(lines: Iterator[bytes], decoder: msgspec.json.Decoder[LastLine]) -> Iterator[tuple[LastLine, bytes]]:
    """Yields lines (`Ends.last`), decoded and raw, up to one that is incomplete or of another shape."""
    try:
        for raw in lines:
            yield decoder.decode(raw), raw
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return


class Format(Struct, frozen=True, kw_only=True):
    """A transcript format: how its files are recognised and read.

    - `name`: the name that users give with `--format`.
    - `matches`: returns whether a file has this format, judged by its content alone.
    - `read`: raises `UnreadableTranscript` if the file contains no message, and `InvalidRequest` if it doesn't contain
      the wanted run.
    - `records` and `reader`: set if the format can be read while a program is still writing it.
    - `is_complete`: set if the file can say that the events which the reader holds back are complete. It is called with
      the reader when nothing has been written for a while.
    - `begins_another`: set if a file may hold several conversations, one after the other. It returns whether a line may
      begin another one.
    - `starts_over`: set if the lines of several conversations may come mixed; the reader leaves out the lines of the
      others. It is called with the reader and with further lines, and returns whether these lines may make another
      conversation the file's.
    - `last_answer`: is called with the last lines of a file, and returns the index in them from which a reading shows
      the same last usage as a reading of the whole file; the number of the lines if they don't show it. Without it,
      any last lines do from their first one on.
    - `at_end`: is called with the ends of a file. It returns the model, the ids, the folder and the last usage that a
      reading of the whole file says, without its messages and its title, in a tenth of the time of reading the same
      lines. None if the ends don't show it, or if what follows the usage may count.
    - `window_mark`: what is in each line that says the window, if the agent says it long before the last answer.
    - `may_take_back`: after a user has gone back to an earlier message, the messages after it may return, and the file
      then no longer says that they were left out.
    - `reads_folders`: it also reads a folder, and chooses one of the conversations in it.
    """

    name: str
    matches: Callable[[Document], bool]
    read: Callable[[Document], ImportedTranscript]
    records: Callable[[Document], Records] | None = None
    reader: Callable[[TranscriptBuilder], Reader] | None = None
    is_complete: Callable[[Any], bool] | None = None
    begins_another: Callable[[Line], bool] | None = None
    starts_over: Callable[[Any, Sequence[Line]], bool] | None = None
    last_answer: Callable[[Sequence[Line]], int] | None = None
    at_end: Callable[[Ends], ImportedTranscript | None] | None = None
    window_mark: bytes = b""
    may_take_back: bool = False
    reads_folders: bool = False


def from_last_answer(known: Format, document: Document, heads: int) -> Document:
    """Returns a part of a file with no more of its last lines than its last usage needs. Its first `heads` lines are
    those that the file begins with. There may be no last lines left."""
    if known.last_answer is None:
        return document
    last = document.lines[heads:]
    return replace(document, lines=(*document.lines[:heads], *last[known.last_answer(last) :]))


def incremental(
    name: str,
    matches: Callable[[Document], bool],
    reader: Callable[[TranscriptBuilder], Reader],
    records: Callable[[Document], Records] = lambda document: Records(lines=document.lines),
    *,
    reads_folders: bool = False,
) -> Format:
    """Returns a format that can be read while it is written. Its `read` reads a whole file with `reader`."""

    def read(document: Document) -> ImportedTranscript:
        builder = TranscriptBuilder(name, document.name)
        found = records(document)
        reading = reader(builder)
        for record in found.lines:
            reading.take(record)
        reading.finish()
        for part in found.skipped:
            builder.skip(part.line, part.reason, expected=part.expected, run=part.run)
        return builder.finish()

    return Format(name=name, matches=matches, read=read, records=records, reader=reader, reads_folders=reads_folders)


class OpenReading:
    """A reading of one conversation in a file that a program is still writing. `builder` has what was read so far.

    `may_take_back` is as in `Format`. If `goes_on` is true, the lines that are added to the file are the next records.
    Otherwise the file is read again when it has changed, because its further lines need not be records of the same
    conversation.
    """

    def __init__(
        self,
        known: Format,
        builder: TranscriptBuilder,
        reader: Reader,
        *,
        goes_on: bool,
        records: Sequence[Line] = (),
    ) -> None:
        self.builder = builder
        # Hashes of the records of a database.
        self._taken = [_hash(record) for record in records]
        self.goes_on = goes_on
        self.may_take_back = known.may_take_back
        self.format = known.name
        self._known = known
        self._reader = reader

    def goes_on_with(self, lines: Sequence[Line]) -> bool:
        """Returns whether these lines, which were added to the file, are the next records."""
        begins, starts_over = self._known.begins_another, self._known.starts_over
        if not self.goes_on or (starts_over and starts_over(self._reader, lines)):
            return False
        return not (begins and any(map(begins, lines)))

    def take(self, lines: Sequence[Line], companions: tuple[Document, ...] = ()) -> None:
        """Takes the next lines, and what files beside them say now."""
        if companions and self._known.records:
            lines = self._known.records(Document(name="", lines=tuple(lines), companions=companions)).lines
        for line in lines:
            self._reader.take(line)

    def take_last(self, document: Document) -> bool:
        """Takes what is new in a database's document that has the record of the conversation itself and those of its
        last messages. Returns False, and takes nothing, if records have changed that were complete."""
        known = self._known
        if known.records is None or known.is_complete is None or len(self._taken) < 2:
            return False
        head, *last = known.records(document).lines
        hashes = [_hash(record) for record in last]
        # What the reader holds back may have been written on.
        final = self._taken if self.is_complete else self._taken[:-1]
        after = hashes.index(final[-1]) + 1 if final[-1] in hashes else 0
        if not after or after >= len(final) or final[-after:] != hashes[:after]:
            return False
        if _hash(head) != self._taken[0]:
            self._reader.take(head)
        self.take(last[after:])
        self._taken = [_hash(head), *final[1:], *hashes[after:]]
        return True

    @property
    def is_complete(self) -> bool:
        """Whether the file says that what the reader holds back is complete."""
        return self._known.is_complete is not None and self._known.is_complete(self._reader)

    def ended(self) -> "OpenReading | None":
        """Returns a copy that has added what the reader holds back, as if the file ended here, and with no events but
        those. Returns None if the reader can't be copied."""
        if self._known.reader is None:
            return None
        builder = TranscriptBuilder(self.format, "")
        reader = self._known.reader(builder)
        if not copy_state(self._reader, self.builder, reader, builder):
            return None
        builder.drain()
        reader.finish()
        return OpenReading(self._known, builder, reader, goes_on=False)

    def finish(self) -> None:
        """Adds what the reader holds back. No record may follow."""
        self._reader.finish()

    def state(self) -> bytes | None:
        """Returns what `reading_from` needs to read further lines in another process. Returns None if these would be of
        another conversation, if there are events that are not drained and forgotten, or if it can't be written."""
        if not self.goes_on or self.builder.events or self._known.reader is None:
            return None
        return write_state(self._reader, self.builder, self._known.reader(TranscriptBuilder(self.format, "")))


def open_reading(known: Format, document: Document) -> OpenReading | None:
    """Returns a reading that has taken the document's records. What its reader holds back is not added, because it may
    be incomplete. Returns None if the format can only be read at once."""
    if known.reader is None or known.records is None:
        return None
    records = known.records(document).lines
    builder = TranscriptBuilder(known.name, document.name)
    reader = known.reader(builder)
    for record in records:
        reader.take(record)
    # The lines of the document after the last record, None if that is no line of it.
    last = next((place for place, line in enumerate(reversed(document.lines)) if records and line is records[-1]), None)
    rest = None if last is None else document.lines[len(document.lines) - last :]
    goes_on = rest == () or bool(rest and known.starts_over and not known.starts_over(reader, rest))
    is_database = any("table" in value for value in document.objects[:1])
    return OpenReading(known, builder, reader, goes_on=goes_on, records=records if is_database else ())


def _hash(record: Line) -> int:
    return hash(repr(record.value))


def reading_from(known: Format, state: bytes) -> OpenReading | None:
    """Returns the reading with this state (`OpenReading.state`), to be read on with the next lines. Returns None if it
    is none of this format, or of readers that have changed since."""
    if known.reader is None:
        return None
    builder = TranscriptBuilder(known.name, "")
    reader = known.reader(builder)
    return OpenReading(known, builder, reader, goes_on=True) if read_state(state, reader, builder) else None


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
        writer = _StateWriter(roots)
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
        known = _StateReader(roots, [_class(name) for name in names])
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
    functions may be bound to these, so they are given their states, and are not replaced. A `Counter` has attributes
    of its own, too, but what it holds is no attribute."""
    found = ((name, value) for name, value in vars(new).items() if hasattr(value, "__dict__"))
    return [name for name, value in found if not isinstance(value, type(builder) | Counter)]


def _attributes(root: object) -> dict[str, Any]:
    """Returns the attributes of an object without its tables of functions, which a new one has, too."""
    return {name: value for name, value in vars(root).items() if not _is_table(value)}


def _is_table(value: Any) -> bool:
    functions = as_object(value).values()
    return bool(functions) and all(map(callable, functions))


class _StateWriter:
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
            is_flat = _TEXT.issuperset(map(type, value)) and _SCALARS.issuperset(map(type, value.values()))
            return [_Kind.FLAT, value] if is_flat else [_Kind.DICT, *self._pairs(value)]
        if issubclass(known, Struct):
            values = (self.node(getattr(value, name)) for name in known.__struct_fields__)
            return [_Kind.STRUCT, self._class(known), *values]
        if issubclass(known, Enum):
            return [_Kind.ENUM, self._class(known), value.value]
        return [_Kind.OBJECT, self._class(known), *self._pairs(cast("dict[str, Any]", vars(value)))]

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


class _StateReader:
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
        if kind in _OF_KINDS:
            return _OF_KINDS[_Kind(kind)](map(self.value, rest))
        if kind in (_Kind.COUNTER, _Kind.BYTES):
            return Counter[Any](rest[0]) if kind == _Kind.COUNTER else bytearray(rest[0])
        known = self._class(rest[0])
        if kind == _Kind.ENUM and issubclass(known, Enum):
            return known(rest[1])
        if kind == _Kind.STRUCT and issubclass(known, Struct):
            return known(**dict(zip(known.__struct_fields__, map(self.value, rest[1:]), strict=True)))
        raise ValueError(f"no such kind of node: {kind}")

    def _pairs(self, rest: list[Any]) -> Iterator[tuple[Any, Any]]:
        values = map(self.value, rest)
        return zip(values, values, strict=True)

    def _class(self, number: int) -> type[object]:
        return self._classes[number]


def _class(name: str) -> type[object]:
    """Returns the class with this name. Raises `ValueError` if it is not loaded, or is not of a reader's packages."""
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module) if module.startswith(_PACKAGES) else None
    for part in path.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type) or found.__module__ != module:
        raise ValueError(f"{name} is not a class of a reader")
    return cast("type[object]", found)


class ListedConversation(Struct, frozen=True, kw_only=True):
    """One conversation of a document that holds several, as the document lists it. `updated` is Unix milliseconds or
    any other number that grows with time. `messages` is their number. `is_child` is true for a sub-agent's
    conversation."""

    id: str
    title: str = ""
    updated: float = 0
    messages: int = 0
    is_child: bool = False


def choose(found: Sequence[ListedConversation], document: Document) -> tuple[int, tuple[SkippedLine, ...]]:
    """Returns the index in `found` of the conversation to read, and an entry for each of the others as skipped.

    If the document names none by `origin_id` or `run`, it is the newest: conversations with messages before empty ones,
    a user's own before a sub-agent's. Raises `InvalidRequest` if the document has no conversation with the wanted
    number.
    """
    named = next((at for at, known in enumerate(found) if document.origin_id and known.id == document.origin_id), -1)
    if named >= 0:
        chosen = named
    elif document.run is not None:
        chosen = choose_run([known.messages for known in found], document.run, document.name)
    else:
        rank = [(known.messages > 0, not known.is_child, known.updated) for known in found]
        chosen = max(range(len(found)), key=rank.__getitem__, default=0)
    others = tuple(
        SkippedLine(line=number, reason=f"another conversation: {known.title or known.id}", expected=True)
        for number, known in enumerate(found, start=1)
        if number != chosen + 1
    )
    return chosen, others


def file_named(document: Document, ending: str) -> Document | None:
    """Returns the first companion of a document whose name ends with `ending`, or None."""
    return next((file for file in document.companions if file.name.endswith(ending)), None)


def rows_of(document: Document, table: str) -> list[JsonObject]:
    """Returns the rows of one table of a database, in order, each as an object of columns."""
    return [as_object(value.get("row")) for value in document.objects if value.get("table") == table]


def parsed(text: Any) -> Any:
    """Returns the value of a column: text is parsed as JSON (None if it isn't JSON), any other value stays as it is."""
    return parse_json(text.encode())[0] if isinstance(text, str) else text
