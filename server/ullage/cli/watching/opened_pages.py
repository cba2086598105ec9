"""The pages that the live table opens: a conversation's messages, its context, and what a search in it finds."""

from collections.abc import Sequence

from rich.text import Text

from ullage.api.values import usage_result
from ullage.cli.commands.messages import message_rows, message_table
from ullage.cli.commands.search import hit_lines
from ullage.cli.draw.boxes import context_box
from ullage.cli.draw.text import fit_most
from ullage.cli.figures import biggest
from ullage.cli.output import Screen
from ullage.cli.watching.live_table import What, Wish
from ullage.model.errors import UllageError
from ullage.service.archive.search import search
from ullage.service.conversation.workspace import Workspace

_HITS = 20


async def make_page(workspace: Workspace, wish: Wish, screen: Screen) -> Sequence[Text | str]:
    """Returns the lines of the page that the user asks for, or what prevents it."""
    try:
        conversation = workspace.open(wish.session_id)
        title = Text(fit_most(conversation.transcript.title or wish.session_id, screen.room, screen.glyphs), "bold")
        match wish.what:
            case What.CONTEXT:
                now = workspace.ports.clock.now()
                usage, big = usage_result(conversation), await biggest(conversation)
                return [title, *context_box(usage, now, screen.glyphs, screen.width, big)]
            case What.MESSAGES:
                return [title, *message_table(await message_rows(conversation), screen)]
            case What.HITS:
                found = await search(workspace, wish.session_id, wish.query, _HITS)
                none = () if found.hits else (f"Nothing found for {wish.query!r}.",)
                return [*none, *screen.prose(found.note), *hit_lines(found.hits, workspace, screen)]
    except UllageError as error:
        return [*screen.prose(str(error))]
