"""The figure of a conversation that an agent has: it is what the agent's own file says, at the file's own time. Only
our own conversations are edited without being asked."""

import json
from typing import Any

import pytest

from support.claude_log import BEGAN, ClaudeLog
from support.fill import fill, start
from support.foreign import to_lines
from support.workspace import LARGE_MODEL, SMALL_MODEL, TestClient, build_test_client, play
from ullage.model.settings import Limit, ModelSettings, Settings

MINUTE = 60_000


async def brought_in(client: TestClient, log: ClaudeLog) -> tuple[str, Any]:
    """Imports a log. Returns the session's id and its usage."""
    session = (await client.call("session/import", text=log.text))["session"]
    return session["sessionId"], session["usage"]


def figures(usage: Any) -> Any:
    return usage["_meta"]["ullage"]


async def now(client: TestClient, session_id: str) -> Any:
    return await client.call("context/get", sessionId=session_id)


def long_log() -> ClaudeLog:
    """Returns a log whose last report is 166,000 tokens and 500 of output, at 83 % of Claude Code's window."""
    log = ClaudeLog()
    for step in range(1, 9):
        log.ask(f"Question {step}. " + "Please look at the parser once more. " * 1_600).answer(
            30_000 + 17_000 * step, 500
        )
    return log


async def test_after_an_import_the_last_report_of_the_file_is_the_figure() -> None:
    _, usage = await brought_in(build_test_client(), ClaudeLog().ask().answer(60_000).ask().answer(102_000, 168))
    assert (usage["used"], figures(usage)["source"], figures(usage)["errorShare"]) == (102_168, "reported", 0.0)


async def test_a_change_of_model_before_the_last_report_keeps_it() -> None:
    log = ClaudeLog(model="claude-haiku-4-5").ask().answer(60_000)
    log.model = "claude-opus-4-6"
    log.ask().answer(61_000)
    log.model = "claude-haiku-4-5"
    log.ask().answer(64_000, 100)
    client = build_test_client()
    session_id, usage = await brought_in(client, log)
    assert (usage["used"], figures(usage)["source"]) == (64_100, "reported")
    again = build_test_client(store=client.workspace.ports.store)
    assert figures(await now(again, session_id)) == figures(usage)


async def test_another_model_with_the_same_tokenizer_keeps_the_report_and_one_with_another_does_not() -> None:
    client = build_test_client()
    session_id = await start(client)
    await client.say(session_id, "Hi.", "Hello.", usage={"input_tokens": 2_000, "output_tokens": 5})
    same = await client.call("session/append", sessionId=session_id, messages=[], model=LARGE_MODEL)
    assert (same["usage"]["used"], figures(same["usage"])["source"]) == (2_005, "reported")
    other = await client.call("session/append", sessionId=session_id, messages=[], model="gpt-4")
    assert figures(other["usage"])["source"] == "estimated"


async def test_the_figure_has_the_time_of_the_file_and_never_that_of_the_import() -> None:
    log = ClaudeLog().ask().answer(60_000).ask()
    _, usage = await brought_in(build_test_client(), log)
    assert figures(usage)["reportedAt"] == BEGAN + MINUTE
    assert figures(usage)["asOf"] == BEGAN + 2 * MINUTE


async def test_a_file_without_times_gives_a_figure_without_one() -> None:
    messages = '[{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]'
    imported = await build_test_client().call("session/import", text=messages)
    assert figures(imported["session"]["usage"])["asOf"] is None


async def test_window_and_threshold_are_the_agents_and_say_how_they_are_known() -> None:
    _, usage = await brought_in(build_test_client(), ClaudeLog().ask().answer(83_500))
    meta = figures(usage)
    assert (usage["size"], meta["window"]["source"], meta["percent"]) == (200_000, "rule", 42)
    assert (meta["compactAt"], meta["threshold"]["tokens"], meta["threshold"]["percent"]) == (167_000, 167_000, 84)
    assert (meta["threshold"]["source"], meta["left"]) == ("rule", 167_000 - usage["used"])
    assert (meta["agent"], meta["managedBy"], meta["level"]) == ("Claude Code", "agent", "normal")


