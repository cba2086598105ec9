"""Reads the plans that an agent writes as lists in its prose."""

import re

# A list whose introduction speaks of what is done, found or known is no plan.
_PLANS = re.compile(
    r"\b(?:plan|steps?|next|to-?dos?|remaining|remains|left to do|i['’]ll|i will|i need to|i['’]m going to|we need to"
    r"|let me|going to|needs? to be done|tasks?|approach|still (?:missing|open|to do))\b",
    re.IGNORECASE,
)
_RECOUNTS = re.compile(
    r"\b(?:done|did|completed?|changes? made|changed|implemented|fixed|summary|what was|added|results?|found|options?"
    r"|issues?|problems?|created|works?|contains?|includes?|you can|if you|would you|want me)\b",
    re.IGNORECASE,
)
_ENTRY = re.compile(r"(?:\d{1,2}[.)]|[-*•])\s+(?!\[)(.{4,400})")
_STEP = re.compile(
    r"(?:\*\*|`|\")?(?:add|adapt|adjust|apply|build|change|check|clean|close|commit|compile|configure|convert|create|define"
    r"|delete|deploy|document|drop|edit|enable|expose|extend|extract|finish|fix|handle|implement|improve|insert|install"
    r"|integrate|investigate|load|make|measure|merge|migrate|modify|move|patch|push|put|read|refactor|register|remove|rename"
    r"|replace|review|rewrite|run|set|simplify|split|store|switch|test|trace|update|use|validate|verify|wire|wrap|write)\b",
    re.IGNORECASE,
)
_FEWEST, _MOST = 2, 20
# Characters. A plan is at the end of a message, where the agent says how it will continue.
_LOOKED_AT = 12_000


def read_plan(text: str) -> tuple[str, ...]:
    """Returns the entries of the last list in a text that is a plan: its introduction speaks of what is to be done, and
    most of its entries begin with what to do. Empty if there is none. Nested entries are left out."""
    found: tuple[str, ...] = ()
    introduction, entries = "", list[str]()
    for line in [*text[-_LOOKED_AT:].splitlines(), "."]:
        bare = line.strip()
        match = _ENTRY.match(bare)
        if match and not line.startswith(("   ", "\t")):
            entries.append(match[1].replace("**", "").strip())
        elif bare and not line.startswith(("  ", "\t")) and not match:
            if _is_plan(introduction, entries):
                found = tuple(entries[:_MOST])
            introduction, entries = bare, []
    return found


def _is_plan(introduction: str, entries: list[str]) -> bool:
    if len(entries) < _FEWEST or not _PLANS.search(introduction) or _RECOUNTS.search(introduction):
        return False
    return sum(_STEP.match(entry) is not None for entry in entries) * 3 >= len(entries) * 2
