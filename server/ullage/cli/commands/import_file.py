"""`ullage import`: reads another program's transcript into a stored session."""

import asyncio
from argparse import Namespace
from collections.abc import Iterator

from ullage.api.session_methods import ImportParams, ImportResult, import_session
from ullage.app.compose import open_workspace
from ullage.cli.draw.text import plural
from ullage.cli.output import print_json, print_lines, working
from ullage.model.words import context_line
from ullage.service.conversation.workspace import Workspace

# The most unread lines that are listed: enough to see what they are.
_SHOWN = 5


def run(args: Namespace) -> int:
    """Prints the new session's id and size, and how many lines of the file were skipped."""
    params = ImportParams(path=str(args.file), format=args.format, run=args.run)
    with working(f"Importing {args.file}"), open_workspace(args.store) as workspace:
        result = asyncio.run(_import(workspace, params))
    if args.json:
        print_json(result)
    else:
        print_lines(_report(result))
    return 0


async def _import(workspace: Workspace, params: ImportParams) -> ImportResult:
    result = await import_session(workspace, params)
    # A context over its window is compacted at once, and the process must not end before that.
    await workspace.open(result.session.session_id).settled()
    return result


def _report(result: ImportResult) -> Iterator[str]:
    usage = result.session.usage
    yield f"{result.session.session_id}  {plural(result.messages, 'message')}, {result.format}"
    yield context_line(usage.used, usage.size, usage.meta.ullage.source)
    if result.passed_over:
        yield f"{plural(result.passed_over, 'line')} beside the conversation passed over"
    for line in result.unread[:_SHOWN]:
        yield f"not read: line {line.line}: {line.reason}"
    if len(result.unread) > _SHOWN:
        yield f"not read: {len(result.unread) - _SHOWN:,} more lines"