async def test_recorded_compactions_are_the_evidence() -> None:
    log = ClaudeLog().ask().answer(166_500).ask().compact(167_094).ask().answer(40_000)
    _, usage = await brought_in(build_test_client(), log)
    meta = figures(usage)
    assert (meta["window"]["source"], meta["threshold"]["source"], meta["threshold"]["times"]) == ("log", "learned", 1)


async def test_the_level_is_relative_to_the_agents_threshold() -> None:
    levels: list[str] = []
    for tokens in (140_000, 159_000, 166_990):
        _, usage = await brought_in(build_test_client(), ClaudeLog().ask().answer(tokens))
        levels.append(figures(usage)["level"])
    assert levels == ["normal", "warning", "critical"]


async def test_the_users_window_comes_first_and_the_file_may_contradict_it() -> None:
    settings = Settings(models={"claude-opus-4-6": ModelSettings(window=100_000)})
    _, usage = await brought_in(build_test_client(settings=settings), ClaudeLog().ask().answer(140_000))
    window = figures(usage)["window"]
    assert (window["size"], window["source"]) == (100_000, "settings")
    assert "140,000" in window["contradiction"]


async def test_an_imported_copy_is_never_edited_by_itself_whatever_settings_change(client: TestClient) -> None:
    session_id, usage = await brought_in(client, long_log())
    await client.workspace.open(session_id).settled()
    client.workspace.configure(Settings(models={"claude-opus-4-6": ModelSettings(window=120_000)}))
    await client.call("session/configure", sessionId=session_id, context={"compactAt": 0.3, "warnAt": 0.2})
    await client.workspace.open(session_id).settled()
    after = await now(client, session_id)
    assert after["used"] == usage["used"]
    assert (await client.call("context/history", sessionId=session_id))["edits"] == []


async def test_an_imported_copy_is_compacted_when_its_user_asks(client: TestClient) -> None:
    session_id, usage = await brought_in(client, long_log())
    compacted = await client.call("context/compact", sessionId=session_id)
    assert compacted["usage"]["used"] < usage["used"]
    assert figures(compacted["usage"])["managedBy"] == "agent"


async def test_a_copy_is_managed_from_the_prompt_on_that_continues_it_here() -> None:
    settings = Settings(models={"claude-opus-4-6": ModelSettings(window=200_000)})
    client = build_test_client(live=play("say: Gladly."), settings=settings)
    session_id, usage = await brought_in(client, ClaudeLog().ask().answer(60_000))
    assert figures(usage)["managedBy"] == "agent"
    await client.call("session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": "Go on."}])
    meta = figures(await now(client, session_id))
    assert (meta["managedBy"], meta["agent"], meta["threshold"]["source"]) == ("ullage", "", "ours")
    again = build_test_client(store=client.workspace.ports.store, settings=settings)
    assert figures(await now(again, session_id))["managedBy"] == "ullage"


async def test_another_model_alone_does_not_continue_a_copy(client: TestClient) -> None:
    session_id, _ = await brought_in(client, ClaudeLog().ask().answer(60_000))
    changed = await client.call("session/append", sessionId=session_id, messages=[], model=LARGE_MODEL)
    assert figures(changed["usage"])["managedBy"] == "agent"


async def test_a_copy_that_its_client_continues_is_managed(client: TestClient) -> None:
    session_id, _ = await brought_in(client, ClaudeLog().ask().answer(60_000))
    appended = await client.say(session_id, "Go on.", "Gladly.", model=LARGE_MODEL)
    assert figures(appended["usage"])["managedBy"] == "ullage"


async def test_the_warning_of_a_copy_names_the_agent_that_compacts_it(client: TestClient) -> None:
    await brought_in(client, long_log())
    notices = [update["title"] for update in client.recorder.take() if update["sessionUpdate"] == "notice"]
    assert [notice for notice in notices if "compacts it at 84% (167K)" in notice]
    assert all("Compacts by itself" not in notice for notice in notices)


