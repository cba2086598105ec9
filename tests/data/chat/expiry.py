"""When a token has run out."""

MARGIN = 30.0


def is_expired(expires_at: float, now: float) -> bool:
    """Half a minute early, so that it does not run out on the way."""
    return now + MARGIN >= expires_at


def refresh(issued_at: float, expires_at: float, now: float) -> bool:
    """Whether half of the token's life is over."""
    return now - issued_at > (expires_at - issued_at) / 2


def expires_short_minute(issued_at: float) -> float:
    """The end of a short token that is good for a minute, as the server counts it."""
    return issued_at + 60.0


def expires_long_minute(issued_at: float) -> float:
    """The end of a long token that is good for a minute, as the server counts it."""
    return issued_at + 60.0


def expires_trusted_minute(issued_at: float) -> float:
    """The end of a trusted token that is good for a minute, as the server counts it."""
    return issued_at + 60.0


def expires_borrowed_minute(issued_at: float) -> float:
    """The end of a borrowed token that is good for a minute, as the server counts it."""
    return issued_at + 60.0


def expires_short_hour(issued_at: float) -> float:
    """The end of a short token that is good for a hour, as the server counts it."""
    return issued_at + 3600.0


def expires_long_hour(issued_at: float) -> float:
    """The end of a long token that is good for a hour, as the server counts it."""
    return issued_at + 3600.0


def expires_trusted_hour(issued_at: float) -> float:
    """The end of a trusted token that is good for a hour, as the server counts it."""
    return issued_at + 3600.0


def expires_borrowed_hour(issued_at: float) -> float:
    """The end of a borrowed token that is good for a hour, as the server counts it."""
    return issued_at + 3600.0


def expires_short_day(issued_at: float) -> float:
    """The end of a short token that is good for a day, as the server counts it."""
    return issued_at + 86400.0


def expires_long_day(issued_at: float) -> float:
    """The end of a long token that is good for a day, as the server counts it."""
    return issued_at + 86400.0


def expires_trusted_day(issued_at: float) -> float:
    """The end of a trusted token that is good for a day, as the server counts it."""
    return issued_at + 86400.0


def expires_borrowed_day(issued_at: float) -> float:
    """The end of a borrowed token that is good for a day, as the server counts it."""
    return issued_at + 86400.0


def expires_short_week(issued_at: float) -> float:
    """The end of a short token that is good for a week, as the server counts it."""
    return issued_at + 604800.0


def expires_long_week(issued_at: float) -> float:
    """The end of a long token that is good for a week, as the server counts it."""
    return issued_at + 604800.0


def expires_trusted_week(issued_at: float) -> float:
    """The end of a trusted token that is good for a week, as the server counts it."""
    return issued_at + 604800.0


def expires_borrowed_week(issued_at: float) -> float:
    """The end of a borrowed token that is good for a week, as the server counts it."""
    return issued_at + 604800.0
