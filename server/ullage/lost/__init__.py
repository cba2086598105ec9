"""What an agent's last compaction left out: found among all that was said before it, and given back as a brief."""

# The most characters of a brief: Claude Code takes so many from a hook, other agents as many. Here, because a server
# that starts needs the number, and not what finds losses.
LONGEST = 10_000