async def test_a_hidden_part_is_named_as_far_as_the_log_lists_it_also_when_it_is_opened_again() -> None:
    text = "Sound the depth first, and say what you will do before you do it. " * 40
    log = ClaudeLog(model=SMALL_MODEL, version="2.1.332").ask()
    log.attach("instructions", files=[{"path": "/home/me/shop/CLAUDE.md", "type": "Project", "content": text}])
    log.attach(
        "prompt_snapshot", systemPrompt=[text, text], tools=[{"name": "mcp__harbour__depth", "description": text}]
    )
    client = build_test_client()
    session_id, usage = await brought_in(client, log.answer(26_000))
    opened = await now(build_test_client(store=client.workspace.ports.store, ids=client.ids), session_id)
    hidden = figures(usage)["hidden"]
    sizes = {(part["kind"], part.get("name", "")): part["tokens"] for part in hidden["parts"]}
    assert sum(sizes.values()) == hidden["tokens"]
    assert (
        400 < sizes["memory", "/home/me/shop/CLAUDE.md"] < sizes["mcp", "harbour"] < sizes["system_prompt", ""] < 2_000
    )
    assert sizes["unknown", ""] > 20_000
    assert figures(opened)["hidden"] == hidden


async def test_what_an_agent_hides_is_named_and_is_no_part_of_another_session(client: TestClient) -> None:
    _, usage = await brought_in(client, ClaudeLog(model=SMALL_MODEL).ask().answer(26_000))
    meta = figures(usage)
    assert meta["hidden"]["tokens"] == meta["breakdown"]["overhead"] > 25_000
    assert meta["hidden"]["name"] == "Claude Code's own prompt and tools"
    new = await client.call("session/new", model=SMALL_MODEL)
    assert (new["usage"]["used"], figures(new["usage"])["hidden"]["tokens"]) == (0, 0)
    assert figures(new["usage"])["errorShare"] == 1.0


@pytest.mark.parametrize(("lines", "least", "most"), [(300, 3_500, 6_500), (900, -1, 100)], ids=["whole", "named"])
async def test_the_first_figure_after_a_compaction_holds_the_files_that_are_attached_again(
    lines: int, least: int, most: int
) -> None:
    source = "\n".join(f"{number:>6}\u2192def parse(line): return line.split()" for number in range(1, lines + 1))
    log = ClaudeLog().ask().answer(30_000).read("/home/me/shop/parser.py", source).answer(166_800).compact(167_094)
    _, usage = await brought_in(build_test_client(), log)
    bare = ClaudeLog().ask().answer(30_000).answer(166_800).compact(167_094)
    _, without = await brought_in(build_test_client(), bare)
    assert least < usage["used"] - without["used"] <= most
    assert figures(usage)["source"] == "estimated"
    assert figures(usage)["errorShare"] >= 0.05


async def test_after_a_compaction_of_an_unknown_version_the_error_is_that_of_such_compactions() -> None:
    log = ClaudeLog(version="1.0.53").ask().answer(150_000).compact(155_000)
    _, usage = await brought_in(build_test_client(), log)
    assert figures(usage)["errorShare"] >= 0.17


async def test_calls_left_come_from_recent_growth() -> None:
    log = ClaudeLog()
    for step in range(8):
        log.ask().answer(100_000 + 1_000 * step)
    _, usage = await brought_in(build_test_client(), log)
    left = figures(usage)["callsLeft"]
    assert left["low"] < 60 < left["high"]
    _, short = await brought_in(build_test_client(), ClaudeLog().ask().answer(100_000))
    assert figures(short)["callsLeft"] is None


async def test_a_session_of_ones_own_is_kept_by_ullage_on_one_scale(client: TestClient) -> None:
    session_id = await fill(client, 3)
    usage = await now(client, session_id)
    meta = figures(usage)
    assert (meta["managedBy"], meta["agent"], meta["window"]["source"]) == ("ullage", "", "catalog")
    assert (meta["threshold"]["source"], meta["threshold"]["tokens"]) == ("ours", meta["compactAt"])
    assert meta["threshold"]["percent"] == round(100 * meta["compactAt"] / usage["size"])
    assert meta["percent"] == round(100 * usage["used"] / usage["size"])


async def test_where_an_agent_compacts_is_learned_from_its_other_conversations(client: TestClient) -> None:
    fresh = ClaudeLog().ask("Another one.").answer(60_000)
    session_id, before = await brought_in(client, fresh)
    assert figures(before)["threshold"]["source"] == "rule"
    for tokens in (168_400, 168_100, 169_000):
        log = ClaudeLog().ask().answer(tokens - 500).ask().compact(tokens).ask().answer(40_000)
        log.rename(f"of {tokens}")
        await brought_in(client, log)
    learned = figures(await now(client, session_id))["threshold"]
    assert (learned["tokens"], learned["source"], learned["times"]) == (167_000, "learned", 3)
    again = build_test_client(store=client.workspace.ports.store)
    assert figures(await now(again, session_id))["threshold"] == learned


