"""Settings of a session and of a model: what counts, and what changes at once."""

import pytest

from support.fill import EXCHANGES_BELOW_WARNING, exchange, fill, start
from support.workspace import TestClient, build_test_client
from ullage.api.session_methods import read_settings
from ullage.edits.drop import NOTICE
from ullage.model.errors import InvalidRequest
from ullage.model.settings import ContextSettings, Settings

WINDOW = {"mode": "sliding_window", "strategies": [{"type": "sliding_window", "maxMessages": 4}]}


async def overfill(client: TestClient, session_id: str) -> None:
    for number in range(EXCHANGES_BELOW_WARNING + 2):
        await exchange(client, session_id, number)
    await client.entries(session_id)


async def kinds(client: TestClient, session_id: str) -> list[str]:
    return [edit["kind"] for edit in (await client.call("context/history", sessionId=session_id))["edits"]]


@pytest.mark.parametrize("mode", ["sliding_window", "token_budget", "smart"])
async def test_a_session_in_a_truncating_mode_leaves_messages_out_where_others_are_summarised(mode: str) -> None:
    client = build_test_client()
    truncated, summarised = await start(client), await start(client)
    await client.call("session/configure", sessionId=truncated, context={"mode": mode})
    for session_id in (truncated, summarised):
        await overfill(client, session_id)
    assert await kinds(client, summarised) == ["compaction"]
    assert await kinds(client, truncated) == ["drop"]
    notices = [update["title"] for update in client.recorder.take() if update["sessionUpdate"] == "notice"]
    assert any(title.startswith("Cleared older messages: ") for title in notices)
    usage = await client.call("context/get", sessionId=truncated)
    assert usage["used"] <= usage["_meta"]["ullage"]["usable"] * 0.5


async def test_a_chain_of_a_session_says_what_is_left(client: TestClient) -> None:
    new = await client.call("session/new", model="gpt-4o-8k", system="Be brief.", context=WINDOW)
    await overfill(client, new["sessionId"])
    texts = [entry["message"]["content"][0]["text"] for entry in await client.entries(new["sessionId"])]
    assert [text[:10] for text in texts] == [
        "Be brief.",
        "Question 0",
        NOTICE[:10],
        "Question 7",
        "Answer 7: ",
        "Question 8",
        "Answer 8: ",
    ]


async def test_own_settings_last_through_a_restart_and_are_inherited_by_forks(client: TestClient) -> None:
    session_id = await fill(client, 2)
    answer = await client.call("session/configure", sessionId=session_id, context={"warnAt": 0.5, **WINDOW})
    assert answer["context"]["warnAt"] == 0.5
    fork = (await client.call("session/fork", sessionId=session_id))["sessionId"]
    client.workspace.open(session_id).keep_snapshot()
    again = build_test_client(store=client.workspace.ports.store)
    for name in (session_id, fork):
        usage = await again.call("context/get", sessionId=name)
        assert usage["_meta"]["ullage"]["warnAt"] == usage["_meta"]["ullage"]["usable"] * 0.5
        assert again.workspace.open(name).settings.mode == "sliding_window"


async def test_what_a_session_does_not_set_follows_the_workspace_and_configuring_replaces_what_was_set() -> None:
    client = build_test_client(settings=Settings(context=ContextSettings(target=0.3)))
    session_id = await start(client)
    own = await client.call("session/configure", sessionId=session_id, context={"warnAt": 0.5})
    assert (own["context"]["target"], own["context"]["warnAt"]) == (0.3, 0.5)
    none = await client.call("session/configure", sessionId=session_id)
    assert (none["context"]["target"], none["context"]["warnAt"]) == (0.3, 0.8)


@pytest.mark.parametrize(
    "context",
    [{"mode": "guess"}, {"warnAt": 2}, {"warn_at": 0.5}, {"strategies": [{"type": "sliding_window", "messages": 3}]}],
)
async def test_invalid_settings_are_refused_and_change_nothing(context: dict[str, object], client: TestClient) -> None:
    session_id = await start(client)
    before = client.workspace.open(session_id).transcript.position
    for name, params in (("session/configure", {"sessionId": session_id}), ("session/new", {})):
        with pytest.raises(InvalidRequest, match="context settings"):
            await client.call(name, **params, context=context)
    assert client.workspace.open(session_id).transcript.position == before


async def test_a_session_can_be_left_alone(client: TestClient) -> None:
    session_id = await start(client)
    await client.call("session/configure", sessionId=session_id, context={"enabled": False})
    await overfill(client, session_id)
    assert await kinds(client, session_id) == []


async def test_a_model_has_its_own_thresholds_and_strategies() -> None:
    strategies = [{"type": "sliding_window", "maxMessages": 4}]
    settings = read_settings(
        {"context": {"keepToolUses": 1}, "models": {"gpt-4": {"context": {"mode": "smart", "strategies": strategies}}}}
    )
    client = build_test_client(settings=settings)
    found: dict[str, object] = {}
    for model in ("gpt-4", "gpt-4o"):
        session_id = (await client.call("session/new", model=model))["sessionId"]
        configured = await client.call("session/configure", sessionId=session_id, context={"warnAt": 0.7})
        found[model] = [configured["context"][name] for name in ("mode", "strategies", "keepToolUses", "warnAt")]
    assert found == {"gpt-4": ["smart", strategies, 1, 0.7], "gpt-4o": ["summarize", [], 1, 0.7]}


@pytest.mark.parametrize(
    ("context", "fault"),
    [
        ({"warnAt": 2}, r"\$\.models\.gpt-4 cannot be used \(expected `float` < 1\.0 at `\$\.warnAt`\)"),
        ({"warmAt": 0.5}, "there is no setting 'warmAt'"),
        ({"warnAt": 0.95}, r"ullage\.models\.gpt-4: context\.warnAt \(0\.95\) must be at most context\.compactAt"),
    ],
)
def test_wrong_settings_of_a_model_are_refused_by_name(context: dict[str, float], fault: str) -> None:
    with pytest.raises(InvalidRequest, match=fault):
        read_settings({"models": {"gpt-4": {"context": context}}})
