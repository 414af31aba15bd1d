"""Losses of pairs and their proved constants.

>>> from dyad_dp import losses
>>> losses.check("log1p(exp(-u))").lipschitz
"""

from __future__ import annotations

from ._program import flags, run
from ._results import Loss


def check(loss: str, *, task: str = "auc", radius: float | None = None, n: int | None = None, d: int | None = None, loss_clip: float | None = None, plot=None, **params: float) -> Loss:
    """The constants of a name or formula in u, proved by interval arithmetic, and which algorithms take it. params are values of names in it.

    plot is a figure of the loss and its slope to write: SVG, PDF or PNG.
    """
    args = ["lab", "losses", "check", loss, *flags({"task": task, "radius": radius, "n": n, "d": d, "loss_clip": loss_clip, "plot": plot})]
    return Loss.of(run(args + [f"--set=loss-param={name}={float(value)!r}" for name, value in params.items()]))


def all(*, task: str | None = None) -> list[Loss]:
    """The built-in losses."""
    found = run(["lab", "losses", "list", *flags({"task": task})])
    return [Loss.of(one) for one in (found if isinstance(found, list) else found["losses"])]
