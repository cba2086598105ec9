"""Finds the value of a name such as `DB_PASSWORD`: what programs, files, tables and people write between the two.

Each pattern begins where the name ends. Values are secrets only if `known_words.py` says so; where what stands between
proves little, the value itself has to show more.
"""

import re
from collections.abc import Iterable, Iterator

from ullage.redaction.known_words import is_secret, is_strong, unpunctuated
from ullage.redaction.scan import FewWithin, places_of

# A colour that a terminal shows, or a link.
_COLOUR = r"(?:\x1b\[[\d;]{0,18}m){0,3}"
# A quote, as data within data writes it: escaped, and in the notations of JSON, of addresses and of HTML.
QUOTE = r"(?:\\{0,7}(?:[\"'`]|u002[27])|%2[27]|&(?:quot|apos|#3[49]);)"
# Blanks, also written as escapes, and a line that goes on in the next one.
_BLANK = r"(?:\s|\\{1,3}[nrt]|\\\r?\n)"
# What may be around a literal: the prefix of a string, and a call that takes nothing but it.
_CALL = (
    r"(?:string\(\d{1,5}\)\s)?"
    r"(?:(?:Some|Ok|Just|String|string|str|bytes|\[\]byte|Secret\w{0,10}|Buffer\.from|(?:Os)?String::from)[({]\s{0,40}){0,2}"
)
_QUOTED = rf"{_CALL}[bBrRfFuUN@]?(?P<quote>{QUOTE})(?P<literal>[^\n]{{0,400}}?)(?P=quote)"
_BARE = r"(?P<bare>[^\s\"'`,;)}\]&<>|│\x1b]{4,400})"
# What may end a name: quotes (escaped too), a subscript's bracket, a colour.
_END = rf"{_COLOUR}{QUOTE}?\]?\)?{_COLOUR}"
# A type, the assignment sign, the sign of a block or the name of an anchor in YAML.
_ASSIGNED = re.compile(
    rf"{_END}"
    rf"(?:(?::\s{{0,2}}&?[\w.\[\]|?]{{1,30}}|\s\w{{1,12}}\(\w{{1,5}}\)|\s?\{{[\w; ]{{1,30}}\}})"
    r"(?=\s{1,2}=[^=]|=[^=\s]))?"
    rf"\s{{0,8}}(?P<sign>=>|:=|[:=]=?|[?+]=|%3[ADad]|\\u003[ad]){_COLOUR}{_BLANK}{{0,24}}"
    rf"(?:[>|][-+]?\s+|[&!]\w{{1,30}}\s+)?{_COLOUR}(?:{_QUOTED}|{_BARE})"
)
# The only one of a list, or what a map or a change has after an arrow.
_ALONE = re.compile(rf"{_END}\s{{0,3}}(?:=>|[:=])\s{{0,3}}\[\s{{0,3}}{_QUOTED}\s{{0,3}}\]")
_ARROW = re.compile(rf"{_END}\s{{0,4}}(?:[-~]>|→)\s{{0,4}}{_QUOTED}")
_CALLED = re.compile(
    r"\\{0,3}[\"'],\s{0,3}\\{0,3}(?P<quote>[\"'])(?P<literal>[^\"'\n\\]{4,400})\\{0,3}(?P=quote)(?!\s{0,3}[:,])"
)
# What a program takes if the name has no value.
_OTHERWISE = re.compile(
    rf"{_END}(?:\s{{0,2}}(?:\?\?|\|\||\bor\b|\?:)\s{{0,2}}|\.\w{{1,24}}\(){_CALL}\\{{0,3}}[\"'`](?P<literal>[^\n\"'`\\]{{4,400}})"
    r"\\{0,3}[\"'`](?!\s{0,3}:)"
)
# One key has the name, and another the value; a few may be between them.
_KEY = r"\\{0,3}[\"']?"
_LISTED = re.compile(
    rf"{_KEY}(?:\\n|[:,;{{\s]){{1,40}}(?:{_KEY}\w{{1,20}}{_KEY}\s{{0,8}}[:=]\s{{0,3}}{_KEY}[\w.-]{{0,40}}{_KEY}(?:\\n|[,;\s]){{1,40}}){{0,3}}"
    rf"{_KEY}(?:\w{{0,20}}value|default){_KEY}\s?[:=]\s{{0,3}}{_KEY}(?P<literal>[^\s\"',;}}\\]{{4,400}})",
    re.IGNORECASE,
)
_ELEMENT = re.compile(
    r"(?:[\"']?\s{0,3}>|</\w{1,20}>\s{0,20}<\w{1,20}(?:\s[^<>\n]{0,80})?>)(?:\s{0,3}<\w{1,12}>)?\s{0,3}(?P<literal>[^<\s]{4,400})\s{0,3}</"
    r"|[\"']\s{1,20}(?:\w{1,20}=[\"'][\w.-]{0,40}[\"']\s{1,4}){0,3}value=[\"'](?P<literal2>[^\"'<\s]{4,400})",
    re.IGNORECASE,
)
ARGUMENT = re.compile(
    r"[= ](?:\s|\\\r?\n[ \t]{0,24})?"
    r"(?:(?P<quote>[\"'])(?P<literal>[^\"'\n]{4,400})(?P=quote)|(?P<bare>[^\s\"'|;&-][^\s\"'|;&]{3,400}))"
)
_SPOKEN = re.compile(
    r"(?: (?:for|of|d[aeou]|del|van|für) [\w@.-]{1,40}(?: [\w@.-]{1,40})?)?"
    r"(?: (?:changed|reset|rotated|updated)(?: from \S{1,60})?)?"
    r" (?:is|was|to|are|ist|lautet|est|es|è|é)(?: now)?:?"
    r"\s{1,6}[\"'`(]?(?P<bare>[^\s\"'`,;)]{6,400})"
)
_SET = re.compile(r"\w{0,20}\s{1,4}(?P<bare>(?![=_-]{3})[A-Za-z0-9+/=_-]{16,400})(?!\S)")
# A literal that a terminal or an editor wrapped.
_BROKEN = re.compile(
    rf"{_END}\s{{0,8}}(?:=>|:=|[:=]=?)\s{{0,8}}[\"'`]"
    rf"(?P<literal>[\w+/=.-]{{8,200}}\\?\r?\n[ \t]{{0,12}}[\w+/=.-]{{4,200}})[\"'`]"
)
AFTER = (_BROKEN, _ASSIGNED, _ALONE, _ARROW, _CALLED, _OTHERWISE, _LISTED, _ELEMENT, _SPOKEN)
# Between the name and a value that must show by itself that it is one: nothing but blanks, or a cell's border.
_APART = re.compile(
    rf"{_END}"
    rf"(?:[ \t]{{1,4}}(?:--?(?:body|value|data|v|b)|(?:--?[\w=-]{{1,20}}[ \t])?<<<)[ =]"
    rf"|[ \t]{{0,40}}[|│┃║][ \t]{{0,8}}|[ \t]{{1,4}}\d[ \t]{{1,4}}|(?:[ \t]|\\t){{1,40}})"
    rf"{_COLOUR}(?:`(?P<code>[^`\s]{{6,400}})`|[\"'](?P<literal>[^\"'\s]{{6,400}})[\"']"
    rf"|(?P<bare>[^\s\"'`,;|│()<>{{}}\x1b]{{6,400}}))"
    r"(?=$|[\s|│;\x1b]|\\n)",
)
_PASSED = re.compile(r"\([\"'](?P<literal>[^\"'\s]{6,400})[\"']\)")
_NEXT_LINE = re.compile(r":[ \t]{0,8}\n[ \t]{1,20}(?P<bare>[^\s\"'`,;:=(){}<>]{6,400})[ \t]{0,8}(?=$|\n)")
# The same with the value's type in a column between them.
_TYPED = re.compile(r"[ \t]{2,40}[A-Za-z]\w{1,15}[ \t]{2,40}(?P<bare>[^\s\"'`,;|()<>{}]{6,400})(?!\S)")
# The only one in an object.
_NESTED = re.compile(
    rf"{_END}\s{{0,3}}(?:=>|[:=])\s{{0,3}}\{{\s{{0,3}}{QUOTE}?\w{{1,20}}{QUOTE}?\s{{0,3}}(?:=>|[:=])\s{{0,3}}{QUOTE}"
    r"(?P<literal>[^\s\"'`\\]{6,400})[\"'`\\]"
)
APART = (_APART, _NESTED, _TYPED, _SET, _PASSED, _NEXT_LINE)
# Words in the names of values that look drawn and are public.
_PUBLIC = frozenset((
    "account", "blob", "build", "cache", "checksum", "commit", "container", "customer", "digest", "etag", "event",
    "file", "fingerprint", "guid", "hash", "head", "host", "id", "ids", "image", "index", "integrity", "issue", "job",
    "layer", "md", "message", "name", "nonce", "object", "oid", "order", "path", "project", "pub", "public", "ref",
    "release", "request", "rev", "revision", "run", "seed", "session", "sha", "span", "sum", "tag", "thread",
    "thumbprint", "trace", "tree", "uri", "url", "user", "uuid", "version",
))  # fmt: skip
_NAME_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


