"""Distinguishes sentences that decide or find something from those that only accompany the work."""

import re

from ullage.summary.reading.excerpts import CHATTER, sentences

# Shorter ones are headings and fragments of lists.
FEWEST_WORDS = 5
_FILLERS = (
    r"(?:(?:now|next|then|so|and|but|ok|okay|alright|hmm|wait|yes|well|actually|also|good|great|perfect|excellent"
    r"|right|first|second|finally|sure|interesting|expected|understood|noted|agreed)\b[\s.,!:—–-]*){0,4}"
)
_OPENING = re.compile(
    r"^(?:(?:ok|okay|good|great|perfect|excellent|alright|hmm|wait|right|aha|ah|yes|so|oh)\b[,.!:—– -]+(?=\S)){1,3}",
    re.IGNORECASE,
)
# Words that join a sentence to the one before it.
_JOINS = re.compile(
    r"^(?:(?:ok|okay|hmm|wait|oh|but|and|however|actually|also|additionally|indeed|in fact|though|still|besides"
    r"|moreover|furthermore)\b[,.!:—– -]+(?=\S)){1,4}",
    re.IGNORECASE,
)
# A sentence whose subject is in the sentence before it.
_LEANS = re.compile(
    r"(?:(?:and|or|nor|but|then|so|because|since|if|when|while|as|though|although|now|maybe|perhaps)\b,? )?"
    r"(?:it|its|this|that|these|those|they|their|them|he|she|which|both|neither|either|such|one of them|each"
    r"|the (?:former|latter|same|other|first|second))\b",
    re.IGNORECASE,
)
# What else reads as torn off: a sentence that continues, compares or answers.
_GOES_ON = re.compile(
    r"(?:or|nor|otherwise|instead|thus|therefore|hence|likewise|same|as (?:above|before)|for example|not only"
    r"|if (?:so|not|yes)|even (?:so|then)|maybe|perhaps|hopefully|except|rather|then|only if|not(?! yet))\b|no,",
    re.IGNORECASE,
)
# A plain word, with which a sentence may begin after its opening was taken away. Others may be names.
_PLAIN = re.compile(
    r"(?:the|a|an|if|when|for|we|our|in|on|at|there|all|some|any|no|since|because|to|with|after|before|my|[a-z]{3,}ed)\b"
)
# What the agent is doing or about to do, and what it sees at this moment.
_NARRATES = re.compile(
    rf"{_FILLERS}(?:"
    r"(?:[\w'’]+,? ){0,3}let me\b|let['’]s\b|i['’]?ll\b|i will\b"
    r"|i(?:['’]m| am) (?:now |going )|i(?:['’]m| am) (?:\w+ly )?\w+ing\b"
    r"|i need to\b|i should\b|i want to\b|i can (?:now )?see\b|i see\b|i notice\b|i have (?:a |the )|i intend\b"
    r"|i now have\b|i(?:['’]ve| have) (?:just |now |already )?(?:finished|got|been|started|pinpointed|begun|now)\b"
    r"|i realize\b|i think i\b|apologies\b|my (?:next|current|immediate|focus|plan|apologies|attention|goal|aim)\b"
    r"|we(?:['’]ll| (?:will|can|should|need to|have to))(?: (?:now|then|next|first|also|have to|need to|try to))?"
    r" (?:check|look|see|try|examine|inspect|explore|search|continue|proceed|start|begin|move|edit|open|read|run"
    r"|rerun|view|verify|test)\b|here(?:['’]s| is| are)\b|looking at\b|checking\b|running\b|trying\b|starting\b"
    r"|reading\b|searching\b|committing\b|executing\b|(?:re)?generating\b|time to\b|going to\b|back to\b"
    r"|moving on\b|continuing\b|proceeding\b|on to\b"
    r"|this is an? (?:\w+ ){0,2}(?:task|change|one)\b"
    r"|(?:that|this) (?:should )?(?:works?|is done|did it|looks good)\b"
    r"|(?:check|look at|read|run|see|view|verify|rerun|search|examine|explore|inspect|try)\b"
    r")",
    re.IGNORECASE,
)
# The state of tests and commands at that moment, of which the state of work has the newest.
_REPORTS = re.compile(
    rf"{_FILLERS}"
    r"(?:(?:all|both|the|these|those|every|full|unit|new|existing|my|our|\d[\d,]*|of|and|integration)\s+){0,5}"
    r"(?:tests?|checks?|specs?|doctests?|builds?|suite|linter|lint|compilation|formatting|ci)\b"
    r"[^.;]{0,40}\b(?:pass(?:es|ed|ing)?|green|clean|succeed(?:s|ed)?|successful(?:ly)?|fine|works?)\b"
    r"(?:, including\b)?[^,;]{0,30}$",
    re.IGNORECASE,
)
_PRAISES = re.compile(
    r"(?:perfect|great|good|excellent|done|success|committed|fixed|it works?|works|nice"
    r"|everything (?:is|works|looks))\b"
    r"[^,;:]{0,40}[.!]*$",
    re.IGNORECASE,
)
_ROW = re.compile(r"^\|.*\|$|^[-=_*~]{3,}")
# A step of a plan, as it is written in lists: `Add tests for X`. With a reason or a limit it decides something.
_STEP = re.compile(
    r"(?:(?:and|then)\s+)?(?:need to\s+)?(?:add|implement|update|fix|write|create|close|commit|push|run|test|verify"
    r"|build|compile|refactor|remove|delete|rename|move|edit|wire|install|extend|continue|finish|complete|document|start"
    r"|open|show)\s",
    re.IGNORECASE,
)
# What the agent asks of the user or offers.
_ASKS = re.compile(
    r"(?:(?:if so|if not|then|so),? )?(?:please\b|feel free\b|kindly\b)"
    r"|if (?:you(?:['’]d)? (?:want|like|need|prefer|wish|would (?:like|prefer|rather))|needed|desired|preferred)\b",
    re.IGNORECASE,
)
# What the agent still wants to do or to know, wherever a sentence says it. Later messages show what became of it.
_WANTS = re.compile(
    r"\bi (?:still |also |now |first |just |only )?need (?:to|access|more)\b"
    r"|\bneed to (?:check|find|see|look|verify|confirm|understand)\b|\bi (?:assume|guess|wonder)\b"
    r"|\b(?:probably|presumably)\W*$",
    re.IGNORECASE,
)
# How far the work was at that moment. Later messages show how far it is.
_SO_FAR = re.compile(
    r"\bI have(?: not|n['’]t)\b.{0,80}\byet\b|\balmost done\b|\b(?:is|are) still failing\b"
    r"|\b(?:does|do)(?: not|n['’]t) exist yet\b|\b(?:is|are)(?: not|n['’]t) \w+ (?:in \S+ )?yet\b",
    re.IGNORECASE,
)
# What the agent does next, at the end of a sentence: `It has no test - let me add one.`
_NEXT = re.compile(
    r"(?:\s+[-–—]+|[,;])\s+(?:(?:so|and|but|now|then)\s+)*let(?: me|['’]s)\b.*$", re.IGNORECASE | re.DOTALL
)
# Half of a sentence: the condition or reason of what is not there.
_IDEOGRAPHS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_REASON = re.compile(r"(?:if|because|since|although|unless|whether|given|now that|as|when|while|once|to)\b", re.I)
_HALF = re.compile(r"(?:if|because|since|although|unless|whether|given|now that)\b[^,:;—–]*$", re.IGNORECASE)
_HALF_WORDS = 10
_CODE, _MESSAGE = re.compile(r"`[^`]*`"), re.compile(r"[A-Za-z']+(?: [a-z']+){2}")
_DECIDES = re.compile(
    r"\b(?:because|instead|so that|must|only|never|not|don['’]t|without|unless|rather than|since|to avoid)\b", re.I
)
# Short, but what came before is not to be believed.
_ADMITS = re.compile(r"I (?:was|am) (?:wrong|mistaken)\b")
_OPENS_NOW = re.compile(r"(?:now|next)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_][\w'’-]*")


