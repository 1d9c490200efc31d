"""Takes secrets out of everything that is written to disk."""

from __future__ import annotations

from jupyter_streamwatch.text.redaction import REDACTED, redact, redact_all

__all__ = ["REDACTED", "redact", "redact_all"]
