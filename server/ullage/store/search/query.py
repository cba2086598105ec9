"""Reads a user's or a model's question as a query of the index.

A query has the question's words and names, their other forms and spellings, and what the question asks for besides its
words: whose message, a time or a number.

Time words ("yesterday", "last week", "in March", "two days ago", "on Tuesday") say when a message was written, in the
zone of the user. So they are not looked for as words, and messages of that time are preferred; others are found, too.

Other forms are those of the same word ("bought" for "buy", "planning" for "plan"), and for a word that the archive does
not know, those that it may be mistyped for ("exeption"). Only forms that the index has are searched, so a word that is
spelt right is never taken for another one.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from string import ascii_lowercase
from unicodedata import normalize

from msgspec import Struct, field
from msgspec.structs import replace

from ullage.model.errors import InvalidRequest
from ullage.model.expressions import expression
from ullage.model.message import Role
from ullage.store.search.word_index import Counts, Name, WordIndex, fold, joined_names, places, plain_name, stem
from ullage.store.tables.session_table import storable

# More words make a search slow and no better.
MAX_WORDS = 40
# Words that are frequent in questions and rare in answers. They are left out as long as other words remain.
_ASKING_WORDS = """
    a about after again all also am an and any are as at be been before being but by can could did do does doing
    done earlier else find for from get give had has have he her him his how i if in into is it its just like many me
    mention mentioned more most my no not now of off on once only or other our out over please previously
    remember said same say see seen she should show so some still such tell than that the their them then there
    these they thing this those to too under until up us use very was we well were what when where which while
    who why will with would you your
"""
_ASKING = frozenset(_ASKING_WORDS.split())
# Words of the longest name that is searched in other spellings.
_LONGEST_NAME = 5
# Fewer characters begin too many words to mean one of them.
_SHORTEST_BEGINNING = 4


class Span(Struct, frozen=True):
    """A stretch of time, from `start` to `stop` (excluded), in Unix milliseconds."""

    start: int
    stop: int

    def has(self, time: int) -> bool:
        """Returns whether a time in Unix milliseconds is in the stretch."""
        return self.start <= time < self.stop


class Query(Struct, frozen=True):
    """What a search looks for: the `stems` of words, whole `names` in lower case, the `beginnings` of words and names
    that are nowhere as they were given, the `pairs` of stems that were neighbours, all words of the text in their
    order (`phrase`; empty for one word), and what is `quoted` in it, of several words. `variants` are other stems that
    count as one of `stems`. `named` says whether it was given a whole name. `speaker` is whose words are asked for and
    `span` when they were written, None if the query does not say; `asks_time` and `asks_number` say whether a time or a
    number is asked for."""

    stems: tuple[str, ...]
    names: tuple[str, ...] = ()
    beginnings: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    phrase: tuple[str, ...] = ()
    quoted: tuple[str, ...] = ()
    named: bool = False
    speaker: Role | None = None
    span: Span | None = None
    asks_time: bool = False
    asks_number: bool = False
    variants: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


_QUOTED = expression(r'["\u201c\u201e\u00ab]([^"\u201c\u201d\u201e\u00ab\u00bb]{2,200})["\u201d\u201c\u00bb]')


def plain(text: str) -> str:
    """Returns a text as quotations are compared: in lower case, without accents, with one blank between words."""
    return " ".join(fold(text).lower().split())


def written_forms(text: str) -> list[set[str]]:
    """Returns for each word of a query its stem and, if it is written with accents, the word, in small letters."""
    given = text.lower().split()
    return [{one, *(word for word in given if plain(word).startswith(one))} for one in read_query(text).stems]


def read_query(text: str, known: Callable[[str], bool] = lambda _: True, now: datetime | None = None) -> Query:
    """Returns the query for a user's or a model's text, in which no character is syntax.

    Question words are left out if other words remain, and at most `MAX_WORDS` words are used. Raises `InvalidRequest`
    if the text has no word.

    `known` says whether a token of the index, a stem or a whole name, is anywhere. A name that is nowhere is searched
    in other spellings (`parseConfig`, `parse_config`, `parse-config`, `parseconfig`), and a name or word that is
    nowhere as a beginning. With `now`, time words ("yesterday") give the query its `span` and are left out if other
    words remain.
    """
    rest, span = read_time(text, now) if now else (text, None)
    given = _names(rest)
    if all(map(_is_asking, given)):
        given = _names(text)
    if not given:
        raise InvalidRequest(f"nothing to search for in {text!r}: give at least one word")
    names = ([name for name in given if not _is_asking(name)] or given)[:MAX_WORDS]
    parts = [part for name in names for part in name.parts][:MAX_WORDS]
    # A name may hold such words, too: those of `scrollIntoView` are "scroll" and "view".
    words = [part for part in parts if part not in _ASKING] or parts
    spelt = [whole for name in names for whole in _spellings(name, known)]
    if 1 < len(parts) <= _LONGEST_NAME and not any(name.wholes for name in names):
        # Words may be a name as it is spoken.
        spelt += joined_names(tuple(parts))
    stems = tuple(dict.fromkeys(map(stem, words)))
    spoken = [part for name in given for part in name.parts]
    return Query(
        stems=stems,
        names=tuple(dict.fromkeys([*(plain_name(name.wholes[0]) for name in names if name.wholes), *spelt])),
        beginnings=tuple(dict.fromkeys(beginning for name in names for beginning in _beginnings(name, known))),
        pairs=tuple(
            dict.fromkeys(pair for pair in pairwise(map(stem, parts)) if pair[0] in stems and pair[1] in stems)
        ),
        phrase=tuple(spoken) if 1 < len(spoken) <= MAX_WORDS else (),
        quoted=tuple(_quoted(text)),
        named=any(name.wholes for name in names),
        speaker=asked_speaker(text),
        span=span,
        asks_time=asks_time(text),
        asks_number=asks_number(text),
    )


def _quoted(text: str) -> Iterator[str]:
    """Yields what stands in double quotes and is more than a word; scripts without spaces have no words."""
    for found in _QUOTED.findall(text):
        said = plain(found)
        if " " in said or not said.isascii():
            yield said


def query_tokens(text: str) -> Iterator[str]:
    """Yields the tokens of the index that a text's names and words are, most of those that `read_query` asks for."""
    given = _names(text)
    for name in ([name for name in given if not _is_asking(name)] or given)[:MAX_WORDS]:
        yield from name.wholes
        yield from map(stem, name.parts)


