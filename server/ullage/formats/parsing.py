"""Parses foreign bytes into JSON values, and converts foreign values to the expected types.

Foreign input may contain anything, so no function here raises on a wrong shape. The result is then empty.
"""

import json
import re
from datetime import UTC, datetime
from typing import Any, cast

from msgspec import Struct

from ullage.model.json_values import JsonObject, as_list, as_object, as_text

# In parsed JSON a lone surrogate can only come from such an escape, so only input with an escape is searched for one.
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
# msgspec, which writes the log, writes integers of at most 64 bits.
_LARGEST_INT = 2**63
# Unix seconds are smaller than this until the year 5138; Unix milliseconds have been larger since 1973.
_LARGEST_SECONDS = 100_000_000_000


class Line(Struct, frozen=True, kw_only=True):
    """One line of a JSONL file that isn't blank.

    `number` counts from 1. `value` is the line's JSON object, or None with the reason in `problem`. `comment` marks a
    line that begins with `//`.
    """

    number: int
    value: JsonObject | None = None
    problem: str = ""
    comment: bool = False


class Document(Struct, frozen=True, kw_only=True):
    """The contents of a file.

    `value` is set if the file is one JSON value, and `lines` if it isn't; both are set for a single line. `problem`
    says why the file is not one JSON value. `run` is the wanted conversation of several in the file, counted from 1;
    None leaves the choice to the reader.
    """

    name: str
    value: Any = None
    problem: str = ""
    lines: tuple[Line, ...] = ()
    run: int | None = None

    @property
    def objects(self) -> list[JsonObject]:
        """The objects of the lines that could be parsed, in order."""
        return [line.value for line in self.lines if line.value is not None]


def parse_document(data: bytes, name: str, run: int | None = None) -> Document:
    """Parses a file as one JSON value or, if it isn't one, as lines. Never raises."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    value, problem = parse_json(data)
    single_line = data.strip().count(b"\n") == 0
    lines = _parse_lines(data) if problem or single_line else ()
    return Document(name=name, value=value, problem=problem, lines=lines, run=run)


def parse_json(data: bytes) -> tuple[Any, str]:
    """Returns a JSON value with "", or None with the reason why it could not be parsed.

    Values that msgspec could not write again are replaced: bad UTF-8 and lone surrogates by U+FFFD, NaN and infinities
    by null, integers beyond 64 bits by floats.
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
    """Returns the text with U+FFFD for each lone surrogate, because providers refuse them."""
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
    """Returns a finite number of at least 0 as an integer, and 0 for any other value."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        return 0
    return int(value)


def as_timestamp(value: Any) -> int:
    """Returns a time in Unix milliseconds, or 0 if the value is not a time.

    Accepts ISO 8601 (UTC if it names no zone), Unix seconds and Unix milliseconds.
    """
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
    """Returns the value as JSON on one line, with non-ASCII characters unescaped."""
    return json.dumps(value, ensure_ascii=False, default=str)
