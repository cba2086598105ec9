"""What a compaction brings back from disk, and what it leaves out."""

from typing import Any, Literal

import pytest

from support.fill import exchange, prompt, reply
from support.workspace import LARGE_MODEL, SMALL_MODEL, KnownFiles, TestClient, build_test_client
from ullage.model.errors import InvalidRequest
from ullage.model.settings import ContextSettings, Settings

FOLDER = "/home/ada/weather"
FILES = {"AGENTS.md": "Run the tests after every change.\n", "CLAUDE.md": "Never edit vendor/.\n" * 4_000}
TRUSTED = ContextSettings(bring_back="contents", trusted_folders=(FOLDER,))


def at_work(context: ContextSettings | None = None) -> TestClient:
    settings = Settings(context=context or ContextSettings())
    return build_test_client(settings=settings, project_files=KnownFiles(FOLDER, FILES))


async def fill_in(
    client: TestClient,
    cwd: str,
    model: str = SMALL_MODEL,
    exchanges: int = 7,
    system: str = "You are a careful engineer.",
) -> str:
    new = await client.call("session/new", model=model, system=system, cwd=cwd)
    for number in range(exchanges):
        await exchange(client, new["sessionId"], number)
    return new["sessionId"]


async def marker_of(client: TestClient, session_id: str) -> Any:
    (marker,) = [entry["message"]["content"][0] for entry in await client.entries(session_id) if entry["inserted"]]
    return marker


async def sent(client: TestClient, session_id: str) -> str:
    asked = await client.call("context/messages", sessionId=session_id, provider="openai")
    contents = [message["content"] for message in asked["request"]["messages"]]
    parts = [[{"text": content}] if isinstance(content, str) else content for content in contents]
    return "\n".join(part["text"] for content in parts for part in content)


async def test_instruction_files_are_named_for_the_model_to_read_again() -> None:
    client = at_work()
    session_id = await fill_in(client, FOLDER)
    before = await client.entries(session_id)
    compacted = await client.call("context/compact", sessionId=session_id)
    marker = await marker_of(client, session_id)
    assert marker["brought_back"] == [{"path": "AGENTS.md"}, {"path": "CLAUDE.md"}]
    assert "Read again before you go on: AGENTS.md, CLAUDE.md" in await sent(client, session_id)
    assert "Run the tests" not in await sent(client, session_id)
    assert compacted["contextSizeAfter"] <= compacted["contextSizeBefore"] // 2
    await client.call("context/undo", sessionId=session_id)
    assert await client.entries(session_id) == before


async def test_contents_come_back_where_asked_for_and_trusted_as_far_as_they_fit() -> None:
    client = at_work(TRUSTED)
    session_id = await fill_in(client, FOLDER)
    compacted = await client.call("context/compact", sessionId=session_id)
    marker = await marker_of(client, session_id)
    # The second file is too large for the remaining room, so only its name is given.
    assert marker["brought_back"] == [{"path": "AGENTS.md", "text": FILES["AGENTS.md"]}, {"path": "CLAUDE.md"}]
    assert "## AGENTS.md\nRun the tests after every change." in await sent(client, session_id)
    assert compacted["contextSizeAfter"] <= compacted["contextSizeBefore"] // 2


@pytest.mark.parametrize("bring_back", ["contents", "references"])
async def test_what_the_system_prompt_says_already_does_not_come_back(
    bring_back: Literal["contents", "references"],
) -> None:
    client = at_work(ContextSettings(bring_back=bring_back, trusted_folders=(FOLDER,)))
    session_id = await fill_in(client, FOLDER, system=f"You are a careful engineer.\n\n{FILES['AGENTS.md']}")
    await client.call("context/compact", sessionId=session_id)
    assert (await marker_of(client, session_id))["brought_back"] == [{"path": "CLAUDE.md"}]
    assert (await sent(client, session_id)).count("Run the tests after every change.") == 1


