"""`ullage hook`: what an agent's own hooks run. It gives back what a compaction left out, and never fails.

A hook's time is the agent's time, so the modules that every hook runs import as little as a status line does; only
`giving_back.py`, for the few hooks that have an answer, imports the readers of transcripts.
"""
