"""Files that a prompt links to: read inside the turn, as text or as a picture, or a sentence says why not."""

from base64 import b64decode
from collections.abc import AsyncGenerator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.pdf import small_pdf
from support.playing_rig import ALLOW, REJECT, PlayingRig, rigs_by

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360606060000000050001a5f645"
    "400000000049454e44ae426082"
)
ALWAYS: Any = {"outcome": {"outcome": "selected", "optionId": "allow_always"}}


class LinkRig(PlayingRig):
    """A rig whose model says "Yes." to everything, in a project with some files."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "say: Yes.\n---\nsay: Yes.\n---\nagain:")
        self.project = folder / "project"
        self.project.mkdir()
        self.asked: list[Any] = []

    async def open(self, *further: Path, version: int = 1, **fs: bool) -> str:
        capabilities: Any = {"fs": fs, "session": {"notices": {}}}
        await (self.initialize(capabilities) if version == 1 else self.initialize_version_2())
        folders = list(map(str, further))
        opened = await self.ask("session/new", cwd=str(self.project), mcpServers=[], additionalDirectories=folders)
        return opened["sessionId"]

    def permit(self, answer: Any) -> None:
        self.answers["session/request_permission"] = lambda params: self.asked.append(params) or answer

    async def link(self, session_id: str, *uris: str) -> list[Any]:
        """Sends a prompt with these links, and returns the blocks of its message in the transcript, without its
        text."""
        links = [{"type": "resource_link", "uri": uri, "name": uri.rsplit("/", 1)[-1]} for uri in uris]
        prompt = [{"type": "text", "text": "Look"}, *links]
        await self.ask("session/prompt", sessionId=session_id, prompt=prompt)
        if self.version == 2:
            await self.until(lambda message: "stopReason" in message.get("params", {}).get("update", {}))
        entries = (await self.ask("_ullage/context/messages", sessionId=session_id))["entries"]
        asked = [entry["message"] for entry in entries if entry["message"]["role"] == "user"]
        return asked[-1]["content"][1:]


MakeLinkRig = Callable[[], LinkRig]


@pytest.fixture
async def make_rig(tmp_path: Path) -> AsyncGenerator[MakeLinkRig]:
    async with rigs_by(partial(LinkRig, tmp_path)) as make:
        yield make


@pytest.fixture
def rig(make_rig: MakeLinkRig) -> LinkRig:
    return make_rig()


@pytest.mark.parametrize("version", [1, 2])
async def test_a_file_of_the_project_is_read_without_asking_and_counted(rig: LinkRig, version: int) -> None:
    path = rig.project / "with space.py"
    path.write_text("def login(): pass\n" * 1_000)
    session_id = await rig.open(version=version)
    (block,) = await rig.link(session_id, path.as_uri())
    assert (block["type"], block["uri"], block["text"]) == ("resource", path.as_uri(), path.read_text())
    assert (await rig.ask("_ullage/context/get", sessionId=session_id))["used"] > 4_000


async def test_a_file_is_read_as_the_editor_holds_it(rig: LinkRig) -> None:
    path = rig.project / "a.py"
    path.write_text("saved")
    rig.answers["fs/read_text_file"] = lambda params: {"content": f"not saved: {params['path']}"}
    session_id = await rig.open(readTextFile=True)
    (block,) = await rig.link(session_id, path.as_uri())
    assert block["text"] == f"not saved: {path.resolve()}"


async def test_a_picture_is_given_to_the_model_after_its_link_and_is_not_asked_of_the_editor(rig: LinkRig) -> None:
    path = rig.project / "a.png"
    path.write_bytes(PIXEL)
    session_id = await rig.open(readTextFile=True)
    link, image = await rig.link(session_id, path.as_uri())
    assert (link["type"], link.get("text"), image["type"]) == ("resource", None, "image")
    assert image["media_type"] == "image/png"
    rig.sent.clear()
    await rig.ask("session/load", sessionId=session_id, cwd=str(rig.project), mcpServers=[])
    kinds = [update["content"]["type"] for update in rig.updates("user_message_chunk")]
    assert kinds == ["text", "resource_link", "image"]


async def test_a_pdf_is_given_to_the_model_whole_and_replayed(rig: LinkRig) -> None:
    path = rig.project / "spec.pdf"
    # Longer than a picture may be.
    path.write_bytes(small_pdf(pages=3) + bytes(4_000_000))
    session_id = await rig.open(readTextFile=True)
    (block,) = await rig.link(session_id, path.as_uri())
    assert (block["type"], block["uri"], block["mime_type"]) == ("resource", path.as_uri(), "application/pdf")
    assert b64decode(block["data"]) == path.read_bytes()
    rig.sent.clear()
    await rig.ask("session/load", sessionId=session_id, cwd=str(rig.project), mcpServers=[])
    (shown,) = [u["content"] for u in rig.updates("user_message_chunk") if u["content"]["type"] == "resource"]
    assert shown["resource"] == {"uri": path.as_uri(), "blob": block["data"], "mimeType": "application/pdf"}


async def test_a_file_in_a_further_folder_is_read_without_asking(rig: LinkRig, tmp_path: Path) -> None:
    path = tmp_path / "library" / "b.py"
    path.parent.mkdir()
    path.write_text("b")
    session_id = await rig.open(path.parent)
    assert [block["text"] for block in await rig.link(session_id, path.as_uri())] == ["b"]


@pytest.mark.parametrize("answer", [ALLOW, REJECT])
async def test_a_file_outside_is_read_if_the_user_permits_it(rig: LinkRig, tmp_path: Path, answer: Any) -> None:
    path = tmp_path / "outside.txt"
    path.write_text("secret")
    # The link leads outside, whatever its own place.
    (rig.project / "inside.txt").symlink_to(path)
    rig.permit(answer)
    session_id = await rig.open()
    blocks = await rig.link(session_id, (rig.project / "inside.txt").as_uri())
    (question,) = rig.asked
    assert (question["toolCall"]["title"], question["toolCall"]["kind"]) == (f"Read {path.resolve()}", "read")
    (call,) = rig.updates("tool_call")
    assert rig.updates("tool_call_update")[-1]["toolCallId"] == call["toolCallId"]
    if answer is ALLOW:
        assert [block["text"] for block in blocks] == ["secret"]
        assert rig.updates("tool_call_update")[-1]["status"] == "completed"
    else:
        assert [block.get("text") for block in blocks][1].endswith("was not read: the user did not permit it.]")
        assert rig.updates("tool_call_update")[-1]["status"] == "failed"
        assert rig.updates("notice") == []


async def test_an_answer_always_covers_the_folder(rig: LinkRig, tmp_path: Path) -> None:
    paths = [tmp_path / "one.txt", tmp_path / "two.txt"]
    for path in paths:
        path.write_text(path.name)
    rig.permit(ALWAYS)
    session_id = await rig.open()
    blocks = await rig.link(session_id, *(path.as_uri() for path in paths))
    assert [block["text"] for block in blocks] == ["one.txt", "two.txt"]
    assert len(rig.asked) == 1


async def test_stopping_the_turn_at_the_question_ends_it_without_a_message(rig: LinkRig, tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("secret")
    session_id = await rig.open()
    link = {"type": "resource_link", "uri": (tmp_path / "outside.txt").as_uri(), "name": "outside.txt"}
    asked = rig.start("session/prompt", sessionId=session_id, prompt=[link])
    question = await rig.until(lambda message: message.get("method") == "session/request_permission")
    rig.notify("session/cancel", sessionId=session_id)
    assert (await rig.answer(asked))["stopReason"] == "cancelled"
    rig.send({"id": question["id"], "result": {"outcome": {"outcome": "cancelled"}}})
    entries = (await rig.ask("_ullage/context/messages", sessionId=session_id))["entries"]
    assert [entry["message"]["role"] for entry in entries] == ["system"]


async def test_what_is_not_read_is_said_to_the_model_and_the_user(rig: LinkRig) -> None:
    (rig.project / "a.bin").write_bytes(b"\0\1\2")
    (rig.project / "big.png").write_bytes(PIXEL + bytes(3_800_000))
    (rig.project / "big.pdf").write_bytes(small_pdf() + bytes(10_000_000))
    uris = [(rig.project / name).as_uri() for name in ("a.bin", "big.png", "none.py", "big.pdf")]
    session_id = await rig.open()
    blocks = await rig.link(session_id, *uris)
    said = [block["text"] for block in blocks if block["type"] == "text"]
    assert said == [
        f"[{uris[0]} was not read: it is neither text nor a PDF, nor a picture of a kind that models take.]",
        f"[{uris[1]} was not read: a picture may have 3.75 MB.]",
        f"[{uris[2]} was not read: there is no such file.]",
        f"[{uris[3]} was not read: a PDF may have 10 MB.]",
    ]
    (notice,) = rig.updates("notice")
    assert notice["title"] == " ".join(sentence[1:-1] for sentence in said)


async def test_folders_and_addresses_stay_links(rig: LinkRig) -> None:
    session_id = await rig.open()
    blocks = await rig.link(session_id, rig.project.as_uri(), "https://example.com/a.py")
    assert [(block["type"], block.get("text")) for block in blocks] == [("resource", None)] * 2
    assert rig.updates("notice") == []


async def test_long_files_are_cut_and_the_last_of_many_stays_a_link(rig: LinkRig) -> None:
    paths = [rig.project / f"{number}.txt" for number in range(5)]
    for path in paths:
        path.write_text("x" * 150_000)
    session_id = await rig.open()
    blocks = await rig.link(session_id, *(path.as_uri() for path in paths))
    assert blocks[0]["text"].endswith("x\n[50,000 more characters are left out; read_file shows them]")
    assert blocks[-1]["text"].endswith("the other files of the prompt are long enough; read_file reads it.]")


async def test_a_pipe_is_not_waited_for(rig: LinkRig) -> None:
    os = pytest.importorskip("os")
    if not hasattr(os, "mkfifo"):
        pytest.skip("Windows has no named pipes in folders")
    os.mkfifo(rig.project / "pipe")
    session_id = await rig.open()
    _, said = await rig.link(session_id, (rig.project / "pipe").as_uri())
    assert "it cannot be read: not a plain file" in said["text"]
