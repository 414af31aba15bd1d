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
import threading
from pathlib import Path
from typing import Any

from ._progress import Progress
from ._sentences import sentence, translated


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
    """The program refused: the message says what to do. No budget was charged unless it says so."""


class BudgetError(DyadError):
    """The charge is above the cap of the data set or of the caller; no budget was charged."""


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
    """Keyword options as settings of a command line, which are flags or keys of a recipe: None and False are left out, a list is joined."""
    out = []
    for name, value in options.items():
        if hasattr(value, "tolist"):  # of numpy: numbers and lists of Python
            value = value.tolist()
        if value is None or value is False:
            continue
        text = "true" if value is True else ",".join(map(_text, value)) if isinstance(value, (list, tuple)) else _text(value)
        out.append(f"--set={name.replace('_', '-')}={text}")
    return out


def _text(value) -> str:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float):
        return repr(value)
    return str(value)


def run(args: list[str], *, parse: bool = True, verbose: bool = False, columns=None, check: bool = True) -> Any:
    """Runs the program and returns its JSON result, or its text if parse is false.

    columns are the names of those that travel, for errors. Without check an exit code with a result is no error, such as that of a verdict. An
    interrupt is passed on and waited for: a private run then says how it is resumed.
    """
    command = [program(), *args, "--log-format=json"] + (["--json"] if parse else [])
    entries: list[dict] = []
    progress = Progress(verbose)
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8") as child:
        reader = threading.Thread(target=_read, args=(child.stderr, entries, progress), daemon=True)
        reader.start()
        try:
            out = child.stdout.read()  # type: ignore[union-attr]
            reader.join()
            child.wait()
        except KeyboardInterrupt as stop:
            if os.name == "nt":
                child.terminate()
            else:
                child.send_signal(signal.SIGINT)
            child.stdout.read()  # type: ignore[union-attr]
            reader.join()
            sys.stderr.writelines(translated(e["message"]) + "\n" for e in entries if "total" not in e)
            raise stop
        finally:
            progress.close()
    if child.returncode and (check or not out):
        raise _error(child.returncode, entries, columns)
    for e in entries if check else ():
        if found := _VERDICT.search(e["message"]):
            _warn(f"the model is {found[1].replace(' checked', ' checked; dyad_dp.verify checks its file')}")
        elif e.get("level") == "warn":
            _warn(translated(e["message"]))
    return json.loads(out) if parse else out


def _read(stream, entries: list[dict], progress: Progress) -> None:
    """Collects the lines of the program's log; what is none is what the Go runtime writes when a process dies."""
    for line in stream:
        try:
            entry = json.loads(line)
            entry["message"]
        except (ValueError, TypeError, KeyError):
            entry = {"level": "raw", "message": line.rstrip().removeprefix("dyad: ")}
        entries.append(entry)
        if "total" in entry:
            progress(entry["message"], entry.get("done", 0), entry["total"])


# What the program writes about a model that is not verified, here without the name of a hand-over file.
_VERDICT = re.compile(r"^.* is (refused: .*|not covered by the checker: .*|not checked(?=: dyad verify))")


def verdict(path, public: bool) -> None:
    """Warns of a verdict of ``dyad verify`` that is not "verified"; of public data nothing is claimed. An unreadable file is an error."""
    found = run(["verify", str(path)], check=False)
    if found["verdict"] == "refused":
        _warn(f"{path} is refused: {found['why']}. Do not trust what it states about privacy")
    elif found["verdict"] != "verified" and not public:
        _warn(f"{path} is not covered by the checker: {found['why']}")


def _warn(line: str) -> None:
    import warnings

    warnings.warn(line, UserWarning, stacklevel=5)


def _error(code: int, entries: list[dict], columns=None) -> Exception:
    told = [e for e in entries if e.get("level") in ("error", "raw") and e["message"]]
    message = "\n".join(sentence(e, columns) for e in told).split('\nRun "dyad')[0] or f"dyad ended with exit code {code}"
    if code == Exit.DIED or code < 0:  # of a fatal error or a signal: its stack, if any, helps nobody
        message = f"dyad died ({message.splitlines()[0]}); dyad_dp.ledger.show() lists runs that are charged and not finished"
    kinds = {Exit.INPUT: DyadError, Exit.UNAVAILABLE: BudgetError, Exit.ELSEWHERE: SavedElsewhere}
    return kinds.get(Exit(code) if code in list(Exit) else Exit.FAILURE, RuntimeError)(message)