def is_public(name: str) -> bool:
    """Returns whether a name means a value that looks drawn and is public, such as a commit's."""
    return any(word.lower() in _PUBLIC for word in _NAME_WORD.findall(name))


# Any word that can be a value, and what may be between it and the name: signs and blanks, or a few short words.
_WORD = re.compile(r"(?<![^\s\"'`,;:=()\[\]{}<>|│«»“”「」/.-])[^\s\"'`,;:=()\[\]{}<>|│«»“”「」\x1b]{6,400}")
_SIGNS = re.compile(rf"(?:\s?\(\w{{1,20}}\))?(?:{_COLOUR}[^\w\n]{{0,12}}){{1,2}}(?:!!\w{{1,6}}\s)?")
_FEW_WORDS = re.compile(r"[^\w\n]{0,4}(?:[^\W\d_]{1,12}[^\w\n]{1,4}){0,6}")
_LONGEST_GAP = 60
# What a value was changed to.
CHANGED = re.compile(r"[\"'`]?\s{0,3}(?:[-=]>|→)\s{0,3}[\"'`]?(?P<inside>[^\s\"'`,;)]{6,400})")
# Between a name that ends its line and the line with the value: a blank line, further heads of a part of a form, a
# fence, or who answers.
_BELOW = re.compile(
    r"[\"'](?:;[^\n]{0,80})?\r?\n(?:[\w-]{1,40}: [^\n]{0,80}\n){0,2}\r?\n|"
    r"[ \t\r?\"'`*]{0,8}(?:(?::| below)[ \t\r*]{0,8}\n(?:[ \t\r]{0,12}(?:```\w{0,12}|-{3,80})?\n)?"
    r"|\r?\n(?:(?:A|Out\[\d{1,4}\]): |(?:# -|=)> |\$\d{1,4} = )?)"
)


