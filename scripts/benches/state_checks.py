"""Whether a page says how the project's checks ended, for the state bench: checks, mended problems, the last commit."""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from benches import state_shell as shell
from benches.state_page import Line, Page, find_whole, names, sentences, words
from benches.state_truth import Problem, Run, Truth
from benches.state_verdicts import FITS, WRONG, Kind, Verdict, place, verdict

_PATH = re.compile(r"[\w./~-]*\w\.\w+|[\w.-]+(?:/[\w.-]+)+")
_CODE = re.compile(r"`[^`]*`")


def judge_checks(page: Page, truth: Truth) -> Iterator[Verdict]:
    yield from _checks(page, truth)
    yield from _problems(page, truth)
    yield from _commit(page, truth)


# Checks

_PURPOSE_WORDS = {
    shell.TESTS: r"(?:tests?|test suite|specs)",
    shell.BUILD: r"(?:builds?|build|compil\w+)",
    shell.LINT: r"(?:lint\w*|credo|vet|clippy)",
    shell.TYPES: r"(?:type-?check\w*|types|dialyzer|mypy|pyright|tsc)",
}
_PASSES = (
    r"(?:pass(?:es|ed|ing)?|succe\w+|green|clean(?:ly)?|0 (?:issues|failures|errors)|no (?:issues"
    r"|failures|errors)|[✅✓✔])"
)
_FAILS = r"(?:fail(?:s|ed|ing|ures?)?|errors?|broken|breaks|[❌✗])"
_NO_FAIL = re.compile(r"\b(?:0|no|zero|without) (?:failures|errors|failed|issues)\b", re.IGNORECASE)
_NO_PASS = re.compile(
    r"\b(?:not|never|didn't|doesn't|don't) (?:yet )?pass\w*|\b(?:should|to|must|will) pass\b"
    r"|\bensure\b|\bverify\b|\bif (?:the )?tests?\b|\bpassing (?:in|through|the)\b",
    re.IGNORECASE,
)
_MENDED = re.compile(r"\b(?:fix(?:ed|es)?|resolved|solved|mended)\b", re.IGNORECASE)
_ASKED = re.compile(r"(?:#\d+\s+)?(?:make|get)\b", re.IGNORECASE)
_AGAIN = re.compile(r"ran again|outcome (?:is )?(?:not shown|unknown)", re.IGNORECASE)
_NEAR, _FEWEST_OF_CUT = 60, 12
PASSED, FAILED = "passed", "failed"


def _checks(page: Page, truth: Truth) -> Iterator[Verdict]:
    ends = {run.purpose: run for run in truth.runs}
    for purpose, run in ends.items():
        lines = [line for line in page.lines if not line.is_code]
        signs = [(_check_said(page, line, purpose, run, truth.runs), line) for line in lines]
        said = [(sign, line, place(page, line, "check")) for sign, line in signs if sign]
        # A failure that a later success covers no longer counts.
        meant = PASSED if run.passed or run.mended else FAILED
        yield verdict(Kind.CHECK, f"{purpose}: {run.command}", meant, said)
    judged = {run.command for run in ends.values()}
    for command in dict.fromkeys(run.command for run in truth.runs if run.mended and run.command not in judged):
        if _latest(truth.runs, command).passed or _latest(truth.runs, command).mended:
            line = _claimed_failed(page, command)
            if line is not None:
                why = "has passed since, said failed"
                yield Verdict(kind=Kind.CHECK, end=WRONG, item=command, why=why, quote=line.text, extra=True)


def _latest(runs: Sequence[Run], command: str) -> Run:
    return next(run for run in reversed(runs) if run.command == command)


