"""A member of a group: its states, and what it tells the others."""
