"""What Ullage knows about Crush."""

from ullage.agents.agent import Agent, Sessions
from ullage.agents.crush.compaction_settings import SETTINGS
from ullage.agents.crush.reader import FORMAT, TABLES
from ullage.agents.crush.sessions import facts_of, patterns, registry, title_of
from ullage.agents.own_context import OwnContext, Rule, Setup, Threshold, switched_off

_LARGE_WINDOW, _LEFT, _SHARE = 200_000, 20_000, 0.2


def _threshold(setup: Setup) -> Threshold:
    if setup.given.automatic is False:
        return switched_off(setup.given)
    if setup.window > _LARGE_WINDOW:
        return Rule(tokens=setup.window - _LEFT, basis=f"{_LEFT:,} tokens before the end of the window")
    return Rule(tokens=int(setup.window * (1 - _SHARE)), basis="80% of the window")


AGENT = Agent(
    name="Crush",
    formats=(FORMAT,),
    sessions=Sessions(patterns=patterns, title_of=title_of, facts_of=facts_of, registry=registry, table="sessions"),
    tables=TABLES,
    # Read in its source, `internal/agent/agent.go`.
    own_context=OwnContext(threshold=_threshold),
    own_settings=SETTINGS,
)
