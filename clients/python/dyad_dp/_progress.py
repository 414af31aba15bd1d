"""Progress of a run, from the program's log: a line in a terminal, a bar in a notebook."""

from __future__ import annotations

import sys


class Progress:
    """Shows tenths of a public number of steps; what it shows is gone when it is closed."""

    def __init__(self, shown: bool):
        self._handle = None
        self._notebook = _display() if shown or "ipykernel" in sys.modules else None
        self._terminal = shown and self._notebook is None
        self._written = 0

    def __call__(self, what: str, done: int, total: int) -> None:
        if self._notebook is not None:
            from html import escape

            bar = _Html(f'<progress value="{int(done)}" max="{int(total)}"></progress> {escape(what)}: {done} of {total}')
            if self._handle is None:
                self._handle = self._notebook(bar, display_id=True)
            else:
                self._handle.update(bar)
        elif self._terminal:
            line = f"{what}: {done} of {total}"
            sys.stderr.write("\r" + line.ljust(self._written))
            sys.stderr.flush()
            self._written = len(line)

    def close(self) -> None:
        if self._handle is not None:
            self._handle.update(_Html(""))
        if self._written:
            sys.stderr.write("\r" + " " * self._written + "\r")
            self._written = 0


class _Html:
    def __init__(self, text: str):
        self._text = text

    def _repr_html_(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return ""


def _display():
    """IPython's display in a notebook, else None."""
    try:
        from IPython import get_ipython
        from IPython.display import display
    except ImportError:
        return None
    shell = get_ipython()
    return display if shell is not None and hasattr(shell, "kernel") else None
