"""A model that writes summaries, for tests: scripts of its answers, and a provider that keeps its requests."""

import asyncio
from collections.abc import AsyncGenerator

from support.workspace import PATIENCE, Live, OneProvider, no_prompts
from ullage.model.answer import Fragment, ModelRequest
from ullage.providers.played import ScriptedProvider, parse_script
from ullage.service.ports.models import SummaryPrompts

GOOD = "## Task\n- Mend the parser.\n\n## State of work\n- The lexer is done.\n\n## Next step\n- Read line 7."
TOLD = "## Task\n- Mend the parser.\n\n## State of work\n- The lexer is done.\n\n## Next step\n- Read line 7.\n"


def says(*lines: str) -> str:
    """Returns a script's answer to a request for a summary."""
    return "\n".join(["for: summary", *lines])


def say(text: str) -> str:
    """Returns the script's line for a text of several lines."""
    return "say: " + text.replace("\n", "\n  ")


def script(*answers: str) -> str:
    """Returns a script of these answers."""
    return "\n---\n".join(answers)


class Listening(ScriptedProvider):
    """Plays a script, and keeps every request that it gets."""

    def __init__(self, text: str) -> None:
        super().__init__("scripted", parse_script(text))
        self.requests: list[ModelRequest] = []
        self._asked = asyncio.Event()

    @property
    def summaries(self) -> list[ModelRequest]:
        """The requests for a summary."""
        return [request for request in self.requests if request.instructions]

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Fragment]:
        self.requests.append(request)
        if request.instructions:
            self._asked.set()
        async for fragment in super().stream(request):
            yield fragment

    async def until_asked(self) -> None:
        """Waits until a summary was requested."""
        await asyncio.wait_for(self._asked.wait(), PATIENCE)

    def live(self, prompts: SummaryPrompts = no_prompts) -> Live:
        """Returns the ports by which a workspace uses this provider."""
        return Live(providers=OneProvider(self), prompts=prompts)


def by_model(summary: str) -> str:
    """Returns what a model wrote of a summary, without the page of the ledger below it."""
    return summary.partition("\n## What the user said")[0]
