"""Parses foreign bytes into JSON values, and converts foreign values to the expected types.

Foreign input may contain anything, so no function here but `read_usage` raises on a wrong shape: the result is then
empty.

A provider's usage is converted into the meaning of Anthropic's fields. Anthropic's `input_tokens` exclude the tokens
that the cache served or stored; OpenAI's `prompt_tokens` and `input_tokens` include them. So the size of the whole
prompt can only be computed if the kind of usage is known.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice, takewhile
from typing import Any, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.model.errors import InvalidRequest
from ullage.model.json_values import MOST_LEVELS, JsonObject, as_list, as_object, as_objects, as_text, flatten_depths
from ullage.model.usage import Pass, Usage
from ullage.model.usage_report import billed_passes, cache_writes, count_of, filling_pass

# In parsed JSON a lone surrogate can only come from such an escape, so only input with an escape is searched for one.
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
# msgspec, which writes the log, writes integers of at most 64 bits.
_LARGEST_INT = 2**63
# An integer beyond 64 bits has at least 19 digits in a row. Replacing all digits by one makes such a row easy to find.
_ONE_DIGIT = bytes.maketrans(b"123456789", b"000000000")
_MANY_DIGITS = b"0" * 19
# Unix seconds are smaller than this until the year 5138; Unix milliseconds have been larger since 1973.
_LARGEST_SECONDS = 100_000_000_000


# A number of at least 0 as an integer, 0 for any other value.
as_count = count_of

_AFTER_TORN = re.compile(rb'[^:,\[\s]\s*(\{")')
# In a damaged line, so many places are tried where a whole object may begin: each is parsed, and a line may have many
# megabytes.
_MOST_BEGINS = 20
# How a record begins, and how the last line of a record ends that is written over several lines.
_BEGIN = b'{"'
_END = re.compile(rb'["\]}\w]\s*\}$')
# How a file in UTF-32 or UTF-16 begins: with a byte order mark, or without one with a record.
WIDE = {
    b"\xff\xfe\0\0": "utf-32",
    b"\0\0\xfe\xff": "utf-32",
    b"{\0\0\0": "utf-32-le",
    b"\0\0\0{": "utf-32-be",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
    b"{\0": "utf-16-le",
    b"\0{": "utf-16-be",
}

# What is wrong with an empty document.
EMPTY = "is empty"

# What may be around a record: white space, the NUL characters that a power cut leaves, and the bytes of a byte order
# mark, which files have that were joined.
BLANK = b" \t\n\r\v\f\0\xef\xbb\xbf"


class Line(Struct, frozen=True, kw_only=True):
    """One line of a JSONL file that isn't blank.

    `number` counts from 1. `value` is the line's JSON object, or None with the reason in `problem` and the line itself,
    without its end, in `text`. `comment` marks a line that begins with `//`. `is_copied` marks a line of another
    conversation's file, with which this conversation begins, and `is_cut` a last line without an end, which a program
    may still be writing.
    """

    number: int
    value: JsonObject | None = None
    problem: str = ""
    text: str = ""
    comment: bool = False
    is_copied: bool = False
    is_cut: bool = False


class Document(Struct, frozen=True, kw_only=True):
    """A file that may be a transcript, parsed.

    `value` is set if the file is one JSON value, and `lines` if it isn't; both are set for a single line. `problem`
    says why the file is not one JSON value. `run` is the wanted conversation of several in the file, counted from 1;
    None leaves the choice to the reader. `origin_id` names it by the id that its agent gave it, "" if it is not named.
    `companions` are other files of the same transcript, each with its path
    relative to the file's folder as its name. A folder is a document that has companions only. A SQLite database is a
    document whose lines are rows: `{"table": name, "row": {column: value}}`.
    """

    name: str
    value: Any = None
    problem: str = ""
    lines: tuple[Line, ...] = ()
    run: int | None = None
    origin_id: str = ""
    companions: tuple["Document", ...] = ()

    @property
    def objects(self) -> list[JsonObject]:
        """The JSON objects of the lines that could be parsed, in order."""
        return [line.value for line in self.lines if line.value is not None]


def parse_document(data: bytes, name: str, run: int | None = None) -> Document:
    """Parses a file as one JSON value or, if it isn't one, as lines. A single line is parsed both ways, and the objects
    of an array count as lines, too.

    `name` and `run` are only stored in the document. Never raises: faults are in the `problem` of the document and of
    its lines.
    """
    if encoding := WIDE.get(data[:4]) or WIDE.get(data[:2]):
        # PowerShell 5 writes redirected output so.
        data = data.decode(encoding, "replace").encode()
    data = data.removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        return Document(name=name, problem=EMPTY, run=run)
    value, problem = parse_json(data)
    single_line = data.strip().count(b"\n") == 0
    if (objects := as_objects(value)) and len(objects) == len(value):
        lines = tuple(Line(number=number, value=item) for number, item in enumerate(objects, start=1))
    else:
        lines = parse_lines(data) if problem or single_line else ()
    return Document(name=name, value=value, problem=problem, lines=lines, run=run)


def parse_json(data: bytes) -> tuple[Any, str]:
    """Returns the JSON value and an empty string, or None and the reason why the data could not be parsed. Raises
    nothing.

    Values that msgspec could not write again are replaced: bad UTF-8 and lone surrogates by U+FFFD, NaN and infinities
    by null, integers beyond 64 bits by floats. What is nested in more than `MOST_LEVELS` levels becomes text.
    """
    value, problem = _parse_quickly(data)
    # Hardly any line has as many brackets, so that hardly any is searched.
    if data.count(b"{") + data.count(b"[") > MOST_LEVELS:
        flatten_depths(value)
    return value, problem


def _parse_quickly(data: bytes) -> tuple[Any, str]:
    if _MANY_DIGITS not in data.translate(_ONE_DIGIT):
        try:
            # Five times as fast as the standard library, but it refuses all of these.
            return msgspec.json.decode(data), ""
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass
    return _parse_slowly(data)


def _parse_slowly(data: bytes) -> tuple[Any, str]:
    try:
        # Not strict: a damaged string may contain control characters, such as a line feed, that are not escaped.
        text = data.decode("utf-8", "replace")
        value = json.loads(text, strict=False, parse_int=_parse_int, parse_constant=lambda _: None)
        return (_clean_value(value) if _SURROGATE_ESCAPE.search(data) else value), ""
    except json.JSONDecodeError as error:
        return None, f"not JSON: {error.msg} at character {error.pos}"
    except RecursionError:
        return None, "not JSON: nested too deeply"


def _parse_int(digits: str) -> int | float:
    number = float(digits)
    return int(digits) if abs(number) < _LARGEST_INT else number


def parse_lines(data: bytes, first: int = 1, *, is_text: bool | None = None) -> tuple[Line, ...]:
    """Parses the lines that aren't blank. `first` is the number of the first line. Never raises: faults are in the
    `problem` of each line.

    The lines of a text have no records, although some may look like JSON. `is_text` says that the file is text; None
    means that its first line decides.
    """
    split = data.split(b"\n")
    numbered = [(number, raw) for number, raw in enumerate(split, start=first) if raw.strip(BLANK)]
    lines = (
        ()
        if is_text
        else _joined([line for number, raw in numbered for line in _parse_line(number, raw)], split, first)
    )
    if is_text or (is_text is None and lines and lines[0].value is None):
        return tuple(replace(_parse_record(number, raw), text=_decode(raw)) for number, raw in numbered)
    return lines if data.endswith(b"\n") or not lines else (*lines[:-1], replace(lines[-1], is_cut=True))


def _joined(lines: Sequence[Line], split: Sequence[bytes], first: int) -> tuple[Line, ...]:
    """Returns the lines, with those joined that are one record: a string in it has line feeds that are not escaped.

    `split` are the lines as bytes, the blank ones included, and `first` is the number of the first of them.
    """

    def raw(line: Line) -> bytes:
        return split[line.number - first].strip(BLANK)

    joined: list[Line] = []
    until = 0
    for at, line in enumerate(lines):
        if at < until:
            continue
        if line.problem and raw(line).startswith(_BEGIN):
            rest = takewhile(lambda one: one.problem and not raw(one).startswith(_BEGIN), lines[at + 1 :])
            ends = ((end, one.number) for end, one in enumerate(rest, start=at + 2) if _END.search(raw(one)))
            for end, number in islice(ends, _MOST_BEGINS):
                whole = _parse_record(line.number, b"\n".join(split[line.number - first : number - first + 1]))
                if not whole.problem:
                    line, until = whole, end  # noqa: PLW2901 - the whole record takes the place of its first line
                    break
        joined.append(line)
    return tuple(joined)


def _parse_line(number: int, raw: bytes) -> Iterator[Line]:
    """Yields one parsed line, or several with the same number if the line holds several JSON objects, as two programs
    that write at the same time leave them, or a whole object after a torn one, as a crash does."""
    while raw:
        line = _parse_record(number, raw)
        end = (_end_of_object(raw) or _begin_of_whole(raw)) if line.problem and not line.comment else 0
        yield _parse_record(number, raw[:end]) if end else line
        raw = raw[end:] if end else b""


def _begin_of_whole(raw: bytes) -> int:
    """Returns where the first whole JSON object begins that follows a torn one, or 0 if there is none. An object at the
    place of a value is a part of the torn one."""
    for found in islice(_AFTER_TORN.finditer(raw), _MOST_BEGINS):
        rest = raw[found.start(1) :]
        if not _parse_record(0, rest).problem or _end_of_object(rest):
            return found.start(1)
    return 0


def _end_of_object(raw: bytes) -> int:
    """Returns the number of bytes of the JSON object with which `raw` begins, or 0 if no other object follows it."""
    text = raw.decode("utf-8", "replace")
    begin = len(text) - len(text.lstrip())
    try:
        _, end = json.JSONDecoder().raw_decode(text, begin)
    except (json.JSONDecodeError, RecursionError):
        return 0
    # Bad UTF-8 becomes longer when it is decoded, so its place in the bytes can't be computed.
    head = text[:end].encode("utf-8", "surrogatepass")
    is_object = text[begin:].startswith("{") and text[end:].lstrip().startswith("{")
    return len(head) if is_object and raw.startswith(head) else 0


def _parse_record(number: int, line: bytes) -> Line:
    raw = line.strip(BLANK)
    value, problem = (None, "comment") if raw.startswith(b"//") else parse_json(raw)
    if not problem and not isinstance(value, dict):
        problem = "not a JSON object"
    if problem:
        return Line(number=number, problem=problem, text=_decode(line), comment=problem == "comment")
    return Line(number=number, value=as_object(cast("Any", value)))


def _decode(line: bytes) -> str:
    return line.rstrip(b"\r").decode("utf-8", "replace")


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
    """Returns the value as JSON on one line, not ASCII alone. Values that JSON lacks become their `str`."""
    return json.dumps(value, ensure_ascii=False, default=str)


# A usage has at least one of these fields. Anthropic's and OpenAI's Responses have the first two.
USAGE_FIELDS = ("input_tokens", "output_tokens", "prompt_tokens", "completion_tokens")


def read_usage(given: Any) -> Usage:
    """Returns a reported usage. Raises `InvalidRequest` if no field has a number, or one a negative number."""
    fields = as_object(given)
    counts = [value for name in USAGE_FIELDS if isinstance(value := fields.get(name), int | float)]
    if not counts or min(counts) < 0:
        raise InvalidRequest(
            f"the usage is {given!r:.60}; give the answer's `usage` as the provider has it, with fields such as "
            f"{', '.join(USAGE_FIELDS[:2])} or {', '.join(USAGE_FIELDS[2:4])}"
        )
    return convert_usage(fields)


def convert_usage(raw: Mapping[str, Any]) -> Usage:
    """Converts a provider's usage object to `Usage`, the counts of the request that filled the window. Missing or
    invalid fields count as 0.

    The kind is recognised by the fields. OpenAI's chat (`prompt_tokens`), OpenAI's Responses (`input_tokens_details`)
    and Codex (`cached_input_tokens`) include the cache in the input. Any other usage is read as Anthropic's.
    """
    if "prompt_tokens" in raw:
        # LiteLLM adds Anthropic's fields to a usage of OpenAI's kind, whose `prompt_tokens` still include the cache.
        cached = _cached(raw, "prompt_tokens_details") or as_count(raw.get("cache_read_input_tokens"))
        prompt, answer = as_count(raw.get("prompt_tokens")), as_count(raw.get("completion_tokens"))
        usage = exclude_cache(prompt, answer, cached, as_count(raw.get("cache_creation_input_tokens")))
    elif "input_tokens_details" in raw or "cached_input_tokens" in raw:
        cached = _cached(raw, "input_tokens_details") or as_count(raw.get("cached_input_tokens"))
        usage = exclude_cache(as_count(raw.get("input_tokens")), as_count(raw.get("output_tokens")), cached)
    else:
        usage = _counts(filling_pass(raw))
    # OpenAI's two APIs and Codex each have a field for the reasoning; Anthropic has none.
    details = as_object(raw.get("completion_tokens_details")) or as_object(raw.get("output_tokens_details"))
    reasoning = as_count(details.get("reasoning_tokens")) or as_count(raw.get("reasoning_output_tokens"))
    return replace(usage, reasoning_tokens=min(reasoning, usage.output_tokens)) if reasoning else usage


def _cached(raw: Mapping[str, Any], details: str) -> int:
    return as_count(as_object(raw.get(details)).get("cached_tokens"))


def convert_passes(raw: Mapping[str, Any]) -> tuple[Pass, ...]:
    """Returns the passes of an answer in Anthropic's form that are paid for, where the usage lists them."""
    return tuple(Pass(usage=_counts(one), model=model) for model, one in billed_passes(raw))


