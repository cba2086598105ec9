"""`ullage hook`: what an agent's own hooks run. It gives back what a compaction left out, and never fails.

A hook's time is the agent's time, so the modules that every hook runs import as little as a status line does. The first
hook of a compaction starts `worker.py`, a process of its own: it reads the transcript with `make_brief.py` while the
agent's model writes the summary, takes the summary from the next hook, and leaves the brief for the one after. They
meet in the files of `hook_state.py`. Which hook does what is in `cli/commands/hook.py`.
"""