async def test_what_came_after_a_compaction_is_learned_when_it_comes_later() -> None:
    store = build_test_client().workspace.ports.store
    log = ClaudeLog().ask().answer(30_000).ask().answer(166_500).ask().compact(167_100)
    await brought_in(build_test_client(store=store), log)
    workspace = build_test_client(store=store).workspace
    assert [one.rest for one in workspace.compactions("claude-code")] == [0]
    await brought_in(build_test_client(store=store), log.ask().answer(41_000))
    (one,) = build_test_client(store=store).workspace.compactions("claude-code")
    assert 29_000 < one.hidden < 31_000
    assert 40_000 < one.rest <= 41_000


async def test_the_same_file_imported_twice_is_evidence_once(client: TestClient) -> None:
    log = ClaudeLog().ask().answer(166_500).ask().compact(167_094).ask().answer(40_000)
    await brought_in(client, log)
    _, usage = await brought_in(client, log)
    assert figures(usage)["threshold"]["times"] == 1


async def test_compactions_in_the_usual_window_are_no_evidence_for_a_larger_one(client: TestClient) -> None:
    for tokens in (168_400, 168_100):
        log = ClaudeLog().ask().answer(tokens - 500).ask().compact(tokens)
        log.rename(f"of {tokens}")
        await brought_in(client, log)
    _, usage = await brought_in(client, ClaudeLog().ask().answer(400_000))
    threshold = figures(usage)["threshold"]
    assert (usage["size"], threshold["tokens"], threshold["source"]) == (1_000_000, 967_000, "rule")


def teaching_log() -> ClaudeLog:
    """Returns a log whose reports grow by half as much again as the local count, which changes the model's
    calibration. The surplus of each prompt is larger than any reminder."""
    log = ClaudeLog()
    for step in range(1, 9):
        log.ask("Please look at the parser once more. " * 1_200).answer(10_000 + 17_500 * step, 10)
    log.rename("taught")
    return log


async def test_the_figure_of_an_import_does_not_depend_on_what_else_is_in_the_store() -> None:
    asking = ClaudeLog().ask().answer(60_000).ask("What does the lexer do with a tab? " * 1_200)
    _, alone = await brought_in(build_test_client(), asking)
    client = build_test_client()
    await brought_in(client, teaching_log())
    session_id, beside = await brought_in(client, asking)
    assert (beside["used"], figures(beside)["source"]) == (alone["used"], "stale")
    await brought_in(client, teaching_log())
    again = build_test_client(store=client.workspace.ports.store)
    assert (await now(again, session_id))["used"] == alone["used"]


async def test_a_session_of_our_own_still_learns_from_imports() -> None:
    async def used(client: TestClient) -> int:
        session_id = await start(client, model="claude-opus-4-6")
        await client.say(session_id, "Please look at the parser once more. " * 300)
        return (await now(client, session_id))["used"]

    client = build_test_client()
    untaught = await used(client)
    await brought_in(client, teaching_log())
    assert await used(client) > 1.05 * untaught


async def test_a_branch_is_as_full_as_its_last_report_and_has_paid_for_its_own_answers_alone() -> None:
    own = ClaudeLog(model=LARGE_MODEL).ask().answer(10_000, 100)
    _, alone = await brought_in(build_test_client(), own)
    lines = [
        json.loads(line)
        for line in ClaudeLog(model=LARGE_MODEL).ask().answer(60_000, 500).ask().answer(10_000, 100).text.splitlines()
    ]
    copied = [line | {"forkedFrom": {"sessionId": "another", "messageUuid": line["uuid"]}} for line in lines[:2]]
    text = to_lines(*copied, *lines[2:]).decode()
    usage = (await build_test_client().call("session/import", text=text))["session"]["usage"]
    assert usage["used"] == alone["used"] == 10_100
    assert usage["cost"] == alone["cost"]
    assert figures(usage)["totals"] == figures(alone)["totals"]


