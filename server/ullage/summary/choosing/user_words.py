"""The user's words: every request verbatim while there is room, and questions with the answers they got."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum

from msgspec.structs import replace

from ullage.model.message import number_of
from ullage.summary.choosing.items import Item, Section
from ullage.summary.reading.anchors import find_anchors
from ullage.summary.reading.contents import Excerpt, Source
from ullage.summary.reading.digest import Digest, UserRequest, once
from ullage.summary.reading.excerpts import CHATTER, FORBIDS, sentences, shorten
from ullage.summary.tuning import CHARACTERS_PER_TOKEN

# Words with which a user agrees or lets the agent continue, and which ask for nothing by themselves.
_AGREES = re.compile(
    r"\W*(?:y|yes|yep|yeah|ok|okay|sure|go|go on|go ahead|continue|proceed|keep going|great|perfect"
    r"|(?:many )?(?:thanks?|thank you)(?: (?:so|very) much| a lot)?(?: for (?:(?:all )?(?:your|the) )?help)?"
    r"|good|nice|cool|do it|do that|please|please (?:do|continue|proceed|go on)|carry on|lgtm|all|both|done|retry"
    r"|(?:please )?(?:check|try|run|look)(?: it| that| them)? again"
    # German, French, Spanish, Portuguese, Russian, Chinese, Japanese, Korean.
    r"|ja|gut|klar|gern|bitte|danke|(?:ja )?(?:mach )?(?:bitte )?weiter|oui|d['’]accord|vas-y|merci|s[ií]|vale|adelante"
    r"|sigue|gracias|sim|obrigad[oa]|да|хорошо|продолжай|спасибо|好|好的|好吧|行|可以|是|是的|对|嗯|继续|请继续|谢谢|多谢"
    r"|はい|お願いします|続けて(?:ください)?|ありがとう(?:ございます)?"
    r"|네|예|좋아요?|계속(?:해 ?주세요)?|감사합니다)\W*",
    re.IGNORECASE,
)
# A question that asks for work.
_ASKS = re.compile(
    r"\b(?:can|could|would|will) (?:you|we)\b|\b(?:please|let['’]?s|should we|need to|want|make|fix|add)\b",
    re.IGNORECASE,
)
# Characters. An answer only has to say what came of the question; its message number leads to the rest.
_SHORTEST_ANSWER, _ANSWER = 40, 260
# Characters of an answer that ends with a colon, with the beginning of the list after it.
_LISTED = 180
# Characters. The task repeats a longer request by its first sentences, since the whole is among the requests.
_TASK = 600
# Characters to which requests are shortened, the oldest first, in as many passes as are needed: a paragraph, a few
# sentences, one sentence. After that the oldest are left out, those that forbid or correct something last.
_FLOORS = (600, 240, 120)
_MOST_CUTS = 4
_FENCES = re.compile(r"^[ \t]*```.*\n?", re.MULTILINE)
# Before the answer to a question of the user, and before a question of the agent to which the user replied.
_ANSWERED, _ASKED = "\n→ #", "\n← #"
_BESIDE = re.compile(f"{_ANSWERED}|{_ASKED}")
# How a reply begins that says nothing without the question, and the most characters of one.
_REPLIES = re.compile(
    r"\W*(?:y|yes|yep|yeah|n|no|nope|ok|okay|sure|go (?:on|ahead|for it)|do (?:it|that|so)|please do|both|all|none"
    r"|neither|either|the (?:first|second|third|last|former|latter|other)|option|exactly|correct|right|[a-d]|[1-9])\b",
    re.IGNORECASE,
)
_REPLY = 60
# A screenshot, of which a summary has no more than its name.
_PICTURE = re.compile(r"['\"]?/[^\n]{1,400}\.(?:png|jpe?g|gif|webp)['\"]?", re.IGNORECASE)
_MARKED = " (the message stays in the context)"


class _Goes(IntEnum):
    """When a request is left out if there is too little room: first what says nothing by itself, last what forbids or
    corrects something."""

    FIRST = 0
    THEN = 1
    LAST = 2


def task_of(digest: Digest, later: Sequence[UserRequest] = ()) -> list[Item]:
    """Returns the task: the newest request that asks for work, in its first sentences if it is long, and a question
    that the user asked after it. A mere consent is no task while there is another request. `later` are the requests of
    messages after the digest's, which stay in the context. Empty if there is no request."""
    requests = [*digest.requests, *(replace(request, kept=True) for request in later)]
    if not requests:
        return []
    last = requests[-1]
    standing = next((request for request in reversed(requests) if asks_for_work(request.text)), last)
    asked = [last] if last is not standing and is_question(last.text) else []
    return [_task(request) for request in (standing, *asked)]


def _task(request: UserRequest) -> Item:
    text = closed(shorten(request.text, _TASK)) + (_MARKED if request.kept else "")
    return Item(section=Section.TASK, text=text, index=request.index, anchors=find_anchors(text))


def asks_for_work(text: str) -> bool:
    """Returns whether a request asks for work: False for a consent such as `yes, go on` and for a plain question."""
    if all(_AGREES.fullmatch(part) for part in re.split(r"[,.!\n，。！、]", text) if part.strip()):
        return False
    return not is_question(text) or _ASKS.search(text) is not None


def is_question(text: str) -> bool:
    """Returns whether a request ends as a question."""
    return text.rstrip().rstrip(")\"'*_ ").endswith(("?", "？"))


@once
def said_in(digest: Digest) -> list[Excerpt]:
    """Returns the agent's prose of a digest, in order."""
    agent = Source.AGENT
    return [piece for piece in digest.excerpts if piece.source is agent]


