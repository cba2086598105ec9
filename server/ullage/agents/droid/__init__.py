"""What Ullage knows about Factory's Droid."""

from ullage.agents.agent import Agent, Sessions
from ullage.agents.droid import stream_reader
from ullage.agents.droid.reader import FORMAT, companions
from ullage.agents.droid.sessions import facts_of, patterns, title_of

AGENT = Agent(
    name="Droid",
    formats=(FORMAT, stream_reader.FORMAT),
    companions=companions,
    sessions=Sessions(patterns=patterns, title_of=title_of, facts_of=facts_of),
)