def _check_said(page: Page, line: Line, purpose: str, run: Run, runs: Sequence[Run]) -> str:
    """Returns how a line says that the newest check of a purpose ended: of its command, or of all checks of the purpose
    ("all tests pass"), if no other one of them is open."""
    failed = [each for each in runs if each.purpose == purpose and not each.passed and not each.mended]
    still_open = [each for each in failed if _latest(runs, each.command) is each]
    for sentence in sentences(line.text):
        commands = [command for quoted in _CODE.findall(sentence) if (command := _only_command(quoted))]
        own = [command for command in commands if _is_run(command, run.command)]
        if own:
            bare = sentence.replace("`", "\x00")
            ended = _ended(bare[bare.find(own[0]) + len(own[0]) :], page, line)
            if ended:
                return FAILED if _ASKED.match(sentence) else ended
        elif not commands:
            bare = _CODE.sub("c", sentence)
            for found in re.finditer(rf"\b{_PURPOSE_WORDS[purpose]}\b", bare, re.IGNORECASE):
                ended = _ended(bare[found.end() : found.end() + _NEAR], page, line) or _ended(
                    bare[max(0, found.start() - 25) : found.start()], page, line
                )
                is_fine = run.passed or run.mended
                if ended == PASSED and is_fine and not still_open and not _fails(sentence):
                    return PASSED
                if ended == FAILED and not is_fine:
                    return FAILED
    return ""


def _fails(text: str) -> bool:
    return re.search(rf"\b{_FAILS}\b", _NO_FAIL.sub("", text), re.IGNORECASE) is not None


def _only_command(quoted: str) -> str:
    """Returns the one command of a quotation in backticks, empty if it is a line of several or none."""
    split = shell.parts(quoted.strip("`"))
    return shell.plain(split[0].text) if len(split) == 1 else ""


def _is_run(quoted: str, command: str) -> bool:
    if quoted == command:
        return True
    cut = re.sub(r"\s*\[?…\]?$|\.\.\.$", "", quoted)
    return cut != quoted and len(cut) > _FEWEST_OF_CUT and command.startswith(cut)


def _ended(text: str, page: Page, line: Line) -> str:
    """Returns how a check ended by the words after it: passed (also: failed, and was mended), failed, or nothing."""
    bare = _NO_PASS.sub(" ", text)
    fails = re.search(rf"\b{_FAILS}\b|[❌✗]", _blanked(bare), re.IGNORECASE)
    passes = [*re.finditer(_PASSES, bare, re.IGNORECASE)]
    if not fails:
        return PASSED if passes else ""
    if passes and passes[0].start() < fails.start() and not _MENDED.search(bare[fails.end() :]):
        return PASSED
    rest = " ".join([bare[fails.end() :], *(child.text for child in page.entry(line)[1:] if not child.is_code)])
    return PASSED if re.search(_PASSES, rest, re.IGNORECASE) or _MENDED.search(rest) else FAILED


def _blanked(text: str) -> str:
    """Returns a text with blanks in place of what says that nothing failed."""
    return _NO_FAIL.sub(lambda found: " " * len(found[0]), text)


def _claimed_failed(page: Page, command: str) -> Line | None:
    """Returns the line that says of this command that it failed, with no word of what became of it."""
    for line in page.lines:
        if line.is_code:
            continue
        whole = " ".join(each.text for each in page.entry(line))
        for quoted in re.finditer(r"`[^`]+`", line.text):
            after = line.text[quoted.end() :]
            failure = re.search(rf"\b{_FAILS}\b", _blanked(after[:40]), re.IGNORECASE)
            is_meant = _only_command(quoted[0]) == command and not _AGAIN.search(whole)
            if not is_meant or not failure or "`" in after[: failure.start()]:
                continue
            rest = whole[quoted.end() + failure.end() :]
            if not re.search(_PASSES, rest, re.IGNORECASE) and not _MENDED.search(rest):
                return line
    return None


# Problems with what mended them

