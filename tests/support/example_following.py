"""The conversations that are followed on the machine of the examples' user, and the messages about them."""

from collections.abc import Sequence

from msgspec.structs import replace

from support.example_messages import Examples
from support.example_settings import PROJECT
from support.workspace import START, TestClient, as_json
from ullage.api.agent_methods import FollowingChange, wire_rows
from ullage.model.usage import (
    CacheMiss,
    CacheMissCause,
    CacheSource,
    FollowedRow,
    GoodMoment,
    Nearness,
    PromptCache,
    RateLimit,
    ThresholdSource,
    UsageSource,
    WindowSource,
)
from ullage.service.ports.models import KeepingQuestion

FOLLOWED = (
    FollowedRow(
        session_id="s_0019d4b1a2c3f00d",
        agent="Claude Code",
        agent_short="CC",
        compact_command="/compact",
        takes_focus=True,
        agent_session_id="0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9",
        title="Expiry of tokens",
        cwd=PROJECT,
        path="/home/ada/.claude/projects/-home-ada-weather/0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9.jsonl",
        model="claude-opus-4-6",
        live=True,
        process_id=4711,
        used=92_160,
        used_source=UsageSource.STALE,
        percent=46,
        window=200_000,
        window_source=WindowSource.RULE,
        compacts_at=167_000,
        compacts_at_source=ThresholdSource.LEARNED,
        calls_left=(14, 41),
        cache=PromptCache(
            until=START + 3_000_000,
            keeps=3_600_000,
            source=CacheSource.PROMISED,
            tokens=91_000,
            warm=0.0571,
            cold=0.9216,
            miss=CacheMiss(at=START - 7_200_000, cause=CacheMissCause.IDLE, tokens=74_300),
        ),
        moment=GoodMoment(at=START, work="fix: expire old tokens", tokens=34_500, cost=0.215625),
        rate_limits=(RateLimit(name="5h", percent=42, until=START + 7_200_000), RateLimit(name="7d", percent=12)),
        nearness=Nearness.FAR,
        messages=58,
        updated_at=START,
    ),
    FollowedRow(
        session_id="s_0019d4b1a2c3f00e",
        agent="opencode",
        agent_short="opencode",
        compact_command="/compact",
        agent_session_id="ses_dff0f2e94ffeK7mTnPv05Wj9xl",
        title="Log in twice",
        cwd="/home/ada/login",
        path="/home/ada/.local/share/opencode/opencode.db",
        messages=2,
        updated_at=START - 60_000,
    ),
)


class KnownFollowing:
    """Following that always has the same conversations."""

    def __init__(self) -> None:
        self.is_on = False
        self.was_asked = False

    @property
    def rows(self) -> tuple[FollowedRow, ...]:
        """The conversations, while following is on."""
        return FOLLOWED if self.is_on else ()

    async def start(self, folders: Sequence[str], *, only: bool = False) -> None:
        """Turns following on. `folders` are not read."""
        self.is_on = True

    async def stop(self) -> None:
        """Turns following off."""
        self.is_on = False

    async def asks_to_keep(self) -> KeepingQuestion | None:
        """Returns what the user is asked before the first answer."""
        path = "/home/ada/.local/share/ullage/sessions.db.archive"
        question = KeepingQuestion(conversations=117, size=412_000_000, path=path, limit=5_000_000_000)
        return None if self.was_asked else question

    async def keep(self, *, wanted: bool) -> None:
        """Takes an answer."""
        self.was_asked = True


async def follow(examples: Examples, client: TestClient, session_id: str) -> None:
    """Follows two conversations of agents. The client's own session plays one that can't be changed."""
    client.workspace.following = KnownFollowing()
    await examples.call(client, "following/start", folders=[PROJECT])
    await examples.call(client, "following/list")
    await examples.call(client, "following/keep", keep=True)
    await examples.call(client, "following/stop")
    changed = FollowingChange(rows=wire_rows(FOLLOWED[:1]), gone=("s_0019d4b1a2c3f00c",))
    examples.keep("following.changed.params", as_json(changed))
    client.workspace.followed[session_id] = replace(FOLLOWED[0], session_id=session_id, used=None)
    await examples.refusal(client, "context/compact", sessionId=session_id)
    del client.workspace.followed[session_id]
