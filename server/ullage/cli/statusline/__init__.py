"""`ullage statusline`: one line with a conversation's figure, for an agent's status line, tmux and shell prompts.

It runs after each message of an agent, so it starts without msgspec, argparse, `json` and everything that draws: these
take longer to import than it runs. It reads JSON as plain values, and anything that can't be read is not shown. It
prints no error and its exit status is 0, because an agent would show the error in place of its status line.
"""