_FIX = re.compile(
    r"\b(?:fix(?:ed|es|ing)?|resolved|solved|mended|solution|passed|passes|by \w+ing|changes to|added"
    r"|removed|changed|replaced|updated|renamed|rewrote|used)\b",
    re.IGNORECASE,
)
_TROUBLE = re.compile(
    r"\b(?:error\w*|fail\w*|problem\w*|issue\w*|warning\w*|bug\w*|wrong|broken|undefined|mismatch\w*|conflict\w*)\b",
    re.IGNORECASE,
)


def _problems(page: Page, truth: Truth) -> Iterator[Verdict]:
    for problem in truth.problems:
        others = [other for other in truth.problems if other is not problem]
        own = problem.signs - names(problem.command)
        signs = own - frozenset[str]().union(*(other.signs for other in others)) or own
        if not signs:
            continue
        yield _problem(page, problem, signs, others)


def _problem(page: Page, problem: Problem, signs: frozenset[str], others: Sequence[Problem]) -> Verdict:
    item = f"{problem.command}: {', '.join(sorted(signs)[:4])}"
    own = problem.mend - problem.signs or problem.mend
    foreign = frozenset[str]().union(*(other.mend for other in others)) - problem.mend - problem.signs
    said: list[tuple[str, Line, str]] = []
    for line in page.lines:
        start = _start_of_trouble(line.text, problem.command, signs)
        if line.is_code or start is None or (re.search(_PASSES, line.text, re.IGNORECASE) and not _fails(line.text)):
            continue
        if not (_TROUBLE.search(line.text) or any(_TROUBLE.search(label) for label in page.labels(line))):
            continue
        tail = line.text[start:]
        below = (each.text for each in page.entry(line)[1:] if not each.is_code)
        fixes = [text for text in (tail, *below) if _FIX.search(text)]
        told = names(" ".join(fixes)) | {PurePosixPath(path).name for fix in fixes for path in _PATH.findall(fix)}
        if told & own:
            said.append(("its mend", line, place(page, line, "problem")))
        # A command may have failed for several reasons: only a name in the errors says which one is meant.
        elif names(line.text) & signs and told & foreign and not told & problem.mend:
            said.append(("another problem's mend", line, FITS))
    return verdict(Kind.PROBLEM, item, "its mend", said)


def _start_of_trouble(text: str, command: str, signs: frozenset[str]) -> int | None:
    """Returns where a line names a problem: by a name in its errors, or by the command that failed; None if not."""
    found = [at for sign in signs if (at := text.find(sign)) >= 0]
    found.extend(
        quoted.end()
        for quoted in _CODE.finditer(text)
        if any(shell.plain(part.text) == command for part in shell.parts(quoted[0].strip("`")))
    )
    return min(found, default=None)


# The last commit

_LAST = re.compile(r"\b(?:last|latest|newest|most recent|current)\b[^.;]{0,30}\bcommit|\bHEAD\b", re.IGNORECASE)
_COMMIT_WORD = re.compile(r"\bcommit(?:s|ted)?\b", re.IGNORECASE)
_SHA = re.compile(r"\b[0-9a-f]{7,40}\b")


def _commit(page: Page, truth: Truth) -> Iterator[Verdict]:
    ours = [commit for commit in truth.commits if commit.is_ours]
    if not ours:
        return
    last = ours[-1]
    said: list[tuple[str, Line, str]] = []
    for line in page.lines:
        if line.is_code:
            continue
        shas = _SHA.findall(line.text)
        about = _COMMIT_WORD.search(line.text) or any(_COMMIT_WORD.search(label) for label in page.labels(line))
        if any(last.sha.startswith(sha[:7]) for sha in shas) or find_whole(words(line.text), words(last.subject)):
            if about:
                said.append((last.sha, line, place(page, line, "commit")))
        elif _LAST.search(line.text):
            others = (each for each in truth.commits if each is not last)
            said += [(one.sha, line, FITS) for one in others if any(one.sha.startswith(sha[:7]) for sha in shas)]
    yield verdict(Kind.COMMIT, f"{last.sha} {last.subject}", last.sha, said)
