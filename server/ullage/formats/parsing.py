"""Foreign bytes as JSON values, and foreign values as the types expected of them.

What others wrote may hold anything, so nothing here raises on a wrong shape: the answer is empty instead.
"""

import json
import re
from datetime import UTC, datetime
from typing import Any, cast

from msgspec import Struct

from ullage.model.json_values import JsonObject, as_list, as_object, as_text

# A lone surrogate can only come from such an escape, so that only texts with one are searched for them.
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
# What msgspec, which writes the log, can write.
_LARGEST_INT = 2**63
# Seconds since 1970 stay below this until the year 5138; milliseconds are above it since 1973.
_LARGEST_SECONDS = 100_000_000_000


class Line(Struct, frozen=True, kw_only=True):
    """One non-blank line of a JSONL file: its 1-based number, and its object or why there is none."""

    number: int
    value: JsonObject | None = None
    problem: str = ""
    comment: bool = False


class Document(Struct, frozen=True, kw_only=True):
    """A file's contents: `value` if it is one JSON value, `lines` if it is lines; both if it is a single line.
    `problem` says why it is not one value.

    `run` says which of several conversations in the file is wanted, from 1; None leaves the choice to the reader.
    """

    name: str
    value: Any = None
    problem: str = ""
    lines: tuple[Line, ...] = ()
    run: int | None = None

    @property
    def objects(self) -> list[JsonObject]:
        """The lines that could be read."""
        return [line.value for line in self.lines if line.value is not None]


def parse_document(data: bytes, name: str, run: int | None = None) -> Document:
    """The file as one JSON value or, failing that, as lines. Never raises."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    value, problem = parse_json(data)
    single_line = data.strip().count(b"\n") == 0
    lines = _parse_lines(data) if problem or single_line else ()
    return Document(name=name, value=value, problem=problem, lines=lines, run=run)


def parse_json(data: bytes) -> tuple[Any, str]:
    """A JSON value, or None and what is wrong.

    What could not be written again as JSON is mended: bad UTF-8 and lone surrogates become U+FFFD, NaN and infinities
    null, integers beyond 64 bits floats.
    """
    try:
        value = json.loads(data.decode("utf-8", "replace"), parse_int=_parse_int, parse_constant=lambda _: None)
    except json.JSONDecodeError as error:
        return None, f"not JSON: {error.msg} at character {error.pos}"
    except RecursionError:
        return None, "not JSON: nested too deeply"
    return (_clean_value(value) if _SURROGATE_ESCAPE.search(data) else value), ""


def _parse_int(digits: str) -> int | float:
    number = float(digits)
    return int(digits) if abs(number) < _LARGEST_INT else number


def _parse_lines(data: bytes) -> tuple[Line, ...]:
    return tuple(
        _parse_line(number, raw.strip()) for number, raw in enumerate(data.split(b"\n"), start=1) if raw.strip()
    )


def _parse_line(number: int, raw: bytes) -> Line:
    if raw.startswith(b"//"):
        return Line(number=number, problem="comment", comment=True)
    value, problem = parse_json(raw)
    if not problem and not isinstance(value, dict):
        problem = "not a JSON object"
    return Line(number=number, value=None if problem else as_object(cast("Any", value)), problem=problem)


def clean_text(text: str) -> str:
    """The text with lone surrogates, which no provider accepts, as U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _clean_value(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_clean_value(item) for item in as_list(cast("Any", value))]
    if isinstance(value, dict):
        return {clean_text(key): _clean_value(item) for key, item in as_object(cast("Any", value)).items()}
    return value


def as_count(value: Any) -> int:
    """The value if it is a number of something, otherwise 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        return 0
    return int(value)


def as_timestamp(value: Any) -> int:
    """Unix milliseconds of an ISO 8601 time (UTC where it names no zone) or of Unix seconds; 0 when it is neither."""
    if isinstance(value, int | float):
        number = float(as_count(value)) if isinstance(value, int) else value
        return int(number * 1000) if 0 < number < _LARGEST_SECONDS else as_count(value)
    try:
        moment = datetime.fromisoformat(as_text(value))
    except ValueError:
        return 0
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0, int(moment.timestamp() * 1000))


def to_json(value: Any) -> str:
    """The value as readable one-line JSON."""
    return json.dumps(value, ensure_ascii=False, default=str)
