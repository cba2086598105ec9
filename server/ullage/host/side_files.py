"""The names of the files that Ullage keeps: those in the user's data folder, and those next to a store, whose names
begin with the store's. What they hold, and until when, is in `store/README.md`. Nothing else names one.

Hooks and status lines start with this module, so it imports nothing, and has endings for those who have no `Path`.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

# Next to a store, after its name.
CATALOGUE = ".catalogue.db"
ARCHIVE = ".archive"
LIVE = ".live.json"
# Locks that say which process follows, and which reads what the store lacks.
FOLLOWER, READER = ".follower", ".reader"
# The files of hooks' sessions, a folder, and the list of hooks that arrived.
HOOKS, ARRIVALS = ".hooks", ".hooks.jsonl"
# Receipts of what was added to agents' settings, a folder.
WIRED = ".wired"
# This machine's copy of a store on a server.
OFFLINE = ".offline.db"
# Copies of the store before its tables were changed, with its version at the end, and one that is being made.
BEFORE, COPYING = ".version-", ".copying"

# In the user's data folder, in a folder of Ullage's name.
STORE = "sessions.db"
MEMORIES = "memories"
# What is shared with a team, what editors call private, how far it was sent, and the lock of the process that sends.
TEAM, TEAM_PRIVATE, TEAM_SENT, TEAM_SENDER = "team.json", "team.private", "team.sent", "team.sender"


def data_folder() -> "Path":
    """Returns the folder of Ullage in the user's data folder."""
    from platformdirs import user_data_path  # noqa: PLC0415  (a cold import that a given path spares)

    return user_data_path("ullage", appauthor=False)


def beside(store: "Path", ending: str) -> "Path":
    """Returns the path of the file next to a store whose name is the store's with this ending."""
    return store.with_name(store.name + ending)
