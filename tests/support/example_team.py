"""What a colleague of the examples' user shares, and the messages about it."""

from collections.abc import Sequence

from support.example_messages import Examples
from support.workspace import TestClient
from ullage.service.ports.store import Passage, SearchHit, TeamHit, TeamOpenResult

_SAID = "The proxy needs port 8443: nginx on staging answers 502 on every other one.\nI added it to compose.yaml."
SHARED = (
    TeamHit(
        owner="boris",
        folder="/home/boris/weather",
        title="Deploy of the proxy",
        passage=Passage(
            hit=SearchHit(
                session_id="t_5f1d0c7be2a94a318d06c1b7",
                message_id="m41",
                index=40,
                role="assistant",
                score=7.25,
                snippet="The **proxy** needs **port** 8443: nginx on staging answers 502",
            ),
            record_id=1_204,
            chunk=0,
            text=_SAID,
        ),
    ),
    TeamHit(
        owner="carla",
        folder="/srv/gateway",
        title="",
        passage=Passage(
            hit=SearchHit(
                session_id="t_90c2b6d14f7e4d07aa5b8e31",
                message_id="m3",
                index=2,
                role="user",
                score=2.5,
                snippet="is the **proxy** up?",
                fits=False,
            ),
            record_id=2_071,
            chunk=0,
            text="is the proxy up?",
        ),
    ),
)


# The whole message that the first passage is of.
WHOLE = TeamOpenResult(
    owner="boris",
    folder="/home/boris/weather",
    title="Deploy of the proxy",
    session_id="t_5f1d0c7be2a94a318d06c1b7",
    index=40,
    role="assistant",
    text=f"{_SAID}\n\nBefore that, every other request went to the old container, which listens on 8080.",
    messages=58,
)


class SharedPassages:
    """A team's archive with these passages, whatever is searched for, and the first one's whole message."""

    def __init__(self, hits: Sequence[TeamHit] = SHARED) -> None:
        self._hits = hits

    async def search(self, query: str, limit: int) -> Sequence[TeamHit]:
        """Returns the first `limit` of them; see `ReadsTeam`."""
        assert query
        return self._hits[:limit]

    async def open(self, session_id: str, start: int, stop: int) -> Sequence[TeamOpenResult]:
        """Returns the whole message; see `ReadsTeam`."""
        assert (session_id, start, stop) == (WHOLE.session_id, WHOLE.index, WHOLE.index + 1)
        return [WHOLE]


async def search_team(examples: Examples, client: TestClient) -> None:
    """Searches what the team shares, and opens what is found."""
    client.workspace.team = SharedPassages()
    await examples.call(client, "team/search", query="which port does the proxy need", limit=5)
    await examples.call(client, "team/open", sessionId=WHOLE.session_id, index=WHOLE.index)
