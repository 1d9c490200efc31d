"""One query in words: its line, the note under it, its facts, its checkpoint."""
