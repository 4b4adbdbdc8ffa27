"""The loop: an agent that goes on ticking, and keeps still when there is nothing to do."""
