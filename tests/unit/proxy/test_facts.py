"""An agent's reports about a session, and which report counts if two differ."""

from typing import Any

from ullage.agents.agent import Occupancy
from ullage.proxy.session import AgentFacts


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
