"""The life of a proxied session, driven by lines of a client and of an agent: every transition of the table."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from support.lsp_client import RpcFailure
from support.proxy_play import ID, Play, Step, playing
from support.systems import needs_unix_sockets
from ullage.proxy.session_life import TRANSITIONS, Event, State

pytestmark = needs_unix_sockets


async def new(play: Play) -> None:
    """A session is started and gets a prompt, and a second prompt before the first is answered."""
    await play.greet()
    first, second = play.prompts("One"), play.prompts("Two")
    for _ in range(2):
        play.agent.answers(await play.agent.gets("session/prompt"), stopReason="end_turn")
    await play.client.answer(first)
    await play.client.answer(second)
    assert play.session.state is State.IDLE


async def loaded(play: Play) -> None:
    """The agent opens a former session, and the client sends a prompt before the answer."""
    await play.greet_only()
    asked, early = play.loads(), play.prompts("Early")
    request, prompt = await play.agent.gets("session/load"), await play.agent.gets("session/prompt")
    play.agent.answers(prompt, stopReason="end_turn")
    await play.client.answer(early)
    play.agent.answers(request)
    await play.client.answer(asked)
    assert play.session.state is State.IDLE


async def loaded_late(play: Play) -> None:
    """If the agent answers the load first, the early prompt is an ordinary turn and is recorded."""
    await play.greet_only()
    asked, early = play.loads(), play.prompts("Early")
    request, prompt = await play.agent.gets("session/load"), await play.agent.gets("session/prompt")
    play.agent.answers(request)
    await play.client.answer(asked)
    assert play.session.state is State.PROMPTING
    play.agent.answers(prompt, stopReason="end_turn")
    await play.client.answer(early)
    view = (await play.client.record()).open(ID).transcript.view
    assert [message.text for message in view] == ["Early"]


async def load_refused(play: Play) -> None:
    """If neither agent nor store know a session, the client gets the agent's answer."""
    await play.greet_only()
    asked = play.loads()
    play.agent.refuses(await play.agent.gets("session/load"))
    with pytest.raises(RpcFailure, match="no"):
        await play.client.answer(asked)
    assert play.client.proxy.sessions.get(ID) is None


async def loaded_twice(play: Play) -> None:
    """A second load replaces the first. The answer to the first is forwarded and changes nothing."""
    await play.greet_only()
    first = play.loads()
    request = await play.agent.gets("session/load")
    second = play.loads()
    again = await play.agent.gets("session/load")
    play.agent.answers(request)
    await play.client.answer(first)
    assert play.session.state is State.OPENING
    play.agent.answers(again)
    await play.client.answer(second)


async def died_while_opening(play: Play) -> None:
    await play.greet_only()
    asked = play.loads()
    await play.agent.gets("session/load")
    await play.lose()
    with pytest.raises(RpcFailure, match="puppet ended"):
        await play.client.answer(asked)


async def died_idle_and_came_back(play: Play) -> None:
    """The next prompt opens the session again, and the client gets nothing of the replay."""
    await play.greet()
    await play.turn()
    await play.lose()
    asked = play.prompts("Again")
    request = await play.agent.gets("session/load")
    play.agent.says(ID, "a replay")
    play.agent.answers(request)
    play.agent.answers(await play.agent.gets("session/prompt"), stopReason="end_turn")
    await play.client.answer(asked)
    assert not any(b"a replay" in line for line in play.client.lines)


async def died_while_prompting(play: Play) -> None:
    await play.greet()
    asked = play.prompts()
    await play.agent.gets("session/prompt")
    await play.lose()
    with pytest.raises(RpcFailure, match="puppet ended"):
        await play.client.answer(asked)


async def closed_idle(play: Play) -> None:
    """A session may be closed twice, and both answers are the agent's. If the agent refuses to close it, it stays
    open."""
    await play.greet()
    asked = play.client.start("session/close", sessionId=ID)
    play.agent.refuses(await play.agent.gets("session/close"))
    with pytest.raises(RpcFailure):
        await play.client.answer(asked)
    assert play.session.state is State.IDLE
    both = [play.client.start("session/close", sessionId=ID) for _ in range(2)]
    for request in [await play.agent.gets("session/close") for _ in both]:
        play.agent.answers(request)
    for asked in both:
        await play.client.answer(asked)


async def closed_while_prompting(play: Play) -> None:
    """The messages until the close are recorded."""
    await play.greet()
    prompt = play.prompts()
    request = await play.agent.gets("session/prompt")
    play.agent.says(ID, "Half an answer")
    closing = play.client.start("session/close", sessionId=ID)
    play.agent.answers(await play.agent.gets("session/close"))
    await play.client.answer(closing)
    play.agent.answers(request, stopReason="cancelled")
    await play.client.answer(prompt)
    view = (await play.client.record()).open(ID).transcript.view
    assert [message.text for message in view] == ["Hello", "Half an answer"]


