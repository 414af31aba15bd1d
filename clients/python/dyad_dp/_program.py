"""Finds and calls the program."""

from __future__ import annotations

import enum
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path


class Exit(enum.IntEnum):
    """The program's exit codes; ``dyad help exits`` has their meanings."""

    OK = 0
    FAILURE = 1
    DIED = 2
    UNAVAILABLE = 3
    ELSEWHERE = 4
    INPUT = 64
    CANCELLED = 130


class DyadError(ValueError):
    """The program refused: the message says what to do. Nothing was charged unless it says so."""


class BudgetError(DyadError):
    """The charge is above the cap of the data set or of the caller; nothing was charged."""


class SavedElsewhere(RuntimeError):
    """The model was trained, charged and saved, but under another name than was asked for."""


def program() -> str:
    """Path of the program: DYAD_PROGRAM, else the one in the wheel, else the one on PATH."""
    name = "dyad.exe" if os.name == "nt" else "dyad"
    own = Path(__file__).parent / "bin" / name
    found = os.environ.get("DYAD_PROGRAM") or (str(own) if own.exists() else shutil.which("dyad"))
    if not found:
        raise DyadError(
            "the program dyad was not found: install a wheel for this platform, put dyad on PATH, "
            "or name it by the environment variable DYAD_PROGRAM"
        )
    return found


def version() -> str:
    """What ``dyad version`` says."""
    return run(["version"], parse=False).strip()


def flags(options: dict) -> list[str]:
    """Flags of keyword options: None is left out, True is a bare flag, a list repeats."""
    out = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            out.append(flag)
        elif isinstance(value, (list, tuple)):
            out.append(flag + "=" + ",".join(map(_text, value)))
        else:
            out.append(flag + "=" + _text(value))
    return out


def _text(value) -> str:
    if isinstance(value, float) or hasattr(value, "dtype"):
        return repr(float(value))
    return str(value)


def run(args: list[str], *, parse: bool = True, verbose: bool = False):
    """Runs the program and returns its JSON result, or its text if parse is false.

    An interrupt is passed on and waited for: a private run then says how it is resumed.
    """
    command = [program(), *args] + (["--json"] if parse else [])
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=None if verbose else subprocess.PIPE,
        text=True,
        encoding="utf-8",
    ) as child:
        try:
            out, err = child.communicate()
        except KeyboardInterrupt as stop:
            if os.name == "nt":
                child.terminate()
            else:
                child.send_signal(signal.SIGINT)
            _, err = child.communicate()
            if err:
                sys.stderr.write(err)
            raise stop
    text = (err or "").strip()
    if child.returncode:
        raise _error(child.returncode, text)
    for line in text.splitlines():
        if found := _VERDICT.search(line):
            _warn(f"the model is {found[1].replace(' checked', ' checked; dyad verify checks its file')}")
        elif "warning:" in line:
            _warn(line)
    return json.loads(out) if parse else out


# What the program writes about a model that is not verified, here without the name of a hand-over file.
_VERDICT = re.compile(r"^dyad: .* is (refused: .*|not covered by the checker: .*|not checked(?=: dyad verify))")


def verdict(path, public: bool) -> None:
    """Warns of a verdict of ``dyad verify`` that is not "verified"; of public data nothing is claimed. An unreadable file is an error."""
    done = subprocess.run([program(), "verify", str(path), "--json"], stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8")
    if not done.stdout:
        raise _error(done.returncode, done.stderr.strip())
    found = json.loads(done.stdout)
    if found["verdict"] == "refused":
        _warn(f"{path} is refused: {found['why']}; what it says about privacy is not true of any run")
    elif found["verdict"] != "verified" and not public:
        _warn(f"{path} is not covered by the checker: {found['why']}")


def _warn(line: str) -> None:
    import warnings

    warnings.warn(line.removeprefix("dyad: ").removeprefix("warning: "), UserWarning, stacklevel=5)


def _error(code: int, text: str) -> Exception:
    lines = [line for line in text.splitlines() if line and not line.startswith('Run "dyad')]
    message = "\n".join(lines).removeprefix("dyad: ") or f"dyad ended with exit code {code}"
    if code == Exit.DIED or code < 0:  # of a fatal error or a signal: its stack, if any, helps nobody
        message = f"dyad died ({message.splitlines()[0]}); `dyad ledger show` lists runs that are charged and not finished"
    kinds = {Exit.INPUT: DyadError, Exit.UNAVAILABLE: BudgetError, Exit.ELSEWHERE: SavedElsewhere}
    return kinds.get(code, RuntimeError)(message)
