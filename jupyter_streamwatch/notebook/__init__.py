"""In a notebook: the magic, the cell that watches its queries, the guard."""
