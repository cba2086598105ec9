"""Removes secrets and imitations from text that goes into summaries and ledgers.

The steps are imported when the first text comes. Their patterns take a twentieth of a server's start to compile.
"""

from collections.abc import Callable
from functools import cache

Step = Callable[[str], str]


def clean(text: str) -> str:
    """Returns `text` fit for a summary: imitations are rewritten as quotes, then secrets are redacted.

    In this order, because invisible characters that hide a secret are removed with the imitations.
    """
    return redact(_neutralise()(text))


def redact(text: str) -> str:
    """Returns `text` with `[redacted]` for each key, token, password and private key. Redacting the result changes
    nothing."""
    known, redact_runs = _redactions()
    return redact_runs(known(text), known)


@cache
def _neutralise() -> Step:
    from ullage.redaction.imitations import neutralise  # noqa: PLC0415

    return neutralise


@cache
def _redactions() -> tuple[Step, Callable[[str, Step], str]]:
    """Returns the redaction of secrets that are recognised by shape, place or name, and that of random runs."""
    from ullage.redaction import redact_secrets as secrets  # noqa: PLC0415

    def known(text: str) -> str:
        return secrets.redact_by_service(secrets.redact_named(secrets.redact_places(secrets.redact_shapes(text))))

    return known, secrets.redact_runs
