"""A made-up log of Claude Code of many messages: a large refactoring with rules, decisions, errors that are mended, and
compactions by the agent."""

from random import Random

from support.claude_log import ClaudeLog

RULES = (
    "Never change {path} without a migration.",
    "Always run `pytest tests/{part}` before you go on.",
    "Don't add a dependency for {part}; the standard library is enough.",
    "Please keep every public name of {part} as it is.",
)
PARTS = ("orders", "payments", "stock", "shipping", "returns", "prices", "users", "reports", "mail", "search")
SUMMARY = (
    "This session is being continued from a previous conversation that ran out of context.\n\nSummary: the modules of "
    "the shop are renamed one by one. Work goes on with {path}."
)
# Tokens at which the log says that the agent compacts.
_COMPACTS_AT = 167_000


def long_session(messages: int, compactions: int = 3, session: str = "s-long", cwd: str = "/home/me/shop") -> ClaudeLog:
    """Returns a log of at least `messages` messages whose agent has compacted it so many times, the last time after
    nine tenths of them. The same arguments make the same log."""
    chance, log = Random(14), ClaudeLog(session=session, cwd=cwd)
    places = [messages * 9 * (number + 1) // (10 * compactions) for number in range(compactions)]
    written = turn = 0
    while written < messages:
        written += _turn(log, turn, chance)
        turn += 1
        if places and written >= places[0]:
            places.pop(0)
            log.compact(_COMPACTS_AT, summary=SUMMARY.format(path=_path(turn)))
    return log


def _turn(log: ClaudeLog, number: int, chance: Random) -> int:
    """Adds a prompt, the calls that it leads to, and an answer. Returns how many messages that are."""
    path, part = _path(number), PARTS[number % len(PARTS)]
    rule = RULES[number // 7 % len(RULES)].format(path=path, part=part) if number % 7 == 0 else "Go on as before."
    log.ask(f"Now step {number}: rename the table in {path}. {rule}")
    log.read(f"{log.cwd}/{path}", _code(number, chance))
    log.call("Edit", "The file has been updated.", file_path=f"{log.cwd}/{path}", old_string="a", new_string="b")
    failed = f"1 failed, {number} passed\nE   KeyError: 'row{number}' in {path}:{number % 90 + 1}"
    log.call("Bash", failed if number % 5 == 0 else f"{number + 3} passed in 2.1s", command=f"pytest tests/{part}")
    if number % 5 == 0:
        log.call("Bash", f"{number + 4} passed in 2.2s", command=f"pytest tests/{part} -k row{number}")
    log.answer(20_000 + number % 900 * 160, text=f"I decided to keep `row{number}` in {path}, because {part} reads it.")
    return 8 + 2 * (number % 5 == 0)


def _path(number: int) -> str:
    return f"src/shop/{PARTS[number % len(PARTS)]}/table{number}.py"


def _code(number: int, chance: Random) -> str:
    lines = (f"    row{number}_{line} = total({chance.randrange(10_000)})" for line in range(40))
    return "\n".join([f"def table{number}(total):", *lines])
