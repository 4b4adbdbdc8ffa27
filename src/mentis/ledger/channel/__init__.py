"""The file channel: drafts written as files, consumed once, by one process at a time."""
