"""The conversations of agents on the machine of the examples' user."""

from support.example_settings import PROJECT
from support.workspace import START
from ullage.agents.discovery import Discovery, Found, UnreadFile

FOUND = Discovery(
    conversations=(
        Found(
            path="/home/ada/.claude/projects/-home-ada-weather/0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9.jsonl",
            agent="Claude Code",
            format="claude-code",
            updated_at=START,
            size=48_213,
            origin_id="0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9",
            title="Expiry of tokens",
            cwd=PROJECT,
            model="claude-opus-4-6",
        ),
        Found(
            path="/home/ada/.local/share/opencode/opencode.db",
            agent="opencode",
            format="opencode",
            updated_at=START,
            size=335_872,
            run=2,
            origin_id="ses_dff0f2e94ffeK7mTnPv05Wj9xl",
            title="Log in twice",
            cwd="/home/ada/login",
        ),
    ),
    unread=(UnreadFile(path="/home/ada/.local/share/goose/sessions/sessions.db", reason="Permission denied"),),
)
