"""Settings on the command line: `--settings`, for a door whose protocol has no place for them."""

import json
from pathlib import Path

from msgspec.structs import replace

from ullage.api.settings_section import read_settings
from ullage.model.errors import InputError
from ullage.model.settings import Settings


def read_settings_argument(argument: str | None, model: str | None) -> Settings:
    """The settings of `--settings` (JSON, or a file that holds it) and `--model`. Raises `InputError`."""
    settings = read_settings(_parse(argument)) if argument else Settings()
    return replace(settings, model=model) if model else settings


def _parse(argument: str) -> object:
    try:
        text = argument if argument.lstrip().startswith("{") else Path(argument).expanduser().read_text("utf-8")
        return json.loads(text)
    except OSError as error:
        raise InputError(f"--settings: cannot read {argument}: {error.strerror or error}") from None
    except ValueError as error:
        raise InputError(f"--settings: {argument} is not JSON: {error}") from None
