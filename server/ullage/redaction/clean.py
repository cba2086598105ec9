"""Removes secrets and imitations from text that goes into summaries and ledgers.

The steps are imported when the first text comes. Their patterns take a twentieth of a server's start to compile.
"""

from collections.abc import Callable
from functools import cache

from ullage.redaction.remembering import len_of, remembering

# Characters of the texts whose redaction is remembered: a message is read for a summary, judged and quoted.
_REMEMBERED = 8_000_000

Step = Callable[[str], str]


def clean(text: str) -> str:
    """Returns `text` fit for a summary: imitations are rewritten as quotes, then secrets are redacted.

    In this order, because invisible characters that hide a secret are removed with the imitations.
    """
    return redact(_neutralise()(text))


@remembering(_REMEMBERED, len_of)
def redact(text: str) -> str:
    """Returns `text` with `[redacted]` for each key, token, password and private key. Redacting the result changes
    nothing."""
    return _redact()(text)


@cache
def _neutralise() -> Step:
    from ullage.redaction.imitations import neutralise  # noqa: PLC0415

    return neutralise


@cache
def _redact() -> Step:
    from ullage.redaction.redact_secrets import redact_all  # noqa: PLC0415

    return redact_all