async def handed_over(play: Play) -> None:
    """A handover: the client does not see the summary, the fresh session gets it, and then the next prompt is
    forwarded."""
    await play.greet()
    await play.turn()
    asked, request = await play.hand_over()
    assert play.session.state is State.SUMMARIZING
    play.agent.says(ID, "SUMMARY")
    play.agent.answers(request, stopReason="end_turn")
    play.agent.answers(await play.agent.gets("session/new"), sessionId="fresh")
    await play.client.answer(asked)
    assert not any(b"SUMMARY" in line for line in play.client.lines)
    told = await play.turn("Go on")
    assert told["params"]["sessionId"] == "fresh"
    assert "SUMMARY" in told["params"]["prompt"][0]["text"]


async def died_while_summarizing(play: Play) -> None:
    """The handover ends with one clear error, and is not tried again with the dead agent."""
    await play.greet()
    await play.turn()
    asked, _ = await play.hand_over()
    await play.lose()
    with pytest.raises(RpcFailure, match="agent ended"):
        await play.client.answer(asked)
    assert play.session.state is State.LOST


async def died_while_moving(play: Play) -> None:
    await play.greet()
    await play.turn()
    asked, request = await play.hand_over()
    play.agent.answers(request, stopReason="end_turn")
    await play.agent.gets("session/new")
    await play.lose()
    with pytest.raises(RpcFailure, match="agent ended"):
        await play.client.answer(asked)


async def closed_while_summarizing(play: Play) -> None:
    await play.greet()
    await play.turn()
    asked, request = await play.hand_over()
    closing = play.client.start("session/close", sessionId=ID)
    play.agent.answers(await play.agent.gets("session/close"))
    await play.client.answer(closing)
    play.agent.says(ID, "SUMMARY")
    play.agent.answers(request, stopReason="end_turn")
    play.agent.answers(await play.agent.gets("session/new"), sessionId="fresh")
    with pytest.raises(RpcFailure, match="closed"):
        await play.client.answer(asked)


async def closed_while_held(play: Play) -> None:
    await play.greet()
    await play.turn()
    asked, request = await play.hand_over()
    play.agent.says(ID, "SUMMARY")
    play.agent.answers(request, stopReason="end_turn")
    making = await play.agent.gets("session/new")
    assert play.session.state is State.HOLDING
    closing = play.client.start("session/close", sessionId=ID)
    play.agent.answers(await play.agent.gets("session/close"))
    await play.client.answer(closing)
    play.agent.answers(making, sessionId="fresh")
    with pytest.raises(RpcFailure, match="closed"):
        await play.client.answer(asked)


async def fill(play: Play) -> int:
    """Fills the context of an agent with its own compact command. Returns the id of the prompt that waits for the
    compaction."""
    await play.greet()
    offered = [{"name": "compact", "description": "Compact"}]
    play.agent.updates(ID, sessionUpdate="available_commands_update", availableCommands=offered)
    await play.turn(used=7_900)
    return play.prompts("Go on")


async def compacted(play: Play) -> None:
    """The agent's own command runs before the prompt, and the client sees it."""
    asked = await fill(play)
    request = await play.agent.gets("session/prompt")
    assert request["params"]["prompt"][0]["text"] == "/compact"
    assert play.session.state is State.COMPACTING
    play.agent.says(ID, "Compacted.")
    play.agent.reports(ID, 900)
    play.agent.answers(request, stopReason="end_turn")
    play.agent.answers(await play.agent.gets("session/prompt"), stopReason="end_turn")
    await play.client.answer(asked)
    assert any(b"Compacted." in line for line in play.client.lines)


async def died_while_compacting(play: Play) -> None:
    """The prompt that waits for the compaction gets an answer."""
    asked = await fill(play)
    await play.agent.gets("session/prompt")
    await play.lose()
    with pytest.raises(RpcFailure, match="agent ended"):
        await play.client.answer(asked)


async def closed_while_compacting(play: Play) -> None:
    asked = await fill(play)
    request = await play.agent.gets("session/prompt")
    closing = play.client.start("session/close", sessionId=ID)
    play.agent.answers(await play.agent.gets("session/close"))
    await play.client.answer(closing)
    play.agent.answers(request, stopReason="end_turn")
    with pytest.raises(RpcFailure, match="closed"):
        await play.client.answer(asked)


async def begun_again(play: Play) -> None:
    """If the agent has lost the session, too, it continues in a fresh session with a summary made by the proxy."""
    await play.greet()
    await play.turn("The cask is called Berta")
    await play.lose()
    asked = play.prompts("Which cask?")
    play.agent.refuses(await play.agent.gets("session/load"))
    play.agent.answers(await play.agent.gets("session/new"), sessionId="fresh")
    told = await play.agent.gets("session/prompt")
    assert "Berta" in told["params"]["prompt"][0]["text"]
    play.agent.answers(told, stopReason="end_turn")
    await play.client.answer(asked)


async def not_reopened(play: Play) -> None:
    """If neither works, the prompt fails, and the next prompt tries again."""
    await play.greet()
    await play.turn()
    await play.lose()
    asked = play.prompts("Again")
    play.agent.refuses(await play.agent.gets("session/load"))
    play.agent.refuses(await play.agent.gets("session/new"))
    with pytest.raises(RpcFailure, match="refused session/new"):
        await play.client.answer(asked)
    assert play.session.state is State.LOST


