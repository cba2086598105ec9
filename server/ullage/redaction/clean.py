"""Removes secrets and imitations from text that goes into summaries and ledgers."""

from ullage.redaction.imitations import neutralise
from ullage.redaction.secrets.names import redact_named
from ullage.redaction.secrets.places import redact_places
from ullage.redaction.secrets.runs import redact_runs
from ullage.redaction.secrets.shapes import redact_shapes


def clean(text: str) -> str:
    """Returns `text` fit for a summary: imitations are rewritten as quotes, then secrets are redacted.

    In this order, because invisible characters that hide a secret are removed with the imitations.
    """
    return redact(neutralise(text))


def redact(text: str) -> str:
    """Returns `text` with `[redacted]` for each key, token, password and private key. Idempotent."""
    return redact_runs(_redact_known(text), _redact_known)


def _redact_known(text: str) -> str:
    return redact_named(redact_places(redact_shapes(text)))