async def test_while_a_record_after_the_last_report_is_unread_the_figure_is_stale() -> None:
    log = ClaudeLog().ask().answer(10_000, 100)
    before, damaged = log.text, '{"type":"assistant","message":{"usa\n'
    after = ClaudeLog().ask().answer(10_000, 100).ask().answer(20_000, 100).text.removeprefix(before)
    for text, source in (
        (before + damaged, "stale"),
        (before + damaged + after, "reported"),
        # Its end has not been written yet.
        (before + damaged.rstrip("\n"), "reported"),
        (damaged + before, "reported"),
    ):
        usage = (await build_test_client().call("session/import", text=text, format="claude-code"))["session"]["usage"]
        assert figures(usage)["source"] == source


def with_hour_cache(log: ClaudeLog) -> str:
    """Returns a log whose last report says that its prompt is cached for an hour."""
    lines = [json.loads(line) for line in log.text.splitlines()]
    last = next(line for line in reversed(lines) if line["type"] == "assistant")
    last["message"]["usage"] |= {"cache_creation_input_tokens": 9, "cache_creation": {"ephemeral_1h_input_tokens": 9}}
    return to_lines(*lines).decode()


async def test_a_compaction_for_idling_is_in_the_figures_while_nothing_is_due() -> None:
    log = ClaudeLog(model="claude-opus-5-5", version="2.1.332").ask().answer(240_000)
    usage = (await build_test_client().call("session/import", text=with_hour_cache(log)))["session"]["usage"]
    idle = {"at": BEGAN + MINUTE + 54 * MINUTE, "setting": '"idleCompaction": false'}
    assert figures(usage)["idle"] == idle
    usage = (await build_test_client().call("session/import", text=with_hour_cache(log.ask())))["session"]["usage"]
    assert figures(usage)["idle"] is None


@pytest.mark.parametrize(
    "more", [{"entrypoint": "sdk-ts"}, {"isSidechain": True, "agentId": "a1b2"}], ids=["by a program", "a sub-agent"]
)
async def test_no_compaction_for_idling_is_announced_where_nobody_comes_back(more: dict[str, Any]) -> None:
    log = ClaudeLog(model="claude-opus-5-5", version="2.1.332").ask().answer(240_000)
    text = to_lines(*(json.loads(line) | more for line in with_hour_cache(log).splitlines())).decode()
    usage = (await build_test_client().call("session/import", text=text))["session"]["usage"]
    assert (figures(usage)["source"], figures(usage)["idle"]) == ("reported", None)


async def test_a_limit_of_the_users_own_is_said_once_it_is_passed() -> None:
    limits = (Limit(agent="claude-code", tokens=100_000), Limit(cost=1_000))
    client = build_test_client(settings=Settings(limits=limits))
    session_id, usage = await brought_in(client, ClaudeLog().ask().answer(60_000))
    assert figures(usage)["remarks"] == []
    _, usage = await brought_in(client, ClaudeLog().ask().answer(60_000).ask().answer(99_999, 1))
    remark = {"kind": "limit", "text": "It has passed your own limit of 100,000 tokens."}
    assert figures(usage)["remarks"] == [remark]
    client.workspace.configure(Settings(limits=(Limit(tokens=60_000),)))
    assert [one["kind"] for one in figures(await now(client, session_id))["remarks"]] == ["limit"]


async def test_the_figures_say_until_when_the_last_prompt_is_kept_and_what_the_next_costs() -> None:
    log = ClaudeLog(model=LARGE_MODEL).ask().answer(100_000, 500)
    usage = (await build_test_client().call("session/import", text=with_hour_cache(log)))["session"]["usage"]
    cache = figures(usage)["cache"]
    assert (cache["until"], cache["keeps"], cache["source"]) == (BEGAN + 61 * MINUTE, 60 * MINUTE, "promised")
    # Writing for an hour costs twice the input's two dollars a million, and reading half a dollar.
    assert cache["cold"] == round(usage["used"] * 4 / 1e6, 6)
    assert cache["warm"] == round((cache["tokens"] * 0.5 + (usage["used"] - cache["tokens"]) * 4) / 1e6, 6)
    other = (await build_test_client().call("session/import", text=log.text))["session"]["usage"]
    assert figures(other)["cache"] is None
