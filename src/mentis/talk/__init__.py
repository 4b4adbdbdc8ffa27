"""Talk: conversations and what an agent thinks between two messages."""
