"""Attacks on what is read, kept and written: crashes, floods, hostile names, clocks that jump."""
