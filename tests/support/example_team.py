"""What a colleague of the examples' user shares, and the messages about it."""

from collections.abc import Sequence

from support.example_messages import Examples
from support.workspace import TestClient
from ullage.service.ports.store import Passage, SearchHit
from ullage.service.ports.team import TeamHit

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


class SharedPassages:
    """A team's archive with these passages, whatever is searched for."""

    def __init__(self, hits: Sequence[TeamHit] = SHARED) -> None:
        self._hits = hits

    async def __call__(self, query: str, limit: int, /) -> Sequence[TeamHit]:
        """Returns the first `limit` of them; see `SearchesTeam`."""
        assert query
        return self._hits[:limit]


async def search_team(examples: Examples, client: TestClient) -> None:
    """Searches what the team shares."""
    client.workspace.searches_team = SharedPassages()
    await examples.call(client, "team/search", query="which port does the proxy need", limit=5)
