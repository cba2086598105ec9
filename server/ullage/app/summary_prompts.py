"""A person's own instructions for summaries, from files."""

from pathlib import Path

from ullage.model.errors import InvalidRequest
from ullage.tools.folder import resolve_inside

PROJECT_FILE = ".ullage/summary.md"
# Instructions longer than this (some 5,000 tokens) are a file that was named by mistake.
_MOST_CHARS = 20_000


def read_summary_prompts(cwd: str, prompt_file: str, /) -> tuple[str, ...]:
    """The file that the settings name, then the project's own if it has one. Raises `InvalidRequest`."""
    own = (_read(Path(prompt_file).expanduser(), "ullage.summary.promptFile"),) if prompt_file else ()
    if not cwd or not Path(cwd, PROJECT_FILE).is_file():
        return own
    # A project's link must not have another file of the person's sent to a model.
    return (*own, _read(resolve_inside(cwd, PROJECT_FILE), PROJECT_FILE))


def _read(path: Path, name: str) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidRequest(f"{name}: cannot read {str(path)!r}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{name}: {str(path)!r} is not a text file") from error
    if len(text) > _MOST_CHARS:
        raise InvalidRequest(f"{name}: {str(path)!r} has {len(text):,} characters; at most {_MOST_CHARS:,} are used")
    return text
