"""Where released results stay: a charge pays for one release, so no failure of this process may lose its file."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path


def folder(ledger=None) -> Path:
    """The folder "released" next to the ledger; None is the program's own ledger."""
    if ledger is not None:
        return Path(ledger).absolute().parent / "released"
    state = Path(os.environ.get("XDG_STATE_HOME") or ".")
    return (state if state.is_absolute() else Path.home() / ".local" / "state") / "dyad" / "released"


def new(kind: str, ledger=None) -> Path:
    """A new name in folder(ledger)."""
    where = folder(ledger)
    where.mkdir(mode=0o700, parents=True, exist_ok=True)
    return where / f"{kind}-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}-{time.monotonic_ns()}.json"


@contextlib.contextmanager
def file(kind: str, ledger=None, out=None):
    """The file of a charged result: out, or a new name in folder(ledger). It stays, and an error after its release names it."""
    path = new(kind, ledger) if out is None else Path(out).absolute()
    before = _stamp(path)
    try:
        yield path
    except Exception as e:
        if _stamp(path) == before:
            raise
        raise RuntimeError(
            f"the result was charged, released and saved as {path}, and then: {e}. "
            f"Nothing is lost: {'Figures.load' if kind == 'evaluation' else 'load of the estimator'} reads the file at no cost"
        ) from e


def _stamp(path: Path):
    with contextlib.suppress(OSError):
        return path.stat().st_ino, path.stat().st_mtime_ns
    return None
