"""What Ullage knows about OpenHands."""

from ullage.agents.agent import Agent, Sessions
from ullage.agents.openhands.reader import FORMAT
from ullage.agents.openhands.sessions import companions, fact_files, facts_of, patterns, title_of

AGENT = Agent(
    name="OpenHands",
    formats=(FORMAT,),
    companions=companions,
    sessions=Sessions(patterns=patterns, title_of=title_of, facts_of=facts_of, fact_files=fact_files),
)
