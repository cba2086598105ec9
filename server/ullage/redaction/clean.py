"""Keeps what must not travel out of summaries and ledgers: secrets, and text that poses as our frame."""

from ullage.redaction.imitations import neutralise
from ullage.redaction.secrets.names import redact_named
from ullage.redaction.secrets.places import redact_places
from ullage.redaction.secrets.runs import redact_runs
from ullage.redaction.secrets.shapes import redact_shapes


def clean(text: str) -> str:
    """`text` fit for a summary: imitations made quotes, secrets redacted, also those that unseen characters hid."""
    return redact(neutralise(text))


def redact(text: str) -> str:
    """Replaces what looks like a key, token, password or private key by `[redacted]`. Doing it twice changes nothing
    more."""
    return redact_runs(_redact_known(text), _redact_known)


def _redact_known(text: str) -> str:
    return redact_named(redact_places(redact_shapes(text)))
