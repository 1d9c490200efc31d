"""The live view of a watch, and what a notebook keeps of it."""
