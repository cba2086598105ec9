"""Lines of an agent and of its sub-agents come mixed into one file: while it is followed, its session has the same
conversation as when the file is imported at once."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from support.followed_rig import IN_PIECES, Rig
from support.log_trees import to_bytes
from support.session_log import JsonObject, line, say
from support.workspace import build_test_client
from ullage.agents.transcripts import read_document
from ullage.model.errors import UnknownFormat
from ullage.service.ports.agent_files import Growth, Mark, Pieces
from ullage.service.sessions import import_or_continue
from ullage.system.growing_files import GrowingFiles, read_transcript_file

# The main conversation, one of a sub-agent that is not named, and two of sub-agents that are.
MAIN, UNNAMED, FIRST, SECOND = "main", "unnamed", "a1", "a2"


def mixed(order: list[str]) -> list[JsonObject]:
    """Returns lines of these conversations in this order: in each one, prompts and answers in turn."""
    counts, lines = dict.fromkeys(order, 0), list[JsonObject]()
    for who in order:
        number = counts[who]
        counts[who] += 1
        uuid, parent = f"{who}-{number}", f"{who}-{number - 1}" if number else None
        more: JsonObject = {"isSidechain": who != MAIN}
        if who in (FIRST, SECOND):
            more["agentId"] = who
        if number % 2:
            usage = {"input_tokens": 100 * number, "output_tokens": 7}
            lines.append(
                line("assistant", uuid, parent, [say(f"So {uuid}.")], id=uuid, stop_reason="end_turn", usage=usage)
                | more
            )
        else:
            lines.append(line("user", uuid, parent, f"Why {uuid}?") | more)
    return lines


async def follow(rig: Rig, data: bytes, cuts: list[int], waits: list[str]) -> None:
    """Follows a file that grows up to each of the places `cuts`, in percent, and does one of `waits` after each."""
    rig.path.touch()
    at = 0
    for percent, wait in zip([*sorted(cuts), 100], waits, strict=False):
        cut = len(data) * percent // 100
        rig.add(data[at:cut])
        at = cut
        if wait == "restart":
            rig.restart()
        with suppress(UnknownFormat):
            await (rig.followed.look() if wait == "look" else rig.read())
        if wait == "settle" and data[:at].endswith(b"\n") and rig.followed.conversation:
            await rig.followed.settle()
    await rig.read()
    await rig.followed.settle()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    files=st.sampled_from([GrowingFiles(), GrowingFiles(300), IN_PIECES]),
    order=st.lists(st.sampled_from([MAIN, UNNAMED, FIRST, SECOND]), min_size=1, max_size=24),
    cuts=st.lists(st.integers(0, 99), min_size=2, max_size=8),
    waits=st.lists(st.sampled_from(["", "look", "settle", "restart"]), min_size=9, max_size=9),
)
async def test_however_conversations_are_mixed_the_followed_one_is_that_of_the_whole_file(
    tmp_path_factory: pytest.TempPathFactory,
    files: GrowingFiles,
    order: list[str],
    cuts: list[int],
    waits: list[str],
) -> None:
    # A sub-agent without a name is only in files that have the main conversation, too.
    order = [*order, MAIN] if UNNAMED in order else order
    rig = Rig(tmp_path_factory.mktemp("mixed"), files=files)
    await follow(rig, to_bytes(mixed(order)), cuts, waits)
    transcript = read_document(read_transcript_file(rig.path))
    whole = (await import_or_continue(build_test_client().workspace, transcript, "")).conversation
    assert rig.followed.conversation is not None
    grown = rig.followed.conversation
    assert grown.transcript.view == whole.transcript.view
    assert grown.used == whole.used
    assert whole.transcript.origin is not None
    assert grown.transcript.origin == replace(whole.transcript.origin, path=str(rig.path))


@pytest.mark.parametrize("named", [FIRST, UNNAMED])
async def test_a_sub_agents_lines_before_the_users_first_prompt_are_another_conversation(
    tmp_path: Path, named: str
) -> None:
    rig = Rig(tmp_path)
    for number, one in enumerate(lines := mixed([named, named, MAIN, named, MAIN])):
        rig.write(lines[: number + 1])
        await rig.read()
        assert one["isSidechain"] or rig.followed.conversation is not None
    await rig.followed.settle()
    assert rig.texts == ["Why main-0?", "So main-1."]


async def test_a_file_that_ends_with_a_sub_agents_lines_is_read_on_from_where_it_was_read(tmp_path: Path) -> None:
    reads = list[int]()

    class Counting(GrowingFiles):
        def read_on(
            self, path: Path, mark: Mark | None, origin_id: str = "", *, pieces: Pieces = Pieces.LARGE
        ) -> Growth:
            reads.append(mark.offset if mark else 0)
            return super().read_on(path, mark, origin_id, pieces=pieces)

    rig = Rig(tmp_path, files=Counting())
    lines = mixed([MAIN, MAIN, *[UNNAMED] * 20, MAIN])
    for number in range(6, len(lines) + 1):
        rig.write(lines[:number])
        await rig.read()
    assert rig.texts == ["Why main-0?", "So main-1.", "Why main-2?"]
    assert reads.count(0) == 1