def narrates(sentence: str) -> bool:
    """Returns whether a sentence says only what the agent does next, sees at the moment, has not done so far, asks of
    the user, or that a test passes."""
    sentence = sentence.lstrip("(*_")
    return (
        CHATTER.match(sentence) is not None
        or _NARRATES.match(sentence) is not None
        or _REPORTS.match(sentence) is not None
        or _PRAISES.match(sentence) is not None
        or _OPENS_NOW.match(sentence) is not None
        or _ASKS.match(sentence) is not None
        or _SO_FAR.search(sentence) is not None
        or ((_STEP.match(sentence) or _WANTS.search(sentence)) is not None and not _DECIDES.search(sentence))
    )


def telling(text: str) -> str:
    """Returns the sentences of a text that say something to keep, in their order: those of at least five words that
    don't narrate, don't ask, and don't end in a colon. One whose subject is in the sentence before it is only kept with
    that sentence. Empty if there are none."""
    kept: list[str] = []
    follows = False
    for part in sentences(text):
        whole = _without_next(_OPENING.sub("", part.strip()))
        sentence = whole if follows else _JOINS.sub("", whole)
        follows = _tells(sentence) and (follows or not (_LEANS.match(sentence) or _GOES_ON.match(sentence)))
        if follows:
            # A first word in small letters stays so if it may be a name.
            cut = sentence != part.strip() and _PLAIN.match(sentence)
            kept.append(sentence[:1].upper() + sentence[1:] if cut else sentence)
    return " ".join(kept)


def _without_next(sentence: str) -> str:
    """Returns a sentence without what the agent does next at its end, unless that decides something."""
    follows = _NEXT.search(sentence) if "let" in sentence or "Let" in sentence else None
    if follows is None or _DECIDES.search(follows[0]):
        return sentence
    said = sentence[: follows.start()]
    return "" if _REASON.match(said) else f"{said}."


def _tells(sentence: str) -> bool:
    # A list after a colon is not part of the sentence.
    if sentence.rstrip("*_`\"') ").endswith((":", "?", "：", "？")) or _ROW.match(sentence):
        return False
    words = len(sentence.split())
    if words >= FEWEST_WORDS:
        words = min(words, len(_WORD.findall(sentence)))
    if words < FEWEST_WORDS and not sentence.isascii():
        # Chinese and Japanese have no spaces between words, which have one to three characters.
        words = max(words, len(_IDEOGRAPHS.findall(sentence)) // 2)
    if _ADMITS.match(sentence):
        return True
    if words < FEWEST_WORDS or (words <= _HALF_WORDS and _HALF.match(sentence) and " then " not in sentence):
        return False
    # A line of code alone is no sentence, but a message of a program is.
    alone = sentence[:1] == "`" and not _WORD.search(_CODE.sub("", sentence)) and not _MESSAGE.search(sentence)
    return not alone and not narrates(sentence)
