"""Conversations of a known size on the 8k model: 6,144 tokens usable, a warning at 4,915, compaction at 5,529."""

from support.workspace import SMALL_MODEL, TestClient

# One exchange is 680 tokens: 7 of them stay below the warning, the 8th crosses it, the 9th compacts.
EXCHANGES_BELOW_WARNING = 7


def prompt(number: int) -> str:
    """Returns about 250 tokens that differ from exchange to exchange."""
    return f"Question {number}: " + "Please look at the parser module and say what is wrong with it. " * 19


def reply(number: int) -> str:
    """Returns about 400 tokens that differ from exchange to exchange."""
    return f"Answer {number}: " + f"The parser reads one token too many at line {number}. " * 33


async def start(client: TestClient, model: str = SMALL_MODEL) -> str:
    """Starts a session with a system prompt and returns its id."""
    new = await client.call("session/new", model=model, system="You are a careful engineer.")
    return new["sessionId"]


async def exchange(client: TestClient, session_id: str, number: int) -> int:
    """Appends one prompt with its answer and returns the tokens used after it."""
    appended = await client.say(session_id, prompt(number), reply(number))
    client.clock.advance(seconds=60)
    return appended["usage"]["used"]


async def fill(client: TestClient, exchanges: int = EXCHANGES_BELOW_WARNING, model: str = SMALL_MODEL) -> str:
    """Makes a session of so many exchanges, drops the recorded updates, and returns its id."""
    session_id = await start(client, model)
    for number in range(exchanges):
        await exchange(client, session_id, number)
    client.recorder.take()
    return session_id


async def fill_until_compacted(client: TestClient) -> str:
    """Makes a session that has just been compacted automatically, and returns its id."""
    session_id = await fill(client)
    for number in range(EXCHANGES_BELOW_WARNING, EXCHANGES_BELOW_WARNING + 2):
        await exchange(client, session_id, number)
    await client.entries(session_id)
    client.recorder.take()
    return session_id
