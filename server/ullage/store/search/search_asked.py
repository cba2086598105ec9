"""What a question asks for besides its words (whose message, a time, a number), and which messages say such a thing."""

import re

from ullage.model.message import Role

# "Can you list": the one who is asked to search, not the one who spoke.
_REQUEST = re.compile(
    r"\b(?:can|could|would|will|do) you (?!say|tell|suggest|recommend|propose|give|mention|write)[a-z]+", re.IGNORECASE
)
# The word is `I`, not `i` as in "i, j" or "for i in"; `me` is in every "show me".
_ASKS_USER = re.compile(r"\bI\b(?![,.)\]]?\s*(?:,|=|in\b))|\b(?:[Mm]y|[Mm]ine|[Mm]yself|i'(?:m|ve|d|ll))\b")
_ASKS_AGENT = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)
# Who spoke, in "what did I ask you" and "what did the assistant answer": the subject, not the others that are named.
_SUBJECT_USER = re.compile(r"\b(?:did|have|had) (?:I|i|the user)\b")
_SUBJECT_AGENT = re.compile(r"\b(?:did|have|has|had) (?:you|the (?:agent|assistant|model|ai))\b", re.IGNORECASE)
# "Did you do what I wanted" asks for both.
_WANTED = re.compile(r"\bwhat (?:I|you)\b")

_ASKS_TIME = re.compile(
    r"\bwhen\b|\b(?:what|which) (?:date|day|week|month|year|time)\b|\bhow long ago\b", re.IGNORECASE
)
_ASKS_NUMBER = re.compile(r"\bhow (?:many|much|long|often|old|far|fast|large|big)\b", re.IGNORECASE)
_SAYS_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|since|recently|\d+(?:st|nd|rd|th)|(?:19|20)\d\d"
    r"|(?:last|next|this|past) (?:\w+ )?(?:night|week|weekend|month|year|spring|summer|autumn|fall|winter)"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|days?|weeks?|months?|years?"
    r"|january|february|march|april|june|july|august|september|october|november|december)\b",
    re.IGNORECASE,
)
_SAYS_NUMBER = re.compile(
    r"\b(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten|dozen|hundred|thousand|once|twice|several|few|couple)\b",
    re.IGNORECASE,
)
# A log of a talk names who speaks at the beginning of a turn ("Maria: I am back").
_LABEL = re.compile(r"([A-Z][\w .-]{0,30}):\s")


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
    """Returns whether a text has a number, as digits or as a word. A name before a colon at its beginning is not
    looked at."""
    return _SAYS_NUMBER.search(text, len(speaker_label(text))) is not None


def speaker_label(text: str) -> str:
    """Returns the name of who speaks with which a text begins ("Maria" in "Maria: I am back"), empty if it begins
    otherwise."""
    match = _LABEL.match(text)
    return match[1] if match else ""