async def test_a_file_that_changed_after_the_system_prompt_was_written_comes_back() -> None:
    client = at_work(TRUSTED)
    session_id = await fill_in(client, FOLDER, system="Run the tests after every second change.")
    await client.call("context/compact", sessionId=session_id)
    assert (await marker_of(client, session_id))["brought_back"][0]["text"] == FILES["AGENTS.md"]


@pytest.mark.parametrize("trusted", [(), ("/home/ada/other",)])
async def test_nothing_is_read_from_a_folder_that_is_not_trusted(trusted: tuple[str, ...]) -> None:
    client = at_work(ContextSettings(bring_back="contents", trusted_folders=trusted))
    session_id = await fill_in(client, FOLDER)
    await client.call("context/compact", sessionId=session_id)
    assert all("text" not in file for file in (await marker_of(client, session_id))["brought_back"])


async def test_a_session_without_a_folder_or_with_bringing_back_off_gets_nothing() -> None:
    for client, cwd in ((at_work(), ""), (at_work(ContextSettings(bring_back="off")), FOLDER)):
        session_id = await fill_in(client, cwd)
        await client.call("context/compact", sessionId=session_id)
        assert "brought_back" not in await marker_of(client, session_id)


async def test_an_automatic_compaction_brings_files_back_within_its_target_and_the_next_one_again() -> None:
    client = at_work(TRUSTED)
    session_id = await fill_in(client, FOLDER, exchanges=9)
    assert sum(entry["tokens"] for entry in await client.entries(session_id)) <= 3_072
    for number in range(20, 26):
        await exchange(client, session_id, number)
        await client.entries(session_id)
    text = await sent(client, session_id)
    assert (await marker_of(client, session_id))["compaction_number"] == 2
    assert text.count("Run the tests after every change.") == 1


async def test_secrets_and_private_passages_of_a_file_stay_out() -> None:
    files = {"AGENTS.md": "Project Bluebird uses password: hunter2hunter2.\n"}
    context = ContextSettings(bring_back="contents", trusted_folders=(FOLDER,), private_patterns=("Bluebird",))
    client = build_test_client(settings=Settings(context=context), project_files=KnownFiles(FOLDER, files))
    session_id = await fill_in(client, FOLDER)
    await client.call("context/compact", sessionId=session_id)
    text = await sent(client, session_id)
    assert "## AGENTS.md\nProject [redacted] uses password: [redacted]" in text


async def test_private_passages_are_in_no_summary_ledger_or_update() -> None:
    client = at_work(ContextSettings(private_patterns=(r"Bluebird\w*", r"bird_\w+")))
    session_id = await fill_in(client, "", LARGE_MODEL, exchanges=1)
    for number in range(8):
        asked = f"Bluebird needs `bird_counter` fixed in src/bird_{number}.py. " + prompt(number)
        await client.say(session_id, asked, f"Fixed `bird_counter` for Bluebird{number}. " + reply(number))
    client.recorder.take()
    before = await client.entries(session_id, "transcript")
    preview = await client.call("context/compact", sessionId=session_id, dryRun=True, focus="Bluebird")
    summaries = [preview["summary"], str(preview["ledger"])]
    done = await client.call(
        "context/commit", sessionId=session_id, previewId=preview["previewId"], summary="Bluebird is done."
    )
    summaries += [done["summary"], str(done["ledger"]), str(client.recorder.take())]
    assert not any("Bluebird" in text or "bird_" in text for text in summaries)
    # The messages before the marker stay as they were.
    after = [entry["message"] for entry in await client.entries(session_id, "transcript") if not entry["inserted"]]
    assert after == [entry["message"] for entry in before]


async def test_an_invalid_pattern_is_refused_with_its_place() -> None:
    client = at_work()
    session_id = await fill_in(client, "", exchanges=1)
    with pytest.raises(InvalidRequest, match=r"'\(' is no regular expression"):
        await client.call("session/configure", sessionId=session_id, context={"privatePatterns": ["("]})