def _names(text: str) -> list[Name]:
    return [place.name for place in places(fold(storable(text))) if place.name.parts]


def _is_asking(name: Name) -> bool:
    return len(name.parts) == 1 and name.parts[0] in _ASKING


def _spellings(name: Name, known: Callable[[str], bool]) -> Iterable[str]:
    """Returns other spellings of a name that is nowhere. A plain word may be a name without its humps."""
    if not name.wholes:
        return () if known(stem(name.parts[0])) else joined_names(name.parts)[:1]
    alike = len(name.parts) <= _LONGEST_NAME and not known(name.wholes[0])
    return joined_names(name.parts) if alike else ()


def _beginnings(name: Name, known: Callable[[str], bool]) -> Iterator[str]:
    """Yields the name or word if it is nowhere: it may be the beginning of one."""
    if name.wholes:
        if not known(name.wholes[0]):
            yield plain_name(name.wholes[0])
    elif len(name.parts[0]) >= _SHORTEST_BEGINNING and not known(stem(name.parts[0])):
        yield name.parts[0]


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
_TIME = expression(
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


# "Can you list": the one who is asked to search, not the one who spoke.
_REQUEST = expression(
    r"\b(?:can|could|would|will|do) you (?!say|tell|suggest|recommend|propose|give|mention|write)[a-z]+", re.IGNORECASE
)
# The word is `I`, not `i` as in "i, j" or "for i in"; `me` is in every "show me".
_ASKS_USER = expression(r"\bI\b(?![,.)\]]?\s*(?:,|=|in\b))|\b(?:[Mm]y|[Mm]ine|[Mm]yself|i'(?:m|ve|d|ll))\b")
_ASKS_AGENT = expression(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)
# Who spoke, in "what did I ask you" and "what did the assistant answer": the subject, not the others that are named.
_SUBJECT_USER = expression(r"\b(?:did|have|had) (?:I|i|the user)\b")
_SUBJECT_AGENT = expression(r"\b(?:did|have|has|had) (?:you|the (?:agent|assistant|model|ai))\b", re.IGNORECASE)
# "Did you do what I wanted" asks for both.
_WANTED = expression(r"\bwhat (?:I|you)\b")

_ASKS_TIME = expression(
    r"\bwhen\b|\b(?:what|which) (?:date|day|week|month|year|time)\b|\bhow long ago\b", re.IGNORECASE
)
_ASKS_NUMBER = expression(r"\bhow (?:many|much|long|often|old|far|fast|large|big)\b", re.IGNORECASE)
_SAYS_TIME = expression(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|since|recently|\d+(?:st|nd|rd|th)|(?:19|20)\d\d"
    r"|(?:last|next|this|past) (?:\w+ )?(?:night|week|weekend|month|year|spring|summer|autumn|fall|winter)"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|days?|weeks?|months?|years?"
    r"|january|february|march|april|june|july|august|september|october|november|december)\b",
    re.IGNORECASE,
)
_SAYS_NUMBER = expression(
    r"\b(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|dozen|hundred|thousand|once|twice|several|few|couple)\b",
    re.IGNORECASE,
)
# A log of a talk names who speaks at the beginning of a turn ("Maria: I am back").
_LABEL = expression(r"([A-Z][\w .-]{0,30}):\s")


def asked_speaker(query: str) -> Role | None:
    """Returns the role whose messages a query asks for: the user's for `I` and `my`, the agent's for `you` and `your`
    where they are not part of a request ("can you list …"). Of both, the one that is the subject ("did I ask you").
    Returns None if it has neither, or both alike."""
    text = _REQUEST.sub(" ", query.replace("\u2019", "'"))
    subjects = _SUBJECT_USER.search(text) is not None, _SUBJECT_AGENT.search(text) is not None
    user, agent = _ASKS_USER.search(text) is not None, _ASKS_AGENT.search(text) is not None
    if subjects[0] != subjects[1] and not _WANTED.search(text):
        user, agent = subjects
    if user == agent:
        return None
    return Role.USER if user else Role.ASSISTANT


def asks_time(query: str) -> bool:
    """Returns whether a query asks when something was."""
    return _ASKS_TIME.search(query) is not None


def asks_number(query: str) -> bool:
    """Returns whether a query asks how many or how much."""
    return not asks_time(query) and _ASKS_NUMBER.search(query) is not None


def says_time(text: str) -> bool:
    """Returns whether a text names a time, a date or a span of days."""
    return _SAYS_TIME.search(text) is not None


def says_number(text: str) -> bool:
    """Returns whether a text has a number in digits or words, not in a name before a colon at its beginning."""
    return _SAYS_NUMBER.search(text, len(speaker_label(text))) is not None


def speaker_label(text: str) -> str:
    """Returns the speaker with which a text begins ("Maria" in "Maria: I am back"), or ""."""
    match = _LABEL.match(text)
    return match[1] if match else ""


# English words whose forms do not begin alike, as grammars list them; those that every question has are missing.
_IRREGULAR = """
    go went gone going | buy bought | bring brought | build built | break broke broken | begin began begun
    become became | choose chose chosen | catch caught | draw drew drawn | drive drove driven | eat ate eaten
    fall fell fallen | feel felt | fight fought | fly flew flown | forget forgot forgotten | freeze froze frozen
    grow grew grown | hear heard | hide hid hidden | hold held | keep kept | know knew known | lead led | leave left
    lend lent | lose lost | make made making | mean meant | meet met | pay paid | ride rode ridden | rise rose risen
    run ran | sell sold | send sent | shake shook shaken | shoot shot | sing sang sung | sit sat | sleep slept
    speak spoke spoken | spend spent | stand stood | steal stole stolen | swim swam swum | take took taken taking
    teach taught | think thought | throw threw thrown | understand understood | wake woke woken | wear wore worn
    win won | write wrote written writing | bind bound | bend bent | feed fed | lay laid | lie lay
    rebuild rebuilt | rewrite rewrote rewritten | rerun reran | child children | person people | man men
    woman women | life lives | wife wives | foot feet | tooth teeth | mouse mice | index indices indexes
    matrix matrices | vertex vertices | analysis analyses | hypothesis hypotheses
"""
_GROUPS = [tuple(map(stem, words.split())) for line in _IRREGULAR.splitlines() for words in line.split("|")]
# Fewer letters are like too many words.
_SHORTEST_MISTYPED = 5
_LONGEST_MISTYPED = 20
# Mistyped words of a query that are looked for: each takes some milliseconds.
_MOST_MISTYPED = 3
# Letters at the beginning of a word within which any single change is tried; a change after them is looked for among
# the words that begin with them: so many are read.
_HEAD = 3
_MOST_READ = 3_000
# Words that one is taken for.
_MOST_MEANT = 3


def with_variants(connection: WordIndex, query: Query, counts: Counts) -> Query:
    """Returns the query with the other forms of its words that the index has, and for at most `_MOST_MISTYPED` words
    that are nowhere and that begin no word, with the words that one change of a letter makes of them."""
    forms = {word: tuple(forms_of(word)) for word in query.stems}
    counts.load(form for word, others in forms.items() for form in (word, *others))
    found = {word: tuple(filter(counts.has, others)) for word, others in forms.items()}
    nowhere = [word for word in query.stems if not (found[word] or counts.has(word)) and _may_be_mistyped(word)]
    alike = _alike(connection, nowhere) if nowhere else {}
    counts.load(one for words in alike.values() for one in words)
    for word, words in alike.items():
        found[word] = tuple(sorted(words, key=lambda one: (-counts.of(one), one))[:_MOST_MEANT])
    return replace(query, variants={word: others for word, others in found.items() if others})


def forms_of(word: str) -> Iterator[str]:
    """Yields the stems of a word's other forms, from its own stem."""
    yield from dict.fromkeys(form for group in _GROUPS if word in group for form in group if form != word)
    if len(word) >= 3 and word.isalpha():
        if word[-1] == word[-2]:
            yield word[:-1]
        elif word[-1] not in "aeiouwxy" and word[-2] in "aeiou":
            yield word + word[-1]
    others = (normalize("NFKC", word), word.translate(_WIDE), *_other_letters(word))
    yield from (form for form in dict.fromkeys(others) if form != word)


# Letters and digits as wide as Chinese ones, which keyboards of East Asia also type (Unicode, U+FF01 to U+FF5E).
_WIDE = {narrow: narrow + 0xFEE0 for narrow in range(0x21, 0x7F)}


# Letters that are written for others: Turkish has an `i` without a dot, and capitals become small letters by the rules
# of English; German has an `ß`, for which Switzerland, capitals and many keyboards have `ss`; a stroke is no accent
# that `fold` could leave out.
_LETTERS = (("ı", "i"), ("ß", "ss"), ("ł", "l"), ("ø", "o"), ("đ", "d"))


def _other_letters(word: str) -> Iterator[str]:
    """Yields the stems that a word may have in other letters, or if it begins with a capital, from its own stem."""
    # The stem of a word in `ss` has lost one.
    if word.endswith("s"):
        yield f"{word[:-1]}ß"
    if word.endswith("ß"):
        yield f"{word[:-1]}s"
    for pair in _LETTERS:
        for one, other in (pair, pair[::-1]):
            yield word.replace(one, other)
            if word.startswith(one):
                yield other + word[len(one) :]


def _may_be_mistyped(word: str) -> bool:
    return _SHORTEST_MISTYPED <= len(word) <= _LONGEST_MISTYPED and word.isascii() and word.isalpha()


def _alike(connection: WordIndex, words: Sequence[str]) -> dict[str, set[str]]:
    """Returns for the first `_MOST_MISTYPED` words that begin no word of the index the words of the index that
    differ from it by one letter that is missing, one too many or another one, or by two letters in the wrong order."""
    begun = connection.words_beginning(words, 1)
    mistyped = [word for word, longer in zip(words, begun, strict=True) if not longer][:_MOST_MISTYPED]
    if not mistyped:
        return {}
    heads = {word: {one for one in _changed(word, 0, _HEAD) if not one.startswith(word[:_HEAD])} for word in mistyped}
    known = connection.known_words({one for words in heads.values() for one in words})
    read = connection.words_beginning([word[:_HEAD] for word in mistyped], _MOST_READ)
    return {
        word: heads[word] & known | set(_changed(word, _HEAD, len(word))).intersection(after)
        for word, after in zip(mistyped, read, strict=True)
    }


def _changed(word: str, first: int, last: int) -> Iterator[str]:
    """Yields the word with each single change at the letters `first` to `last`."""
    for at in range(first, last + 1):
        head, tail = word[:at], word[at:]
        if tail:
            yield head + tail[1:]
            yield from (head + letter + tail[1:] for letter in ascii_lowercase)
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        yield from (head + letter + tail for letter in ascii_lowercase)
