"""How text is written and what must not stand in it."""
