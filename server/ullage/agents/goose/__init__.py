"""What Ullage knows about goose."""

from ullage.agents.agent import Agent, Sessions
from ullage.agents.goose.compaction_settings import SETTINGS
from ullage.agents.goose.reader import FORMAT, TABLES
from ullage.agents.goose.sessions import facts_of, patterns, title_of
from ullage.agents.own_context import OwnContext, share

AGENT = Agent(
    name="goose",
    formats=(FORMAT,),
    sessions=Sessions(patterns=patterns, title_of=title_of, facts_of=facts_of, table="sessions"),
    tables=TABLES,
    # Read in its source, `context_mgmt/mod.rs`.
    own_context=OwnContext(threshold=share(0.8)),
    own_settings=SETTINGS,
)
