"""What Ullage knows about Hermes Agent."""

from ullage.agents.agent import Agent
from ullage.agents.hermes.reader import FORMAT
from ullage.agents.own_context import OwnContext, share

AGENT = Agent(
    name="Hermes",
    formats=(FORMAT,),
    # As its maintainers say (hermes PR 1096).
    own_context=OwnContext(threshold=share(0.5)),
)
