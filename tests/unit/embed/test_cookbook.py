"""The programs of the cookbook, and what it says that they print."""

import re

import pytest

from support.documents import ROOT

_RECIPE = re.compile(r"^## (.+?)\n.*?^```python\n(.*?)^```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TEXT = (ROOT / "docs" / "guide" / "cookbook.md").read_text(encoding="utf-8")
RECIPES = {title: (program, printed) for title, program, printed in _RECIPE.findall(_TEXT)}


def test_each_heading_has_a_program_and_what_it_prints() -> None:
    assert [*RECIPES] == re.findall(r"^## (.+)$", _TEXT, re.MULTILINE)


@pytest.mark.parametrize("title", RECIPES)
def test_a_program_of_the_cookbook_prints_what_the_cookbook_says(
    title: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program, printed = RECIPES[title]
    exec(compile(program, title, "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == printed
