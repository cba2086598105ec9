"""What Ullage knows about Kilo Code's CLI. It is built on opencode, whose reader reads its sessions."""

from ullage.agents.agent import Agent, Sessions
from ullage.agents.opencode import KILO_SETTINGS, RESERVED, facts_of, kilo_patterns, title_of
from ullage.agents.own_context import OwnContext, less_output

AGENT = Agent(
    name="Kilo Code",
    short="Kilo",
    sessions=Sessions(patterns=kilo_patterns, title_of=title_of, format="opencode", facts_of=facts_of, table="session"),
    # Measured by trial: the same as opencode's.
    own_context=OwnContext(threshold=less_output(32_000, RESERVED)),
    own_settings=KILO_SETTINGS,
)
