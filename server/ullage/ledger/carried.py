"""What a context says, asked without a language: by words of any script, by numbers, names and negations.

No list of words decides that something is said. The one here only makes the question stricter: a line that only names a
file, without a word of change, does not say that the file was changed.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

from ullage.agents.tools import strings_in
from ullage.ledger.outline import Line, lines_of
from ullage.ledger.words import folded, negates, parts_of, unmarked, words_in, words_of
from ullage.model.message import (
    CompactionBlock,
    Message,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    render_brought_back,
    render_ledger,
    text_and_resources,
)

# A sentence of fewer words must be there as it is, but for words between them.
_SHORT = 5
# A message of fewer words may be a word of any sentence, so it must stand alone.
NOT_BRIEF = 3
# Words of the longest messages by which a context is judged that has shorter ones. Longer ones are seldom told whole.
_LONGER = 40
# Places between two texts, more than a passage has between two of its words in its clause.
_APART = 6
# Words of a change that was made, of the languages with the most users: whole words, and beginnings of words.
_CHANGE = re.compile(
    r"(?<!\w)(?:add(?:s|ed|ing)|remov(?:es|ed|ing)|replac(?:es|ed|ing)|chang(?:es|ed|ing)|updat(?:es|ed|ing)"
    r"|creat(?:es|ed|ing)|wrote|written|rewrote|rewritten|fix(?:es|ed|ing)|mov(?:es|ed|ing)|renam(?:es|ed|ing)"
    r"|delet(?:es|ed|ing)|extend(?:s|ed|ing)|introduc(?:es|ed|ing)|wired|inserted|dropped|new"
    r"|(?:modif|edited|implement|refactor|rework|convert|extract|simplif|correct|geändert|hinzugefügt|ergänzt|erstellt"
    r"|angelegt|entfernt|gelöscht|ersetzt|umbenannt|behoben|angepasst|ajout|créé|supprim|remplac|renomm|corrig|agreg"
    r"|añad|adicion|cread|criad|elimin|reemplaz|substitu|actualiz|atualiz|aggiunt|rimoss|corrett|aggiorn|измен|добав"
    r"|созда|удал|исправ|обновл|замен|перепис|dodan|zmien|usuni|utworz|ekle|değiştir|oluştur|sil(?:in|di)|toegevoegd"
    r"|gewijzigd|verwijderd|aangemaakt)\w*)(?!\w)"
    r"|[改增删添创建移替]|更新|修复|修正|追加|作成|変更|削除|置換|추가|수정|삭제|생성|변경|เพิ่ม|แก้|ลบ|สร้าง|जोड़|बदल|हटा|أضاف|عدّل|حذف|أنشأ",
    re.IGNORECASE,
)
# What ends a clause, and what begins or ends a quotation.
_QUOTES = r"""["“”„«»‹›`「」『』]|(?<!\w)['’‘]|['’](?!\w)"""
_BREAK = re.compile(rf"([.!?…,。！？]?(?:{_QUOTES})|[,;:!?()\[\]…—–|、，；：。！？（）؟،]|\.(?!\w)|\s-\s)")
_QUOTE = re.compile(_QUOTES)
# A line that does not go on with the sentence of the line before, and the end of a sentence.
_BEGINS = re.compile(r"\s*(?:$|[-+•>#|*]|(?:\d{1,2}|[a-z])[.)]\s)")
_STOPS = re.compile(r"[.!?…。！？]\W*$")
# The label of an item of a list, which says nothing.
_LABELLED = re.compile(r"[\s>*#|-]*(?:\d{1,2}|[a-z])[.):](?!\w)")
# Words before and after a passage, in its clause, that may negate it.
_BEFORE, _AFTER = 3, 2


class Context:
    """The texts of a context, to ask what they say. `ids` are those of its messages. `typed` is what the user has typed
    in the conversation."""

    def __init__(self, messages: Sequence[Message], typed: Sequence[str] = ()) -> None:
        self._words: list[str] = []
        # The numbers of the sentence and of the clause of each word, and the clauses before and after which there is a
        # quotation mark.
        self._sentence, self._sentences = 0, list[int]()
        self._clause, self._clauses = 0, list[int]()
        self._opened, self._closed = set[int](), set[int]()
        # The places of the first word of each line, after the label of an item, and of the last one.
        self._begins, self._ends = set[int](), set[int]()
        self.ids = frozenset(message.id for message in messages)
        texts = [text for message in messages for text in _texts(message)]
        self._prose = [text for message in messages for text in _prose(message)]
        for text in texts:
            for line in folded(text).splitlines():
                self._take(line)
            self._sentence += 1
            # So that no passage goes from one text into the next.
            self._words += ("\n",) * _APART
            self._clauses += (-1,) * _APART
            self._sentences += (-1,) * _APART
        self._places: dict[str, list[int]] = {}
        for place, word in enumerate(self._words):
            self._places.setdefault(word, []).append(place)
        self._text = "\n".join(texts)
        self._typed = typed

    def _take(self, line: str) -> None:
        start = len(self._words)
        # A line goes on with the sentence of the line before, unless it is an item, a heading, a row or empty.
        self._sentence += _BEGINS.match(line) is not None
        for part in parts_of(line):
            pieces = ["", *_BREAK.split(part), ""]
            for begun, said, ended in zip(pieces[:-1:2], pieces[1::2], pieces[2::2], strict=True):
                self._clause += 1
                self._words += words_in(said)
                self._clauses += (self._clause,) * (len(self._words) - len(self._clauses))
                if _QUOTE.search(begun):
                    self._opened.add(self._clause)
                if _QUOTE.search(ended):
                    self._closed.add(self._clause)
            self._sentences += (self._sentence,) * (len(self._words) - len(self._sentences))
            self._sentence += _STOPS.search(part) is not None
        if start < len(self._words):
            is_labelled = _LABELLED.match(line) is not None and start + 1 < len(self._words)
            self._begins.add(start + is_labelled)
            self._ends.add(len(self._words) - 1)

    @cached_property
    def _framed(self) -> tuple[frozenset[int], frozenset[int]]:
        """The places at which what the user typed may begin, and end before: after and before another message, and the
        words that stand at two or more of the longer ones."""
        told = {words for text in self._typed if (words := words_of(text).all)}
        runs = [(at, at + len(words)) for words in told for at in self._runs(words)]
        longer = [(at, end) for at, end in runs if end - at >= NOT_BRIEF]
        before = Counter(self._words[at - 1] for at, _ in longer if at)
        after = Counter(self._words[end] for _, end in longer)
        return (
            frozenset({end for _, end in runs} | {place + 1 for place in self._often(before)}),
            frozenset({at for at, _ in runs} | self._often(after)),
        )

    def _often(self, counts: Counter[str]) -> set[int]:
        return {place for word in counts if counts[word] > 1 and word != "\n" for place in self._places[word]}

    @cached_property
    def is_jumbled(self) -> bool:
        """Whether the context has all words of the user's longer messages, but says fewer than half of these. Then it
        has a message of one word by chance."""
        longer = {text for text in self._typed if NOT_BRIEF <= len(text.split()) <= _LONGER}
        there = [text for text in longer if self._places.keys() >= {*words_of(text).all}]
        return 2 * sum(map(self.says_all, there)) < len(there)

    @cached_property
    def _lines(self) -> list[str]:
        """The lines as `_unmarked` writes them. Few questions are about lines."""
        return [unmarked(line) for line in self._text.splitlines()]

    @cached_property
    def _outlines(self) -> list[list[Line]]:
        """Of each text that was written as prose the lines, each with the lines that it belongs to."""
        return [lines_of(text) for text in self._prose]

    def has_name(self, name: str) -> bool:
        """Returns whether the context has a name, letter for letter, as a word of its own."""
        return bool(name) and re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", self._text) is not None

    def says_changed(self, path: str, names: Collection[str]) -> bool:
        """Returns whether the context says what was changed in a file: the line that names the file, or a line that
        belongs to that one, has a word of change and one of the names that the changes put in or took out. Without such
        names, the word may be in a line that it belongs to. Code in fences only shows how a file looks."""
        suffix, base = "/".join(path.split("/")[-2:]), path.rsplit("/", 1)[-1]
        named = re.compile(rf"(?<![\w.-]){re.escape(suffix)}(?![\w-])|(?<![\w./-]){re.escape(base)}(?![\w-])")
        what = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)")
        for lines in self._outlines:
            for place, line in enumerate(lines):
                if base not in line.text or not named.search(line.text):
                    continue
                entry = [line.text, *(other.text for other in lines[place + 1 :] if place in other.parents)]
                above = [] if names else [lines[parent].text for parent in line.parents]
                told = [named.sub(" ", text) for text in (*entry, *above)]
                if any(_CHANGE.search(text) and what.search(text) for text in told):
                    return True
        return False

    def lines_quoting(self, text: str) -> list[str]:
        """Returns the lines of the context that have a text word for word, in lower case and without the text."""
        quoted = re.compile(rf"(?<!\w){re.escape(unmarked(text))}(?!\w)")
        return [quoted.sub(" ", line) for line in self._lines if quoted.search(line)]

    def says_briefly(self, text: str) -> bool:
        """Returns whether the context says a text of one or two words: as a line or a quotation of its own, or between
        the words between which it puts what the user typed."""
        words = words_of(text).all
        for at in self._runs(words):
            last = at + len(words) - 1
            first_clause, last_clause = self._clauses[at], self._clauses[last]
            opened = first_clause in self._opened and (at == 0 or self._clauses[at - 1] != first_clause)
            closed = last_clause in self._closed and self._clauses[last + 1] != last_clause
            begins = opened or at in self._begins or at in self._framed[0]
            ends = closed or last in self._ends or last + 1 in self._framed[1]
            # Neither the beginning of a quotation nor its end.
            if begins and ends and opened is closed:
                return True
        return False

    def _runs(self, words: tuple[str, ...]) -> Iterator[int]:
        """Yields the places at which these words follow one another."""
        for at in self._places.get(words[0], ()):
            if tuple(self._words[at : at + len(words)]) == words:
                yield at

    def says_all(self, text: str) -> bool:
        """Returns whether the context says every sentence and line of a text."""
        return all(self.says(part) for part in parts_of(text))

    def says(self, sentence: str) -> bool:
        """Returns whether a sentence of the context says a sentence: a passage has its words in their order, but for
        short ones, with at most as many other words between, and no negation that the sentence lacks. Of a sentence of
        few words it has all. A sentence without a word is always said."""
        words = words_of(sentence)
        needed = tuple(word for word in words.all if word in words.needed)
        wanted = needed if needed and len(words.all) >= _SHORT else words.all
        if not wanted:
            return True
        if any(word not in self._places for word in wanted):
            return False
        at = min(range(len(wanted)), key=lambda place: len(self._places[wanted[place]]))
        return any(
            self._sentences[begin] == self._sentences[last] and not self._is_negated(begin, last, words.needed)
            for place in self._places[wanted[at]]
            for begin, last in self._shortest(wanted, at, place, 2 * len(words.all))
        )

    def _shortest(self, words: Sequence[str], at: int, place: int, longest: int) -> Iterator[tuple[int, int]]:
        """Yields the first and the last place of the shortest passage with these words in order, of which the one with
        the index `at` stands at a place, if it is no longer than `longest`."""
        begin = last = place
        for word in reversed(words[:at]):
            places = self._places[word]
            before = bisect_left(places, begin) - 1
            if before < 0 or places[before] <= place - longest:
                return
            begin = places[before]
        for word in words[at + 1 :]:
            places = self._places[word]
            after = bisect_right(places, last)
            if after == len(places) or places[after] >= begin + longest:
                return
            last = places[after]
        yield begin, last

    def _is_negated(self, begin: int, last: int, needed: frozenset[str]) -> bool:
        """Returns whether a passage has a word that negates and that what it says lacks, or stands beside one."""
        around = range(max(0, begin - _BEFORE), min(len(self._words), last + _AFTER + 1))
        own = (self._clauses[begin], self._clauses[last])
        return any(
            (begin <= at <= last or self._clauses[at] in own) and word not in needed and negates(word)
            for at in around
            if (word := self._words[at])
        )


def _prose(message: Message) -> Iterator[str]:
    for block in message.content:
        if isinstance(block, CompactionBlock):
            yield from _told(block)
        elif isinstance(block, TextBlock):
            yield block.text


def _told(block: CompactionBlock) -> Iterator[str]:
    """Yields what a compaction's marker tells, without the line above it, which says nothing of the conversation."""
    yield block.summary
    yield render_ledger(block.ledger, block.summary)
    yield render_brought_back(block.brought_back)


def _texts(message: Message) -> Iterator[str]:
    for block in message.content:
        match block:
            case TextBlock():
                yield block.text
            case ToolResultBlock():
                yield text_and_resources(block.content)
            case ToolUseBlock():
                yield from strings_in(block.input)
            case CompactionBlock():
                yield from _told(block)
            case _:
                pass
