"""The proxy's recorder: jobs run in order, and a failing store leaves a defined state."""

from typing import Any

from support.workspace import build_test_client
from ullage.agents.agent import Occupancy
from ullage.model.errors import StoreUnavailable
from ullage.proxy.record import Recorder, Store
from ullage.proxy.session import AgentFacts
from ullage.service.conversation.workspace import Workspace


def make_recorder(reasons: list[str]) -> Recorder:
    return Recorder(Store(prepare=lambda: None, open=lambda: build_test_client().workspace), reasons.append)


async def test_jobs_are_done_in_the_order_they_are_put() -> None:
    done: list[int] = []
    recorder = make_recorder([])
    for number in range(5):

        async def job(_: Workspace, number: int = number) -> None:
            done.append(number)

        await recorder.put(job)
    assert await recorder.settled() is recorder.workspace
    await recorder.close()
    assert done == [0, 1, 2, 3, 4]


async def test_a_job_with_a_fault_of_ours_does_not_keep_the_next_from_being_done() -> None:
    done: list[str] = []

    async def wrong(_: Workspace) -> None:
        raise ValueError("ours")

    async def right(_: Workspace) -> None:
        done.append("right")

    recorder = make_recorder([])
    await recorder.put(wrong)
    await recorder.put(right)
    await recorder.close()
    assert done == ["right"]


async def test_a_store_that_fails_ends_the_recording_with_one_reason_and_leaves_no_workspace() -> None:
    reasons: list[str] = []

    async def fails(_: Workspace) -> None:
        raise StoreUnavailable("the disk is full")

    recorder = make_recorder(reasons)
    for _ in range(2):
        await recorder.put(fails)
    assert await recorder.settled() is None
    assert recorder.workspace is None
    assert reasons == ["the disk is full"]
    await recorder.close()


# An agent's reports about a session, and which report counts if two differ


def model_option(value: str) -> dict[str, Any]:
    return {"configOptions": [{"id": "model", "category": "model", "currentValue": value}]}


def test_an_option_names_the_model_until_the_agent_reports_it() -> None:
    facts = AgentFacts()
    facts.take_opened(model_option("default"))
    assert facts.model == "default"
    facts.take_occupancy(Occupancy(used=1, model="claude-x"))
    facts.take_update({"sessionUpdate": "config_option_update", **model_option("fast")})
    assert (facts.model, facts.config) == ("claude-x", {"model": "fast"})


def test_a_window_stays_known_when_a_later_figure_comes_without_it() -> None:
    facts = AgentFacts()
    facts.take_occupancy(Occupancy(used=1, size=8_000))
    facts.take_occupancy(Occupancy(used=2))
    assert (facts.window, facts.occupancy) == (8_000, Occupancy(used=2))


def test_a_figure_from_an_answer_is_no_sign_that_the_agent_sends_its_usage() -> None:
    facts = AgentFacts()
    facts.take_occupancy(Occupancy(used=1))
    assert not facts.reports_usage
    facts.take_occupancy(Occupancy(used=1), {"sessionUpdate": "usage_update"})
    assert facts.reports_usage


def test_an_empty_list_of_commands_is_a_list() -> None:
    facts = AgentFacts()
    facts.take_update({"sessionUpdate": "available_commands_update", "availableCommands": []})
    assert facts.has_commands
    assert facts.command_names == set()


def test_what_an_agent_sends_each_of_its_sessions_is_kept_once() -> None:
    one, other = AgentFacts(), AgentFacts()
    for facts in (one, other):
        facts.take_opened({"availableCommands": [{"name": "compact"}], "configOptions": [{"id": "mode"}]})
    assert one.commands is other.commands
    assert one.options is other.options
    other.take_update({"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "clear"}]})
    assert (one.command_names, other.command_names) == ({"compact"}, {"clear"})
