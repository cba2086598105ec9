"""What Ullage knows about Copilot CLI."""

from ullage.agents.agent import Agent, Inserted, Sessions
from ullage.agents.copilot_cli.agent_runs import companions
from ullage.agents.copilot_cli.reader import FORMAT
from ullage.agents.copilot_cli.sessions import facts_of, patterns, running_patterns, title_of
from ullage.agents.own_context import OwnContext, share
from ullage.agents.running import Processes, running_in_name

AGENT = Agent(
    name="Copilot CLI",
    short="Copilot",
    formats=(FORMAT,),
    companions=companions,
    sessions=Sessions(patterns=patterns, title_of=title_of, facts_of=facts_of, fact_files=companions),
    processes=Processes(patterns=running_patterns, running_in=running_in_name),
    # Of the most tokens of a prompt, which it reports as its window; measured by trial with 1.0.102.
    own_context=OwnContext(threshold=share(0.8)),
    inserted=Inserted(tags=("current_datetime", "system_reminder")),
)
