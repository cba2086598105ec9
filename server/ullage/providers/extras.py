"""Packages that only some sessions need: Ullage's extras (`pip install 'ullage[anthropic]'`, pyproject.toml)."""

from importlib.util import find_spec

from ullage.model import words
from ullage.model.errors import SdkMissing

# Each extra, and the import name of its package, are called the same.
EXTRAS = ("anthropic", "openai", "keyring")
# The extra that each kind of provider needs; the others need none.
_OF_KIND = {"anthropic": "anthropic", "openai": "openai", "openai_chat": "openai"}


def is_installed(extra: str) -> bool:
    """Whether the extra's package can be imported; imports nothing."""
    return find_spec(extra) is not None


def require_sdk(provider: str, kind: str) -> None:
    """Raises `SdkMissing`, which names the remedy, if the package that this kind of provider needs isn't installed."""
    extra = _OF_KIND.get(kind)
    if extra is not None and not is_installed(extra):
        raise SdkMissing(words.sdk_missing(provider, extra))
