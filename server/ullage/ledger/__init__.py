"""The ledger of a conversation: the user's words, tasks, problems, checks, commits, files, jobs, each as it is now."""
