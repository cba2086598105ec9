"""The index of words: what a search needs of a database, what it has of a message, which chunk each row is, and how the
index is filled.

A chunk is small enough that a single line of it has weight. Tokens are whole names, and the stems of the words that
names consist of. A name is what a programmer would select by a double click or a little more: `parseConfig`,
`max_tokens`, `dry-run`, `a.b.c`, `src/app/main.py`. Its path segments and dotted members are names, too. The index
holds names and words, so that a whole name can weigh more than its words, and its words find the name as well.

A row is a chunk of a message. The first chunk of a message has its record's id, so that rows need no table and their
ids differ by little, which makes the index small. The further chunks of long messages have ids from `WordIndex.further`
on, in the order of their indexing. The index is filled from the log in steps, so that appending costs nothing for it.

What a search asks for several times, it asks for together, because each statement that goes to a server takes time. An
expression is `"token"`, `"beginning" *` for all tokens that begin so, or several of these joined by `AND` and `OR`,
with brackets: the syntax of SQLite's FTS5 (https://www.sqlite.org/fts5.html#full_text_query_syntax).

The table of vectors is here, too: the embeddings of chunks, by the model that made them. It is a cache: the oldest go.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from itertools import accumulate, chain
from typing import Any, Protocol, cast
from unicodedata import normalize

from msgspec import Struct

from ullage.agents.inserted import typed_instead
from ullage.model.events import MessageAppended
from ullage.model.expressions import expression
from ullage.model.message import Block, Message, ResourceBlock, TextBlock, ToolResultBlock, ToolUseBlock
from ullage.service.ports.store import ChunkId
from ullage.store.tables.session_table import Connection, decode_event, event_name, lineage, marks, storable, unpacked

# Characters of one block that are indexed, half from its head and half from its tail. This covers everything that a
# tool usually returns, while a pasted log of megabytes neither doubles the store nor stalls the search that indexes it.
BLOCK_CHARS = 524_288
# Characters of a chunk. BM25 weighs a word by its share of the row, and in a row of this length a few lines still have
# a share that counts.
CHUNK_CHARS = 2_000


def message_text(message: Message) -> str:
    """Returns the searchable text of a message: its texts, what the user typed for them (`typed_instead`), tool inputs,
    tool results and resources. Of a block with more than `BLOCK_CHARS` characters only the beginning and the end are
    included."""
    return "\n".join(text for block in message.content if (text := _bounded(_block_text(block))))


def chunks(text: str) -> Iterator[tuple[int, int]]:
    """Yields start and stop of a text's chunks: about `CHUNK_CHARS` characters, in whole lines if possible."""
    start = 0
    while start < len(text):
        stop = start + CHUNK_CHARS
        if stop < len(text):
            # A chunk is at least half full, however long the lines are.
            line = text.rfind("\n", start + CHUNK_CHARS // 2, stop)
            stop = line + 1 if line >= 0 else stop
        yield start, min(stop, len(text))
        start = stop


def _bounded(text: str) -> str:
    if len(text) <= BLOCK_CHARS:
        return text
    half = BLOCK_CHARS // 2
    return f"{text[:half]}\n{text[-half:]}"


def _block_text(block: Block) -> str:
    match block:
        case TextBlock():
            return "\n".join(filter(None, (typed_instead(block), block.text)))
        case ToolUseBlock():
            return "\n".join((block.name, *_leaves(block.input)))
        case ToolResultBlock():
            return "\n".join(_block_text(part) for part in block.content)
        case ResourceBlock():
            return "\n".join((block.uri, block.text or ""))
        case _:
            return ""


def _leaves(value: Any) -> Iterator[str]:
    """Yields the values in a tool's input as text, without the keys. Keys repeat with every call and would outweigh the
    values. However deep the input is nested, this must not fail: no session could be searched any more."""
    waiting = [value]
    while waiting:
        next_value = waiting.pop()
        if isinstance(next_value, dict):
            waiting += reversed([*cast("dict[str, Any]", next_value).values()])
        elif isinstance(next_value, list):
            waiting += reversed(cast("list[Any]", next_value))
        elif isinstance(next_value, str | int | float) and not isinstance(next_value, bool):
            yield str(next_value)


# Each is a word of its own.
_EMOJI = "\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
_TOKEN = expression(rf"\w+(?:(?:[./\\@-]|::)\w+)*|[{_EMOJI}]")
_SEGMENT = expression(r"[/\\]")
_MEMBER = expression(r"[.@]|::")
_PLAIN = expression(r"[a-z]+|[A-Z][a-z]*")
_HASH = expression(r"(?=.*\d)(?=.*[a-f])[0-9a-f]{6,}")
_ACCENT = expression("[\u0300-\u036f]+")
# Chinese, Japanese and Korean are written without spaces: each character is a word, and neighbours are a phrase.
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
# "HTTPServer" is http server, "sha256" is sha 256; letters beyond ASCII count as lower case.
_PART = expression(rf"[{_CJK}{_EMOJI}]|[A-Z]+(?![^\W\d_A-Z{_CJK}])|[A-Z]?[^\W\d_A-Z{_CJK}]+|[A-Z]+|\d+")
# FTS5's tokenizer cuts at ASCII punctuation and nowhere else (https://www.sqlite.org/fts5.html#ascii_tokenizer), so
# private-use characters replace the characters that join a name.
_JOINTS = str.maketrans({joint: chr(0xE000 + number) for number, joint in enumerate("_./\\:@-")})
_UNJOINED = {ord(mark): chr(joint) for joint, mark in _JOINTS.items()}
# Ends a name, so that no name is a word: `runtest` as a name is not the word.
_END = "\ue0ff"
# Longer names are data (base64, minified code), whose parts are not worth searching for.
_MAX_NAME = 200

# Tokens whose names or stems are kept: few are in most of the text. Each takes up to half a kilobyte.
_CACHED = 16_384


class Name(Struct, frozen=True):
    """A token of a text as the index has it. `wholes`: its whole names, the token itself first, empty for a plain word.
    `parts`: the words that it consists of, in lower case."""

    wholes: tuple[str, ...]
    parts: tuple[str, ...]


class Place(Struct, frozen=True):
    """A token of a text and its position in the text, `start` to `stop` (excluded)."""

    name: Name
    start: int
    stop: int


def places(text: str, wanted: re.Pattern[str] | None = None) -> Iterator[Place]:
    """Yields the tokens of a text with their positions, in order; if `wanted` is given, those in which it is found."""
    for match in _TOKEN.finditer(text):
        if wanted is None or wanted.search(match[0]):
            yield Place(read_name(match[0]), match.start(), match.end())


def index_tokens(text: str) -> frozenset[str]:
    """Returns the tokens by which the index finds a text: its whole names, and the stems of all its words."""
    return frozenset(chain.from_iterable(map(_tokens_of, set(_TOKEN.findall(fold(text))))))


@lru_cache(maxsize=_CACHED)
def _tokens_of(token: str) -> tuple[str, ...]:
    name = read_name(token)
    return *name.wholes, *map(stem, name.parts)


def fold(text: str) -> str:
    """Returns the text without accents on its letters, which a user may leave out."""
    if text.isascii():
        return text
    return normalize("NFC", _ACCENT.sub("", normalize("NFD", text)))


@lru_cache(maxsize=_CACHED)
def read_name(token: str) -> Name:
    """Returns the whole names and the words of one token. Results are cached."""
    if _PLAIN.fullmatch(token):
        return Name((), (token.lower(),))
    if len(token) > _MAX_NAME:
        return Name((), tuple(part[:_MAX_NAME] for part in re.split(r"[\W_]+", token.lower()) if part))
    segments = _SEGMENT.split(token)
    members = [member for segment in segments for member in _MEMBER.split(segment) if member]
    wholes = dict.fromkeys(whole for whole in (token, *segments, *members) if "_" in whole or len(_parts(whole)) > 1)
    parts = (part.lower() for member in members for part in _parts(member))
    return Name(tuple(whole_token(whole.lower()) for whole in wholes), tuple(parts))


def joined_names(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Returns names of these words: without joints (or humps), and with those that programmers use."""
    return tuple(dict.fromkeys(joint.join(parts) for joint in ("", "_", "-")))


def whole_token(name: str) -> str:
    """Returns the token by which the index finds a whole name, given in lower case."""
    return name.translate(_JOINTS) + _END


def plain_name(token: str) -> str:
    """Returns the name, in lower case, whose token this is."""
    return token.removesuffix(_END).translate(_UNJOINED)


def part_at(text: str, start: int) -> int:
    """Returns the end of the word that begins at `start`, `start` if none does."""
    match = _PART.match(text, start)
    return match.end() if match else start


@lru_cache(maxsize=_CACHED)
def stem(word: str) -> str:
    """Returns a word without its most common English endings."""
    if not word.isalpha():
        return word
    for ending in ("ings", "ing", "ied", "ies", "ed", "es", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _parts(name: str) -> list[str]:
    return [name] if _HASH.fullmatch(name) else _PART.findall(name)


# Bytes of records that one step indexes. Making words of them takes some tens of milliseconds, outside of the
# transaction; writing takes a few, so that no append waits long.
STEP_BYTES = 200_000
_MESSAGE = event_name(MessageAppended)
# The last record of a session that is indexed: a fork's inherited ones are indexed with its parent.
_SEEN = "CASE WHEN indexed_position < fork_position THEN fork_position ELSE indexed_position END"
# Vectors that a store keeps: 80 MB with 1,536 bytes each. A search needs some tens.
MOST_VECTORS = 50_000


class WantedRows(Struct, frozen=True):
    """Rows that match an expression, with ids from `first` to `last`, both included: the newest `limit`, or all if it
    is None. About `expected` rows match the expression."""

    expression: str
    first: int
    last: int
    limit: int | None
    expected: int


class WordIndex(Connection, Protocol):
    """A connection to a database with an index of words, with a transaction open."""

    @property
    def further(self) -> int:
        """The first id of a row that is not the first chunk of a message. Ids of records are smaller."""
        ...

    def further_rows(self, count: int, /) -> int:
        """Returns the first of so many new ids in a row, of rows that are not the first chunk of a message."""
        ...

    def insert_rows(self, rows: Sequence[tuple[int, int, str]], /) -> None:
        """Writes rows: their ids, their messages' record ids, and their tokens joined by spaces."""
        ...

    def delete_rows(self, rows: Sequence[tuple[int, str]], /) -> None:
        """Deletes rows: their ids, and the tokens with which they were written."""
        ...

    def has_row(self, row_id: int, /) -> bool: ...

    def row_lengths(self, row_ids: Sequence[int], /) -> dict[int, int]:
        """Returns the numbers of these rows' tokens, by the rows' ids."""
        ...

    def rows(self) -> int:
        """Returns about how many rows there are."""
        ...

    def last_record(self) -> int:
        """Returns the highest id of a record, or 0."""
        ...

    def find_rows(self, wanted: Sequence[WantedRows], /) -> list[list[int]]:
        """Returns the ids of each of the wanted rows, the newest first."""
        ...

    def count_rows(self, tokens: Sequence[str], /) -> list[int]:
        """Returns about how many rows have each of the tokens."""
        ...

    def known_words(self, words: Iterable[str], /) -> frozenset[str]:
        """Returns those of the words that are a token of some row."""
        ...

    def words_beginning(self, beginnings: Sequence[str], limit: int, /) -> list[list[str]]:
        """Returns at most `limit` tokens for each beginning, in order. Some may be of deleted rows alone."""
        ...

    def count_matches(self, expressions: Sequence[str], most: int, /) -> list[int]:
        """Returns how many rows match each of the expressions, `most` at most."""
        ...


class IndexTransactions(Protocol):
    """Transactions on an index of words. Any thread may begin one."""

    def reading(self) -> AbstractContextManager[WordIndex]:
        """Returns a transaction in which all reads see one state."""
        ...

    def writing(self) -> AbstractContextManager[WordIndex]:
        """Returns a transaction that writes to the index. No other one writes to it meanwhile."""
        ...


class Counts:
    """The numbers of rows that have tokens, for one search."""

    def __init__(self, connection: WordIndex) -> None:
        self._connection = connection
        self._known: dict[str, int] = {}

    def load(self, tokens: Iterable[str]) -> None:
        """Asks for those of the tokens that are not known yet, together."""
        asked = [token for token in dict.fromkeys(tokens) if token not in self._known]
        if asked:
            self._known.update(zip(asked, self._connection.count_rows(asked), strict=True))

    def of(self, token: str) -> int:
        """Returns about how many rows have a token."""
        self.load((token,))
        return self._known[token]

    def has(self, token: str) -> bool:
        return self.of(token) > 0


def read_message(payload: bytes) -> Message:
    """Returns the message in the payload of a `message_appended` record."""
    event = decode_event(payload)
    assert isinstance(event, MessageAppended)
    return event.message


def chunk_tokens(payload: bytes) -> list[str]:
    """Returns the tokens of each chunk of a message, joined by spaces, from its record's payload."""
    text = message_text(read_message(payload))
    return [" ".join(sorted(index_tokens(storable(text[start:stop])))) for start, stop in chunks(text)]


def insert_rows(connection: WordIndex, messages: Iterable[tuple[int, Sequence[str]]]) -> None:
    """Writes rows for messages: record's ids with their chunks' tokens. Needs a write transaction."""
    made = [*messages]
    further = {record_id: len(tokens) - 1 for record_id, tokens in made if len(tokens) > 1}
    first = connection.further_rows(sum(further.values())) if further else 0
    firsts = dict(zip(further, accumulate(further.values(), initial=first), strict=False))
    connection.executemany(
        "INSERT INTO message_chunks (first_row, record_id, chunks) VALUES (?, ?, ?)",
        [(firsts[record_id], record_id, count) for record_id, count in further.items()],
    )
    ids = {one: (one, *range(firsts.get(one, 0), firsts.get(one, 0) + further.get(one, 0))) for one, _ in made}
    connection.insert_rows(
        [
            (row_id, record_id, one)
            for record_id, tokens in made
            for row_id, one in zip(ids[record_id], tokens, strict=False)
        ]
    )


def drop_rows(connection: WordIndex, record_ids: Sequence[int]) -> None:
    """Deletes the rows and vectors of the messages in the records with these ids, which must still be there: the index
    has no text of its own, so the tokens to delete are made of the record again."""
    for record_id in record_ids:
        connection.execute("DELETE FROM vectors WHERE record_id = ?", (record_id,))
        if not connection.has_row(record_id):
            continue
        (payload,) = connection.execute("SELECT payload FROM records WHERE record_id = ?", (record_id,)).fetchone()
        ids = rows_of(connection, record_id)
        connection.delete_rows([*zip(ids, chunk_tokens(payload), strict=True)])
        connection.execute("DELETE FROM message_chunks WHERE record_id = ?", (record_id,))


def rows_of(connection: WordIndex, record_id: int) -> list[int]:
    """Returns the ids of the rows of an indexed message, in the order of its chunks."""
    found = connection.execute(
        "SELECT first_row, chunks FROM message_chunks WHERE record_id = ?", (record_id,)
    ).fetchone()
    first, further = found or (connection.further, 0)
    return [record_id, *range(first, first + further)]


def chunks_of(connection: WordIndex, row_ids: Sequence[int]) -> list[tuple[int, int]]:
    """Returns for each row the id of its record, and the number of the chunk in it, from 0."""
    found = {row_id: (row_id, 0) for row_id in row_ids if row_id < connection.further}
    further = [row_id for row_id in row_ids if row_id >= connection.further]
    if further:
        before = "SELECT {} FROM message_chunks c WHERE c.first_row <= w.row_id ORDER BY c.first_row DESC LIMIT 1"
        rows = connection.execute(
            f"WITH wanted (row_id) AS (VALUES {marks(further, '(?)')}) "
            f"SELECT row_id, ({before.format('record_id')}), row_id - ({before.format('first_row')}) + 1 FROM wanted w",
            further,
        )
        found |= {row_id: (record_id, chunk) for row_id, record_id, chunk in rows}
    return [found[row_id] for row_id in row_ids]


# A record's id, and the tokens of each chunk of its message.
_Tokens = tuple[int, Sequence[str]]


class _Pending(Struct, frozen=True):
    """A session of whose own records the `left` ones after `position` are not indexed yet."""

    session_id: str
    position: int
    left: int


class _Part(Struct, frozen=True):
    """The messages of a session's pending records up to and including `position`, as they are indexed, and the bytes of
    these records."""

    pending: _Pending
    position: int
    messages: Sequence[_Tokens]
    size: int


def index_some(transactions: IndexTransactions, session_id: str | None) -> int:
    """Indexes some of the records that a search of the session, or of all sessions if it is None, would read. Returns
    the number of records left, 0 once the index is complete."""
    with transactions.reading() as connection:
        parts = _read_step(connection, _pending(connection, session_id))
    if not parts:
        return 0
    with transactions.writing() as connection:
        for part in parts:
            taken = connection.execute(
                # Another process may have done the same step in the meantime, or deleted the session.
                f"UPDATE sessions SET indexed_position = ? WHERE session_id = ? AND {_SEEN} = ?",
                (part.position, part.pending.session_id, part.pending.position),
            )
            if taken.rowcount:
                insert_rows(connection, part.messages)
        return sum(session.left for session in _pending(connection, session_id))


def _pending(connection: WordIndex, session_id: str | None) -> list[_Pending]:
    """Returns the sessions with records that are not indexed, of all sessions or of one and its ancestors. An inherited
    record is indexed with the session that it was written in."""
    rows = connection.execute(
        "SELECT session_id, seen, newest FROM ("
        f"    SELECT session_id, {_SEEN} AS seen,"
        "        (SELECT max(position) FROM records WHERE session_id = s.session_id) AS newest FROM sessions s"
        ") AS found WHERE seen < newest"
    )
    sessions = [_Pending(owner, seen, last - seen) for owner, seen, last in rows]
    if session_id is None:
        return sessions
    wanted = {span.session_id for span in lineage(connection, session_id)}
    return [session for session in sessions if session.session_id in wanted]


def _read_step(connection: WordIndex, pending: Sequence[_Pending]) -> Sequence[_Part]:
    """Returns what one step indexes: of as many sessions as have about `STEP_BYTES`. Looking for pending sessions takes
    as long as there are sessions, so a step for each of many small ones would take longer and longer."""
    parts: list[_Part] = []
    room = STEP_BYTES
    for session in pending:
        if room <= 0:
            break
        parts.append(_read_part(connection, session, room))
        room -= parts[-1].size
    return parts


def _read_part(connection: WordIndex, pending: _Pending, room: int) -> _Part:
    records = connection.execute(
        "SELECT record_id, position, event, payload FROM records WHERE session_id = ? AND position > ? "
        "ORDER BY position",
        (pending.session_id, pending.position),
    )
    messages: list[_Tokens] = []
    seen, reached = 0, pending.position
    for record_id, position, event, payload in records:
        reached = position
        # A step takes as long as the texts are.
        unpacked_payload = unpacked(payload)
        seen += len(unpacked_payload)
        if event == _MESSAGE:
            messages.append((record_id, chunk_tokens(unpacked_payload)))
        if seen >= room:
            break
    return _Part(pending, reached, messages, seen)


def load_vectors(connection: Connection, model: str, chunks: Iterable[ChunkId]) -> dict[ChunkId, bytes]:
    """Returns the kept vectors of these chunks."""
    wanted = [*chunks]
    if not wanted:
        return {}
    rows = connection.execute(
        f"WITH wanted (record_id, chunk) AS (VALUES {marks(wanted, '(?, ?)')}) "
        "SELECT v.record_id, v.chunk, v.vector FROM wanted w JOIN vectors v "
        "ON v.record_id = w.record_id AND v.chunk = w.chunk AND v.model = ?",
        [*(value for one in wanted for value in one), model],
    )
    return {(record_id, chunk): bytes(vector) for record_id, chunk, vector in rows}


def save_vectors(
    connection: Connection, model: str, vectors: Mapping[ChunkId, bytes], most: int = MOST_VECTORS
) -> None:
    """Keeps vectors, in place of earlier ones of the same chunks, and drops the oldest above `most`. A message that was
    deleted meanwhile gets none. The caller must hold a write transaction."""
    connection.executemany(
        "DELETE FROM vectors WHERE record_id = ? AND chunk = ? AND model = ?", [(*one, model) for one in vectors]
    )
    connection.executemany(
        "INSERT INTO vectors (record_id, chunk, model, vector) "
        "SELECT record_id, ?, ?, ? FROM records WHERE record_id = ?",
        [(chunk, model, vector, record_id) for (record_id, chunk), vector in vectors.items()],
    )
    connection.execute(
        "DELETE FROM vectors WHERE vector_id <= "
        "(SELECT vector_id FROM vectors AS newest ORDER BY vector_id DESC LIMIT 1 OFFSET ?)",
        (most,),
    )
