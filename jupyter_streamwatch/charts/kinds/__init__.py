"""The charts, a module each, with ``plan``, ``columns`` and ``draw``."""
