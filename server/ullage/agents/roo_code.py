"""What Ullage knows about Roo Code. It began as a copy of Cline, whose reader reads its tasks."""

from ullage.agents.agent import Agent, Sessions
from ullage.agents.cline import companions, roo_patterns, title_of

AGENT = Agent(
    name="Roo Code",
    short="Roo",
    sessions=Sessions(patterns=roo_patterns, title_of=title_of, format="cline-task", fact_files=companions),
)