def near_value(text: str, name: str, end: int) -> tuple[int, int] | None:
    """Returns the span of the first word after a name that looks like a secret by itself: in the same line, or in the
    next one if the name ends its line. A word that is drawn may follow after a few others, one that a person may have
    chosen only with signs between them, or if it mixes more kinds of characters than words of code do."""
    stop = text.find("\n", end, end + _LONGEST_GAP)
    if stop >= 0 and (below := _BELOW.match(text, end)):
        end = below.end()
        stop = text.find("\n", end, end + 400)
        stop = len(text) if stop < 0 else stop
    last = end + 500 if stop < 0 else stop
    for match in _WORD.finditer(text, end, last):
        gap, value = text[end : match.start()], unpunctuated(match[0])
        if len(gap) > _LONGEST_GAP:
            return None
        # Letters alone are never strong. What is between another word and the name is then looked at.
        if value.replace("_", "a").isalpha():
            continue
        is_apart = _SIGNS.fullmatch(gap) is not None
        if not (is_apart or _FEW_WORDS.fullmatch(gap)):
            return None
        if is_strong(name, value, is_apart=is_apart) and not is_public(gap):
            return match.start(), match.start() + len(value)
    return None


# A terminal or an editor that wraps lines divides a secret; the next line begins with one more run that contains a
# digit.
WRAPPED = re.compile(r"\\?\r?\n[ \t]{0,12}(?=[\w+/=-]{0,40}\d)[\w+/=-]{8,200}(?=[\s\"']|$)")
# Before a value that is in the next row of a table.
_RULE = re.compile(r"[-+=|:│┼─═╪\s]{3,400}")
_HEAD = re.compile(r"(?:[\w.-]{1,20} ){0,2}")
_BORDERS = "\t|│┃║;,"
_MOST_ROWS = 20
# Characters of a line and of all rows that are looked through.
_LONGEST_LINE, _LONGEST_TABLE = 400, 4_000


