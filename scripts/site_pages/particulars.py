"""What is particular to a coding agent, by its name, as sentences in Markdown for its page. What follows from the table
of agents is not repeated here."""

from collections.abc import Mapping

_SAVED_USAGE = "Its files have no usage, so the figure is always estimated."
_NEWEST_USAGE = "Its database has the usage of a session's newest request alone; what was before it is estimated."
_REWRITTEN = "It writes the file again for each message. Ullage reads it again, and shows what has changed."

PARTICULARS: Mapping[str, tuple[str, ...]] = {
    "Claude Code": (
        "Each answer has the provider's usage, so the figure is *reported* once a turn has ended.",
        "Its log is a tree: a rewind starts a new branch, and the branch that it continues on is the conversation.",
        "Where it compacts depends on its version and the model; compactions in your own logs correct the rule.",
        "After a compaction it forgets what was given back when the session is resumed. It is given again then.",
        "The same hooks are a plugin, too: [editors/claude-code](../editors/claude-code/README.md).",
    ),
    "Codex": (
        "It runs a hook only after you have trusted it: start `codex` in a terminal, *Trust all and continue*.",
        "The window in its files is 95 % of the model's. The threshold is nine tenths of the whole one.",
        "Compressed rollouts (`.zst`) are read as they are.",
    ),
    "Copilot Chat": (
        "VS Code keeps chats of other participants in the same files; of those only what the user saw is there.",
        "In that chat `@ullage` answers about a coding agent's conversation in the open folder.",
    ),
    "Copilot CLI": (
        "Its compaction runs in the background: messages that come meanwhile stay, and the figure has them.",
    ),
    "Gemini CLI": (
        "It tells no hook that it has compressed. The brief comes with the next prompt.",
        "The same hooks are an extension, too: [editors/gemini-cli](../editors/gemini-cli/README.md).",
    ),
    "opencode": (
        "It has no hooks in its settings. `wire` adds a plugin: it puts the brief into each request after that.",
        "It prunes old tool results before it compacts. What was cleared is marked, and can still be searched.",
    ),
    "Kilo Code": ("Its command line is built on opencode and keeps the same tables.",),
    "Cline": (_REWRITTEN,),
    "Roo Code": (_REWRITTEN,),
    "Crush": (
        "The list of its projects says where their databases are: each in the project's own `.crush` folder.",
        _NEWEST_USAGE,
    ),
    "goose": (_NEWEST_USAGE, "Sessions of older versions are files of their own, and are read, too."),
    "Kimi Code": ("A compaction keeps the user's newest messages before the summary, which Ullage shows as they are.",),
    "OpenHands": ("Each event is a file. The state, which has the usage, is written when a turn begins and ends.",),
    "aider": (
        "Its chat is Markdown in the project's folder. Token counts in it are rounded to two digits from 1,000 on.",
    ),
    "pi": (
        "It has no hooks in its settings. `wire` adds an extension, which stores the brief with the next prompt.",
        "A session is a tree of entries; the newest one is where the conversation continues.",
    ),
    "Qwen Code": ("Sub-agents have files of their own, and are listed under the session that started them.",),
    "Droid": ("Its usage is the sum of a session, which says nothing about the context, so the figure is estimated.",),
    "Cursor": (
        _SAVED_USAGE,
        "Of the editor's own chats only those of its command line are read. Results of tools are often not written.",
    ),
    "Antigravity": (_SAVED_USAGE,),
    "Grok CLI": (_SAVED_USAGE,),
    "Hermes": ("Only an exported session is read: it is not looked for on the machine.",),
}
