"""Starts the program that the wheel carries: ``dyad`` on PATH, and ``python -m dyad_dp``."""

from __future__ import annotations

import os
import subprocess
import sys

from ._program import DyadError, program


def main() -> int:
    """Runs the program with the arguments of this process; its exit code is returned."""
    try:
        path = program()
        if _name(path) == _name(sys.argv[0]):
            raise DyadError("the program dyad was not found: this package was installed without it; install a wheel for this platform")
    except DyadError as e:
        print(f"dyad: {e}", file=sys.stderr)
        return 1
    command = [path, *sys.argv[1:]]
    if os.name != "nt":
        os.execv(path, command)
    return subprocess.run(command).returncode


def _name(path: str) -> str:
    path = os.path.realpath(path)
    return os.path.splitext(path)[0].lower() if os.name == "nt" else path


if __name__ == "__main__":
    sys.exit(main())
