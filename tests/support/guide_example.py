"""Runs the examples of docs/guide/adapters.md."""

import ast
import re
from inspect import CO_COROUTINE
from typing import Any

from support.documents import ROOT

_TEXT = (ROOT / "docs" / "guide" / "adapters.md").read_text(encoding="utf-8")


async def run_example(heading: str, **names: Any) -> dict[str, Any]:
    """Runs the program under a heading, with these names given, and returns all names that it has at its end."""
    found = re.search(rf"^## {re.escape(heading)}\n.*?^```python\n(.*?)^```", _TEXT, re.MULTILINE | re.DOTALL)
    assert found, heading
    code = compile(found[1], heading, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if code.co_flags & CO_COROUTINE:
        await eval(code, names)
    else:
        exec(code, names)
    return names
