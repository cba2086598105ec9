"""Removes secrets and imitations from text that goes into summaries and ledgers.

The steps are imported when the first text comes. Their patterns take a twentieth of a server's start to compile.
"""

from collections.abc import Callable
from functools import cache

from ullage.redaction.remembering import memory_of, remembering

# Bytes of the texts whose redaction is remembered: a message is read for a summary, judged and quoted. The largest
# windows hold two million tokens, 8 MB of English, and at least half stays.
_REMEMBERED = 16_000_000

Step = Callable[[str], str]


def clean(text: str) -> str:
    """Returns `text` fit for a summary: imitations are rewritten as quotes, then secrets are redacted.

    In this order, because invisible characters that hide a secret are removed with the imitations.
    """
    return redact(_neutralise()(text))


@remembering(_REMEMBERED, memory_of)
def redact(text: str) -> str:
    """Returns `text` with `[redacted]` for keys, tokens, passwords and private keys. Is idempotent."""
    return _redact()(text)


@cache
def _neutralise() -> Step:
    from ullage.redaction.imitations import neutralise  # noqa: PLC0415

    return neutralise


@cache
def _redact() -> Step:
    from ullage.redaction.redact_secrets import redact_all  # noqa: PLC0415

    return redact_all