async def died_while_reopening_and_once_more(play: Play) -> None:
    """The agent dies again, once while it opens the session and once while it works in another session."""
    await play.greet()
    await play.turn()
    await play.lose()
    asked = play.prompts("Again")
    await play.agent.gets("session/load")
    await play.lose()
    with pytest.raises(RpcFailure):
        await play.client.answer(asked)
    play.client.start("session/new", cwd="/work", mcpServers=[])
    await play.agent.gets("session/new")
    play.agent.dies()
    await play.client.until(lambda message: "error" in message and message["id"] == asked + 1)


async def loaded_while_lost_and_while_reopening(play: Play) -> None:
    """The client itself may open the session again at any time."""
    await play.greet()
    await play.turn()
    await play.lose()
    asked = play.prompts("Again")
    reopening = await play.agent.gets("session/load")
    loading = play.loads()
    request = await play.agent.gets("session/load")
    play.agent.answers(reopening)
    play.agent.answers(request)
    await play.client.answer(loading)
    with pytest.raises(RpcFailure, match="closed"):
        await play.client.answer(asked)
    await play.lose()
    loading = play.loads()
    play.agent.answers(await play.agent.gets("session/load"))
    await play.client.answer(loading)
    assert play.session.state is State.IDLE


SCENES: dict[Callable[[Play], Awaitable[None]], set[Step]] = {
    new: {
        (State.OPENING, Event.OPENED),
        (State.IDLE, Event.PROMPTED),
        (State.PROMPTING, Event.PROMPTED),
        (State.PROMPTING, Event.ANSWERED),
    },
    loaded: {(State.OPENING, Event.PROMPTED), (State.OPENING, Event.ANSWERED)},
    loaded_late: {(State.OPENING, Event.OPENED), (State.IDLE, Event.PROMPTED)},
    load_refused: {(State.OPENING, Event.REFUSED), (State.LOST, Event.CLOSE)},
    loaded_twice: {(State.OPENING, Event.CLOSE)},
    died_while_opening: {(State.OPENING, Event.AGENT_ENDED)},
    died_idle_and_came_back: {
        (State.IDLE, Event.AGENT_ENDED),
        (State.LOST, Event.HELD),
        (State.REOPENING, Event.OPENED),
        (State.HOLDING, Event.PROMPTED),
        (State.PROMPTING, Event.RELEASED),
    },
    died_while_prompting: {(State.PROMPTING, Event.AGENT_ENDED)},
    closed_idle: {(State.IDLE, Event.CLOSE), (State.CLOSED, Event.CLOSE)},
    closed_while_prompting: {(State.PROMPTING, Event.CLOSE)},
    handed_over: {
        (State.IDLE, Event.HELD),
        (State.HOLDING, Event.SUMMARIZE),
        (State.SUMMARIZING, Event.DONE),
        (State.HOLDING, Event.MOVED),
        (State.HOLDING, Event.RELEASED),
    },
    died_while_summarizing: {
        (State.SUMMARIZING, Event.AGENT_ENDED),
        (State.LOST, Event.DONE),
        (State.LOST, Event.RELEASED),
    },
    died_while_moving: {(State.HOLDING, Event.AGENT_ENDED)},
    closed_while_summarizing: {
        (State.SUMMARIZING, Event.CLOSE),
        (State.CLOSED, Event.DONE),
        (State.CLOSED, Event.RELEASED),
    },
    closed_while_held: {(State.HOLDING, Event.CLOSE)},
    compacted: {(State.HOLDING, Event.COMPACT), (State.COMPACTING, Event.DONE)},
    died_while_compacting: {(State.COMPACTING, Event.AGENT_ENDED)},
    closed_while_compacting: {(State.COMPACTING, Event.CLOSE)},
    begun_again: {(State.REOPENING, Event.MOVED)},
    not_reopened: {(State.REOPENING, Event.RELEASED)},
    died_while_reopening_and_once_more: {(State.REOPENING, Event.AGENT_ENDED), (State.LOST, Event.AGENT_ENDED)},
    loaded_while_lost_and_while_reopening: {(State.REOPENING, Event.CLOSE), (State.LOST, Event.CLOSE)},
}
# Only with a store that is slow at that moment does the agent answer before the proxy has recorded the held prompt.
TOO_FAST_FOR_LINES: set[Step] = {(State.IDLE, Event.RELEASED)}


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
async def test_the_lines_of_a_scene_take_the_session_through_its_steps(
    scene: Callable[[Play], Awaitable[None]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with playing(tmp_path, monkeypatch) as play:
        await scene(play)
    assert SCENES[scene] <= set(play.steps)


def test_the_scenes_go_through_every_transition_of_the_table() -> None:
    table = {(state, event) for state, events in TRANSITIONS.items() for event in events}
    assert set().union(*SCENES.values(), TOO_FAST_FOR_LINES) == table
