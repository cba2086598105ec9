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
    from ullage.redaction.secrets.names import redact_named  # noqa: PLC0415
    from ullage.redaction.secrets.places import redact_places  # noqa: PLC0415
    from ullage.redaction.secrets.runs import redact_runs  # noqa: PLC0415
    from ullage.redaction.secrets.services import redact_by_service  # noqa: PLC0415
    from ullage.redaction.secrets.shapes import redact_shapes  # noqa: PLC0415

    return lambda text: redact_by_service(redact_named(redact_places(redact_shapes(text)))), redact_runs
