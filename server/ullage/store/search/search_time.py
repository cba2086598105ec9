"""Reads the time words of a question: "yesterday", "last week", "in March", "two days ago", "on Tuesday".

They say when a message was written, in the zone of the user. So they are not looked for as words, and messages of that
time are preferred; others are found, too.
"""

import re
from datetime import datetime, timedelta

from msgspec import Struct

_NUMBERS = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
}
_MONTHS = [
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
]
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_MONTH = "|".join(_MONTHS)
_TIME = re.compile(
    r"\b(?:"
    r"(?P<named>the day before yesterday|yesterday|today|this (?:morning|afternoon)|tonight|last night)"
    rf"|(?P<count>\d{{1,3}}|{'|'.join(_NUMBERS)}) (?P<unit>hour|day|week|month|year)s? ago"
    rf"|(?:in|over|within|during) the (?:last|past) (?P<recent>\d{{1,3}}|{'|'.join(_NUMBERS)}) "
    r"(?P<recent_unit>hour|day|week|month|year)s?"
    r"|(?P<which>this|last) (?P<span>week|month|year)"
    rf"|(?:on|last|this) (?P<day>{'|'.join(_DAYS)})"
    rf"|(?:on |since )?(?:the )?(?P<date>\d{{4}}-\d\d-\d\d)"
    rf"|(?:on )?(?:the )?(?P<number>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<of>{_MONTH})\b,?(?: (?P<in>(?:19|20)\d\d))?"
    rf"|on (?P<of_us>{_MONTH}) (?P<number_us>\d{{1,2}})(?:st|nd|rd|th)?\b,?(?: (?P<in_us>(?:19|20)\d\d))?"
    rf"|(?:in|last|early in|late in) (?P<month>{_MONTH})\b,?(?: (?:of )?(?P<year>(?:19|20)\d\d))?"
    r")\b",
    re.IGNORECASE,
)
# Days that a unit of "ago" is about.
_DAYS_OF = {"day": 1, "week": 7, "month": 30, "year": 365}


class Span(Struct, frozen=True):
    """A stretch of time, from `start` to `stop` (excluded), in Unix milliseconds."""

    start: int
    stop: int

    def has(self, time: int) -> bool:
        """Returns whether a time in Unix milliseconds is in the stretch."""
        return self.start <= time < self.stop


def read_time(text: str, now: datetime) -> tuple[str, Span | None]:
    """Returns a question without its first time words, and the time that they mean as seen from `now`, which must have
    a zone; the question as it is and None if it has none. A month without a year is the last one that has begun."""
    match = _TIME.search(text)
    if match is None:
        return text, None
    found = {name.removesuffix("_us"): value.lower() for name, value in match.groupdict().items() if value is not None}
    span = _span(found, now)
    if span is None:
        return text, None
    start, stop = (int(one.timestamp() * 1000) for one in span)
    return f"{text[: match.start()]} {text[match.end() :]}", Span(start, stop)


def _span(found: dict[str, str], now: datetime) -> tuple[datetime, datetime] | None:
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    match found:
        case {"named": name}:
            span = _day(today, {"yesterday": 1, "last night": 1, "the day before yesterday": 2}.get(name, 0))
        case {"unit": unit, "count": count}:
            span = _ago(_number(count), unit, now, today)
        case {"recent_unit": unit, "recent": count}:
            one = timedelta(hours=1) if unit == "hour" else timedelta(_DAYS_OF[unit])
            span = now - _number(count) * one, now + timedelta(1)
        case {"span": unit, "which": which}:
            span = _calendar(unit, 1 if which == "last" else 0, today)
        case {"day": day}:
            # The same day of the week as today means a week ago: of today one says "today".
            span = _day(today, (today.weekday() - _DAYS.index(day) - 1) % 7 + 1)
        case _:
            try:
                span = _dated(found, today)
            except ValueError:
                # No such day, as 31 June.
                span = None
    return span


def _day(today: datetime, back: int) -> tuple[datetime, datetime]:
    return today - timedelta(back), today - timedelta(back - 1)


def _ago(count: int, unit: str, now: datetime, today: datetime) -> tuple[datetime, datetime]:
    """Returns the stretch around a time so long ago: of an hour or a day itself, of longer units half a unit around."""
    if unit == "hour":
        middle = now - timedelta(hours=count)
        return middle - timedelta(hours=1), middle + timedelta(hours=1)
    days = _DAYS_OF[unit]
    middle = today - timedelta(min(count * days, 36_500))
    return middle - timedelta(days // 2), middle + timedelta(1 + days // 2)


def _calendar(span: str, back: int, today: datetime) -> tuple[datetime, datetime]:
    """Returns the week (from Monday), month or year that is running, or the one before it if `back` is 1."""
    if span == "week":
        start = today - timedelta(today.weekday() + 7 * back)
        return start, start + timedelta(7)
    if span == "year":
        return today.replace(year=today.year - back, month=1, day=1), today.replace(
            year=today.year - back + 1, month=1, day=1
        )
    return _month(today.year, today.month - back, today)


def _dated(found: dict[str, str], today: datetime) -> tuple[datetime, datetime]:
    if date := found.get("date"):
        start = datetime.fromisoformat(date).replace(tzinfo=today.tzinfo)
        return start, start + timedelta(1)
    month = _MONTHS.index(found.get("of") or found["month"]) + 1
    year = found.get("in") or found.get("year")
    start, stop = _month(int(year) if year else today.year - (month > today.month), month, today)
    if "number" in found:
        start = start.replace(day=int(found["number"]))
        stop = start + timedelta(1)
    return start, stop


def _month(year: int, month: int, today: datetime) -> tuple[datetime, datetime]:
    if month == 0:
        year, month = year - 1, 12
    start = today.replace(year=year, month=month, day=1)
    return start, (start + timedelta(31)).replace(day=1)


def _number(word: str) -> int:
    return int(word) if word.isdigit() else _NUMBERS[word]
