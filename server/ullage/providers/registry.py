"""Which provider answers for a model: the one named in the settings, else the one whose model and key there are."""

from collections.abc import Callable, Mapping
from pathlib import Path

from ullage.model import words
from ullage.model.errors import InvalidRequest, NoModelConfigured
from ullage.model.settings import ProviderSettings, Settings
from ullage.providers.script import parse_script
from ullage.providers.scripted import ScriptedProvider
from ullage.service.ports import Provider

MakeProvider = Callable[[str, ProviderSettings], Provider]


class ProviderRegistry:
    """Makes each provider once; one whose settings changed is made anew."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[ProviderSettings, Provider]] = {}

    def __call__(self, _model: str, settings: Settings, /) -> Provider:
        if not settings.provider:
            raise NoModelConfigured(words.no_model())
        if settings.provider not in settings.providers:
            known = ", ".join(settings.providers) or "none"
            raise NoModelConfigured(
                f"no provider is called {settings.provider!r}; ullage.providers has: {known}. Correct ullage.provider."
            )
        return self._named(settings.provider, settings.providers[settings.provider])

    def _named(self, name: str, settings: ProviderSettings) -> Provider:
        known = self._made.get(name)
        if known is None or known[0] != settings:
            self._made[name] = (settings, _MAKERS[settings.kind](name, settings))
        return self._made[name][1]


def _make_scripted(name: str, settings: ProviderSettings) -> Provider:
    return ScriptedProvider(name, parse_script(_read(name, settings)))


def _read(name: str, settings: ProviderSettings) -> str:
    try:
        return Path(settings.file).expanduser().read_text(encoding="utf-8")
    except OSError as error:
        reason = error.strerror or error
        raise InvalidRequest(f"ullage.providers.{name}.file: cannot read {settings.file!r}: {reason}") from error


_MAKERS: Mapping[str, MakeProvider] = {"scripted": _make_scripted}
