"""Other forms in which an archive may have a query's words: of the same word ("bought" for "buy", "planning" for
"plan"), and for a word that the archive doesn't know, those that it may be mistyped for ("exeption").

Only forms that the index has are searched, so a word that is spelt right is never taken for another one.
"""

from collections.abc import Iterator, Sequence
from string import ascii_lowercase

from msgspec.structs import replace

from ullage.store.search.search_counts import Counts
from ullage.store.search.search_query import Query
from ullage.store.search.search_words import stem
from ullage.store.search.word_index import WordIndex

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
# the words that begin with them, of which so many are read.
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


def _may_be_mistyped(word: str) -> bool:
    return _SHORTEST_MISTYPED <= len(word) <= _LONGEST_MISTYPED and word.isascii() and word.isalpha()


def _alike(connection: WordIndex, words: Sequence[str]) -> dict[str, set[str]]:
    """Returns for the first `_MOST_MISTYPED` of the words that begin no word of the index those of the index that
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
