"""Reads the user's own instructions for writing summaries from files."""

from pathlib import Path

from ullage.model.errors import InvalidRequest
from ullage.tools.reachable_files import resolve_inside

PROJECT_FILE = ".ullage/summary.md"
# Characters, some 5,000 tokens. A longer file was probably named by mistake.
_MOST_CHARS = 20_000


def read_summary_prompts(cwd: str, prompt_file: str, /) -> tuple[str, ...]:
    """Returns the texts of the user's instruction files: `prompt_file`, a path from the settings, then
    `.ullage/summary.md` in the project folder `cwd`.

    If `prompt_file` is "", or if the project has no such file, the tuple lacks that text. Raises `InvalidRequest` if a
    file can't be read, isn't UTF-8 text or has more than 20,000 characters, or if the project's file is a link to a
    place outside `cwd`.
    """
    own = (_read(Path(prompt_file).expanduser(), "ullage.summary.promptFile"),) if prompt_file else ()
    if not cwd or not Path(cwd, PROJECT_FILE).is_file():
        return own
    # A symbolic link in a project must not cause another file of the user to be sent to a model.
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
