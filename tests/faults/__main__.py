"""``python -m tests.faults [NAME ...]``."""

from __future__ import annotations

import sys

from tests.faults.runner import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
