"""The small real checkpoints of ``tests/cases/checkpoints``, unpacked; and copies that a test damages."""

from __future__ import annotations

import hashlib
import tarfile
from typing import TYPE_CHECKING

from tests.conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

CASES = ROOT / "tests" / "cases" / "checkpoints"
NAMES = sorted(path.name.removesuffix(".tar.gz") for path in CASES.glob("*.tar.gz"))
CHECKPOINTS = [name for name in NAMES if not name.endswith("-sink")]


def unpack(name: str, folder: Path) -> Path:
    """The case ``4.3-files`` and so on, as files in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(CASES / f"{name}.tar.gz") as archive:
        for member in archive:
            target = folder / member.name
            target.parent.mkdir(parents=True, exist_ok=True)
            content = archive.extractfile(member)
            assert content is not None
            target.write_bytes(content.read())
    return folder


def content(name: str) -> dict[str, bytes]:
    """The files of a case by name."""
    with tarfile.open(CASES / f"{name}.tar.gz") as archive:
        return {member.name: archive.extractfile(member).read() for member in archive}


def fingerprint(folder: Path) -> dict[str, tuple[str, int]]:
    """Content and time of change of every file and folder below."""
    return {
        str(path.relative_to(folder)): (
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
            path.stat().st_mtime_ns,
        )
        for path in [folder, *folder.rglob("*")]
    }
