"""Where people already talk: rooms of chat platforms as sessions of an agent."""
