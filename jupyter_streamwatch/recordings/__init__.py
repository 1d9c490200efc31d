"""Recordings: what was seen of some queries, as plain data that outlives the session."""
