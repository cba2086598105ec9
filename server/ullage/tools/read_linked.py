"""Files that a prompt links to: found with the reach of the tools, and read as text, as a picture or as a PDF."""

import asyncio
from pathlib import Path

from ullage.model.blocks import PDF
from ullage.model.errors import InvalidRequest
from ullage.service.ports.models import FileContent, FoundFile, Question
from ullage.tools.folder_tools import OpenText
from ullage.tools.reachable_files import Reach, open_spot, permitted_spot, read_plain, resolved
from ullage.tools.toolbox import OpenedFolders

# About 25,000 tokens, as for a file that the model reads itself.
_MOST_CHARS = 100_000
# The largest picture that Anthropic takes is 5 MB in base64; OpenAI's limit is higher ("Vision", both).
_MOST_BYTES = 3_750_000
# Anthropic takes requests of up to 32 MB, base64 included ("PDF support"); OpenAI takes files of up to 50 MB. A client
# sends the whole of a longer conversation with each prompt, so one document may not fill a request.
_MOST_PDF_BYTES = 10_000_000
_PDF_START = b"%PDF-"
# The first bytes of the pictures that providers take. WebP has its length in between.
_PICTURES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
_WEBP = (b"RIFF", b"WEBP")


class LocalLinkedFiles:
    """The files of this machine, for the service's port. `open_text` returns a file's text as the user's editor holds
    it, `opened` the further folders of a session that may be read without asking."""

    def __init__(self, open_text: OpenText, opened: OpenedFolders) -> None:
        self._open_text = open_text
        self._opened = opened

    async def find(self, session_id: str, cwd: str, path: str) -> FoundFile | None:
        return await asyncio.to_thread(_find, Reach(cwd=cwd, further=self._opened(session_id) or ()), path)

    async def read(self, session_id: str, file: FoundFile) -> FileContent:
        try:
            content = await asyncio.to_thread(_read, file)
        except InvalidRequest as error:
            return FileContent(fault=str(error))
        if content.data:
            return content
        text = await self._open_text(session_id, file.path)
        return FileContent(text=_cut(content.text if text is None else text))


def _find(reach: Reach, path: str) -> FoundFile | None:
    found = resolved(reach.cwd, path)
    if found is None:
        return None
    spot = open_spot(reach, path)
    folder = (spot or permitted_spot(found)).folder
    # An answer "always" covers the folder for `read_file`, too.
    asked = None if spot else Question(key=f"read_file {found.parent}", title=f"Read {found}")
    return FoundFile(path=str(found), folder=folder, is_folder=found.is_dir(), question=asked)


def _read(file: FoundFile) -> FileContent:
    """Raises `InvalidRequest`, whose text ends a sentence, if the file cannot be read or is not for a model."""
    data = _bytes(file, _MOST_BYTES + 1)
    if data.startswith(_PDF_START):
        data = _bytes(file, _MOST_PDF_BYTES + 1) if len(data) > _MOST_BYTES else data
        if len(data) > _MOST_PDF_BYTES:
            raise InvalidRequest(f"a PDF may have {_MOST_PDF_BYTES / 1e6:g} MB")
        return FileContent(data=data, media_type=PDF)
    if picture := _picture(data):
        if len(data) > _MOST_BYTES:
            raise InvalidRequest(f"a picture may have {_MOST_BYTES / 1e6:g} MB")
        return FileContent(data=data, media_type=picture)
    if b"\0" in data[:8_192]:
        raise InvalidRequest("it is neither text nor a PDF, nor a picture of a kind that models take")
    return FileContent(text=data.decode(errors="replace"))


def _bytes(file: FoundFile, most: int) -> bytes:
    try:
        return read_plain(Path(file.folder).resolve(), Path(file.path), most)
    except OSError as error:
        raise InvalidRequest(f"it cannot be read: {error.strerror or error}") from error


def _picture(data: bytes) -> str:
    if (data[:4], data[8:12]) == _WEBP:
        return "image/webp"
    return next((kind for start, kind in _PICTURES.items() if data.startswith(start)), "")


def _cut(text: str) -> str:
    left = len(text) - _MOST_CHARS
    return text if left <= 0 else f"{text[:_MOST_CHARS]}\n[{left:,} more characters are left out; read_file shows them]"
