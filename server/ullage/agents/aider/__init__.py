"""What Ullage knows about aider."""

from ullage.agents.agent import Agent, Sessions
from ullage.agents.aider.reader import FORMAT
from ullage.agents.aider.sessions import facts_of, patterns, title_of

AGENT = Agent(
    name="aider", formats=(FORMAT,), sessions=Sessions(patterns=patterns, title_of=title_of, facts_of=facts_of)
)