def _counts(raw: Mapping[str, Any]) -> Usage:
    written, for_an_hour = cache_writes(raw)
    return Usage(
        input_tokens=as_count(raw.get("input_tokens")),
        output_tokens=as_count(raw.get("output_tokens")),
        cache_read_input_tokens=as_count(raw.get("cache_read_input_tokens")),
        cache_creation_input_tokens=written,
        cache_creation_1h_input_tokens=for_an_hour,
    )


def exclude_cache(prompt: int, output: int, cache_read: int, cache_creation: int = 0) -> Usage:
    """Returns a usage of `prompt` tokens, `cache_read` of them from the cache and `cache_creation` written to it."""
    cache_read = min(cache_read, prompt)
    cache_creation = min(cache_creation, prompt - cache_read)
    return Usage(
        input_tokens=prompt - cache_read - cache_creation,
        output_tokens=output,
        cache_read_input_tokens=cache_read,
        cache_creation_input_tokens=cache_creation,
    )


def usage_in(counts: JsonObject, prompt: str, answer: str, cached: str = "", written: str = "") -> Usage:
    """Returns the usage that a record has under these names. The count of the prompt includes the tokens that came from
    the cache, `cached`, and those that were written to it, `written`."""
    return exclude_cache(*(as_count(counts.get(name)) for name in (prompt, answer, cached, written)))


def usage_beside(counts: JsonObject, prompt: str, answer: str, cached: str, written: str) -> Usage:
    """Returns the usage that a record has under these names. The count of the prompt excludes the tokens of the
    cache."""
    return Usage(
        input_tokens=as_count(counts.get(prompt)),
        output_tokens=as_count(counts.get(answer)),
        cache_read_input_tokens=as_count(counts.get(cached)),
        cache_creation_input_tokens=as_count(counts.get(written)),
    )