def column_values(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yields the spans of the values under a name at `start` to `end`, which is the head of a column: the cells in the
    same place of the rows that follow."""
    begin = text.rfind("\n", max(0, start - _LONGEST_LINE), start) + 1
    stop = text.find("\n", end, end + _LONGEST_LINE)
    if stop < 0:
        return
    head = text[begin:stop]
    border = next((one for one in _BORDERS if one in head), "  " if "  " in head.strip() else "")
    cells = _cells(head, border)
    at = next((index for index, cell in enumerate(cells) if cell.start() <= start - begin < cell.end()), 0)
    if not cells or not _HEAD.fullmatch(cells[at][0].strip(" \"'`\r").removesuffix(text[start:end])):
        return
    is_ruled = False
    for row_start, row in _rows(text, stop + 1):
        if _RULE.fullmatch(row):
            is_ruled = True
            continue
        parts = _cells(row, border)
        if not row.strip() or len(parts) != len(cells) or not (border or is_ruled):
            return
        value = parts[at][0].strip(" \"'`\r")
        # It is a head itself, under which the rest is looked through.
        if value == text[start:end]:
            return
        if value:
            place = row_start + parts[at].start() + parts[at][0].index(value)
            yield place, place + len(value)


def _cells(row: str, border: str) -> list[re.Match[str]]:
    """Returns the cells of a row; a border of two blanks stands for any more of them."""
    cell = r"\S+(?: \S+)*" if border == "  " else rf"(?:^|(?<={re.escape(border)}))[^{border}]*" if border else ".+"
    return list(re.finditer(cell, row))


def _rows(text: str, start: int) -> Iterator[tuple[int, str]]:
    last = min(len(text), start + _LONGEST_TABLE)
    for _ in range(_MOST_ROWS):
        if start >= last:
            return
        stop = text.find("\n", start, last)
        stop = last if stop < 0 else stop
        yield start, text[start:stop]
        start = stop + 1


# The word for a password in other languages that programmers speak, in lower case: those that are not ASCII. The others
# are in `known_words.py`, where all words are searched for at once.
_SPOKEN_NAMES = (
    "contraseña", "пароль", "密码", "密碼", "口令", "パスワード", "비밀번호", "hasło", "şifre", "lösenord", "jelszó",
    "κωδικός", "mật khẩu", "كلمة المرور", "סיסמה", "पासवर्ड", "รหัสผ่าน", "парола", "лозинка", "رمز عبور", "slaptažodis",
    "fjalëkalimi", "lykilorð",
)  # fmt: skip
# A few short words, or none, and then the value.
_SAID = re.compile(
    r"\w{0,4}(?:\s{0,2}[:：=—–]\s{0,3}|\s{0,2}[是は为為은는이가]\s{0,3}|(?:\s[^\W\d_]{1,12}){0,5}\s?[:：]?\s{1,3})"
    r"[\"'`«„“「]?\s?(?P<bare>(?:(?![\"'`,;)]|\([^ -~])[!-~]){6,400})"
)


def spoken_values(text: str, names: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yields the spans of passwords that a sentence of another language than English names. `names` are those of the
    words of `known_words.SPOKEN` that the text has."""
    low = text.lower()
    # A few characters have a lower case of another length.
    if len(low) != len(text):
        low = text
    for name in (*names, *(() if text.isascii() else _SPOKEN_NAMES)):
        few = FewWithin()
        for at in places_of(low, (name,)):
            match = _SAID.match(text, at + len(name)) if few.tries(at) else None
            if match:
                few.reaches(match.end())
                if is_strong("password", unpunctuated(match["bare"])):
                    yield match.start("bare"), match.start("bare") + len(unpunctuated(match["bare"]))


# Between a value and the name after it: `use … as the password`, `echo … | gh secret set DEPLOY_KEY`, an attribute.
_BEFORE = re.compile(
    r"(?<![^\s\"'`(=:])(?P<inside>[^\s\"'`,;()=|>]{6,200}+)[\"'`]?(?:,?\s{1,2}(?:as|for|the|is)\s(?:\w{1,12}\s){0,3}|,\s(?:the|my)\s(?:\w{1,12}\s)?"
    r"|\s==?\s(?:(?:[^\s\"']{1,40}\s){0,6}[^\s\"']{0,40}[>)\]])?"
    r"|\s?[|>]{1,2}\s?(?:[\w~./-]{1,12}\s){0,3}[\w~./-]{0,12}|\s\((?:\w{1,12}\s)?|\sname=[\"'])$",
    re.IGNORECASE,
)
# A password in a call with the user's name, or after a statement's keyword.
LOGIN = re.compile(
    r"\w{1,20}=?\(\s?[\"'][^\"'\n]{1,80}[\"'],\s?[\"'](?P<inside>[^\"'\n]{4,200})[\"']",
    re.IGNORECASE,
)
IDENTIFIED = re.compile(r"identified by\s{1,3}[\"'](?P<inside>[^\"'\n]{4,200})[\"']", re.IGNORECASE)
_DIGIT = re.compile("[0-9]")
# A value that a log has apart from its statement, by number or in order.
_BOUND = re.compile(r"[\"`]?\s{0,3}=\s{0,3}(?P<place>\$\d{1,2})(?!\d)")
_PLACEHOLDER = re.compile(r"\s{0,3}(?:\?|%s|[$:]\d{1,2})")
_LIST = re.compile(r"[(\[](?=[\"'])")
_LITERAL = re.compile(r"\s{0,3}[\"'](?P<inside>[^\"'\n]{4,200})[\"']")
# Characters within which the values of a statement follow its columns.
_LATEST = 400
_INSERTED = re.compile(r"\)\s{0,3}values\s{0,3}\(", re.IGNORECASE)


def value_before(text: str, name: str, start: int) -> tuple[int, int] | None:
    """Returns the span of a value that a line has before its name at `start`: `use … as the password`."""
    line = max(text.rfind("\n", max(0, start - 140), start) + 1, start - 140, 0)
    found = _BEFORE.search(text, line, start) if _DIGIT.search(text, line, start) else None
    return found.span("inside") if found and is_strong(name, found["inside"], is_apart=False) else None


def inserted_value(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Returns the span of the value that an `INSERT` statement has for the column whose name is at `start` to `end`,
    also if the values follow it, as logs of databases show them."""
    if bound := _BOUND.match(text, end):
        given = re.compile(re.escape(bound["place"]) + r"\s{0,3}=(?=\s{0,3}')").search(text, bound.end(), end + _LATEST)
        return _literal_at(text, given.end()) if given else None
    if not text.startswith((",", ")", "`", '"'), end):
        return None
    values = _INSERTED.search(text, end, end + _LATEST)
    opened = text.rfind("(", max(0, start - _LATEST), start)
    if values is None or opened < 0 or ")" in text[end : values.start()]:
        return None
    number = text[opened:start].count(",")
    place = _item(text, values.end(), number)
    if place and _PLACEHOLDER.match(text, place):
        given = _LIST.search(text, place, place + _LATEST)
        place = _item(text, given.end(), number) if given else 0
    return _literal_at(text, place) if place else None


def _item(text: str, place: int, number: int) -> int:
    """Returns where an item of a list begins, 0 if there are fewer."""
    for _ in range(number):
        place = text.find(",", place, place + _LATEST) + 1
        if not place:
            return 0
    return place


def _literal_at(text: str, place: int) -> tuple[int, int] | None:
    value = _LITERAL.match(text, place)
    return value.span("inside") if value and is_secret("password", value["inside"], quoted=True, bound=True) else None
