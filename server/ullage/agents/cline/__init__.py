"""What Ullage knows about Cline."""

from ullage.agents.agent import Agent, Inserted, Sessions
from ullage.agents.cline import reader, tasks
from ullage.agents.cline.sessions import companions, facts_of, is_sub_agent, patterns, title_of
from ullage.agents.own_context import OwnContext, share

AGENT = Agent(
    name="Cline",
    formats=(reader.FORMAT, tasks.FORMAT),
    companions=companions,
    sessions=Sessions(
        patterns=patterns, title_of=title_of, facts_of=facts_of, fact_files=companions, is_sub_agent=is_sub_agent
    ),
    # Read in its source: nine tenths of the largest prompt, which is nine tenths of the window. It compares its own
    # estimate.
    own_context=OwnContext(threshold=share(0.81)),
    inserted=Inserted(tags=("environment_details", "hook_context"), typed_tags=("user_input",)),
)
