"""Hands records to the program through files that only their owner can read."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

_PREFIX = "dyad-handover-"


@contextlib.contextmanager
def folder():
    """A folder of mode 0700 that is removed at the end; those of dead processes are swept first."""
    sweep()
    path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def sweep() -> list[Path]:
    """Removes the folders that processes of this user left when they were killed."""
    removed = []
    for path in Path(tempfile.gettempdir()).glob(_PREFIX + "*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            pid = int(path.name[len(_PREFIX) :].split("-")[0])
            info = path.lstat()
            ours = not hasattr(os, "getuid") or info.st_uid == os.getuid()
            if ours and path.is_dir() and not path.is_symlink() and not _alive(pid):
                shutil.rmtree(path)
                removed.append(path)
    return removed


def _alive(pid: int) -> bool:
    if os.name == "nt":
        return True  # os.kill would end the process there; the folder is in the user's own Temp
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def create(path: Path):
    """Opens a new file of mode 0600 for writing bytes."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def write_text(path: Path, text: str) -> Path:
    with create(path) as f:
        f.write(text.encode())
    return path


def write_schema(path: Path, schema: dict) -> Path:
    """Writes a schema; JSON is YAML."""
    return write_text(path, json.dumps(schema, indent=1))


def is_sparse(X) -> bool:
    return hasattr(X, "tocsr") and hasattr(X, "nnz")


def is_frame(X) -> bool:
    return hasattr(X, "columns") and (hasattr(X, "to_parquet") or hasattr(X, "write_parquet"))


def write_arrays(path: Path, X, y=None, group=None, person=None) -> Path:
    """Writes an NPZ file: a matrix as it is (float32 stays float32), a SciPy matrix as CSR."""
    arrays: dict[str, Any] = {}
    if is_sparse(X):
        m = X.tocsr(copy=True)
        m.sum_duplicates()  # sorts the indices of each row, too
        arrays.update(data=m.data, indices=m.indices, indptr=m.indptr, shape=np.array(m.shape, dtype=np.int64))
    else:
        arrays["X"] = X
    for name, values in (("y", y), ("group", group), ("person", person)):
        if values is not None:
            arrays[name] = values
    with create(path) as f:
        np.savez(f, **arrays)
    return path


def write_frame(path: Path, frame, extra: dict) -> Path:
    """Writes a pandas or polars frame and further columns as Parquet."""
    create(path).close()
    if hasattr(frame, "write_parquet"):
        import polars

        if extra:
            frame = frame.with_columns(*(polars.Series(name, values) for name, values in extra.items()))
        frame.write_parquet(path)
        return path
    if extra:
        frame = frame.assign(**extra)
    try:
        frame.to_parquet(path, index=False)
    except ImportError as e:
        raise ImportError("a pandas DataFrame travels as Parquet, which needs pyarrow: pip install pyarrow") from e
    return path
