"""``python -m tests.zoo [NAME ...]``."""

from __future__ import annotations

import sys

from tests.zoo.runner import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