def requests_of(digest: Digest) -> list[Item]:
    """Returns an item for every archived request, verbatim, in order. A question is followed by the beginning of the
    answer that it got, and a short reply by the question of the agent to which it replies."""
    said = said_in(digest)
    starts = [piece.index for piece in said]
    found: list[Item] = []
    before = 0
    for request, end in zip(digest.requests, _ends(digest), strict=False):
        at, until = bisect_right(starts, request.index), bisect_right(starts, end - 1)
        if not request.kept:
            beside = _answer(said[at:until]) if is_question(request.text) else ""
            if len(request.text) <= _REPLY and _REPLIES.match(request.text):
                beside = _question(said[before:at])
            found.append(_item(request.text + beside, request.index))
        before = at
    return found


def _question(said: Sequence[Excerpt]) -> str:
    """Returns the last question of the last message among the pieces of prose, marked as one; empty if it has none."""
    texts = [piece.text for piece in said if piece.index == said[-1].index]
    asked = [part for text in texts for part in sentences(text) if is_question(part)]
    return f"{_ASKED}{number_of(said[-1].index)} {shorten(asked[-1].strip(), _ANSWER)}" if asked else ""


def fit_requests(items: Sequence[Item], cost: Callable[[Item], int], room: int) -> list[Item]:
    """Returns the requests, in order, that take at most `room` tokens by `cost`, each verbatim if all fit. Otherwise
    answers go first, then mere consents, then the oldest requests are shortened at the ends of sentences, and at last
    left out, those that forbid or correct something after all others. The newest is always there: one longer than half
    of the room is shortened at first to what the others leave it, a third of the room or more, or else to half; and to
    less if need be."""
    fitted = [(item, cost(item)) for item in items]
    over = sum(tokens for _, tokens in fitted) - room
    if fitted and over > 0 and fitted[-1][1] > room // 2:
        fitted[-1] = _newest(fitted, cost, room)
        over = sum(tokens for _, tokens in fitted) - room
    for floor in (None, *_FLOORS):
        for place, (item, tokens) in enumerate(fitted[:-1]):
            if over <= 0:
                break
            shorter = _without_answer(item) if floor is None else _shortened(item, floor, over)
            if shorter.text != item.text:
                fitted[place] = (shorter, cost(shorter))
                over += fitted[place][1] - tokens
        if floor is None:
            over = _leave_out(fitted, over, _Goes.FIRST)
    for goes in _Goes:
        over = _leave_out(fitted, over, goes)
    if over > 0 and fitted:
        fitted[-1] = (_shortened(_without_answer(fitted[-1][0]), _FLOORS[-1], over), 0)
    return [item for item, _ in fitted]


def _leave_out(fitted: list[tuple[Item, int]], over: int, goes: _Goes) -> int:
    """Takes out the oldest of the requests that go at this time, but not the newest of all, while there are `over`
    tokens too many. Returns how many are left."""
    for entry in fitted[:-1]:
        if over > 0 and _goes(entry[0].text) is goes:
            fitted.remove(entry)
            over -= entry[1]
    return over


def _goes(text: str) -> _Goes:
    if not is_question(text) and (_PICTURE.fullmatch(text.strip()) or not asks_for_work(text)):
        return _Goes.FIRST
    return _Goes.LAST if FORBIDS.search(text) else _Goes.THEN


def _newest(fitted: Sequence[tuple[Item, int]], cost: Callable[[Item], int], room: int) -> tuple[Item, int]:
    """Returns the newest request, which is longer than half of the room, shortened, with its tokens. It is cut anyway,
    so it gives up a few more words before another one is cut."""
    left = room - sum(tokens for _, tokens in fitted[:-1])
    most = left if left >= room // 3 else room // 2
    item, tokens = fitted[-1]
    # Some parts of a text have fewer characters per token than others, such as formulas.
    for _ in range(_MOST_CUTS):
        if tokens <= most:
            break
        limit = max(len(item.text) * most // tokens, _FLOORS[-1])
        item = _item(closed(shorten(item.text, limit)), item.index)
        tokens = cost(item)
    return item, tokens


def _without_answer(item: Item) -> Item:
    return _item(_BESIDE.split(item.text, maxsplit=1)[0], item.index)


def _shortened(item: Item, floor: int, over: int) -> Item:
    """Returns a request that is about `over` tokens shorter, but has at least `floor` characters if it had as many."""
    return _item(closed(shorten(item.text, max(floor, len(item.text) - over * CHARACTERS_PER_TOKEN))), item.index)


def closed(text: str) -> str:
    """Returns a shortened text without a code fence that lost its end, which would take what follows for code."""
    return text if len(_FENCES.findall(text)) % 2 == 0 else _FENCES.sub("", text)


def _ends(digest: Digest) -> Iterator[int]:
    """Yields, for each request, the index of the message at which the answers to it end."""
    yield from (request.index for request in digest.requests[1:])
    yield digest.end_index


def _answer(said: Sequence[Excerpt]) -> str:
    """Returns the beginning of the last message among the pieces of prose, marked as an answer; empty if there is
    none."""
    texts = [piece.text for piece in said if piece.index == said[-1].index and not CHATTER.match(piece.text)]
    # "You are right." does not answer anything.
    first = next((place for place, text in enumerate(texts) if len(text) >= _SHORTEST_ANSWER), len(texts))
    if first == len(texts):
        return ""
    told = texts[first]
    # What ends with a colon only introduces the answer.
    for text in texts[first + 1 :] if told.rstrip("*_ ").endswith(":") else ():
        if len(told) + len(text) >= _LISTED:
            break
        told += f"{' ' if told.endswith((':', '.')) else '; '}{text}"
    return f"{_ANSWERED}{number_of(said[-1].index)} {shorten(told, _ANSWER)}"


def _item(text: str, index: int) -> Item:
    return Item(section=Section.REQUESTS, text=text, index=index, anchors=find_anchors(text))
