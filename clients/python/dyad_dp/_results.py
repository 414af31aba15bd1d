"""What runs return."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Guarantee:
    """What a release tells about one unit.

    epsilon and delta are None for public data and for runs without a finite guarantee;
    kind then says which. assumptions is what the guarantee rests on.
    """

    kind: str
    epsilon: float | None
    delta: float | None
    mu: float | None
    unit: str
    released: str
    assumptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    run: str | None = None
    spent_in_all: dict | None = None

    @classmethod
    def of(cls, result: dict) -> Guarantee:
        """Reads the guarantee of a result or of a model file."""
        g = result["guarantee"]
        return cls(
            kind=g["kind"],
            epsilon=g.get("epsilon"),
            delta=g.get("delta"),
            mu=g.get("mu"),
            unit=g.get("unit", "one record"),
            released=g.get("released", ""),
            assumptions=tuple(g.get("assumptions", ())),
            warnings=tuple(g.get("warnings", ())),
            run=result.get("run"),
            spent_in_all=result.get("spent_in_all"),
        )

    def __str__(self) -> str:
        if self.epsilon is None:
            return self.kind
        return f"epsilon = {self.epsilon:.6g}, delta = {self.delta or 0:.3g} for {self.unit}"


@dataclass(frozen=True)
class Curve:
    """What a column adds to a linear score.

    x are numbers in the units of the data (log1p: equally far apart in log(1 + x)), or categories has the values. low and high are the
    band of 95 % for the noise alone, None where it is not known. bend is "straight", "no visible bend", "bends" or "not known", and "" for
    categories.
    """

    name: str
    y: np.ndarray
    x: np.ndarray | None = None
    categories: tuple[str, ...] = ()
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    bend: str = ""
    log1p: bool = False

    @classmethod
    def of(cls, c: dict) -> Curve:
        """Reads a curve of dyad report --curves FILE.json."""
        arrays = {k: np.array(c[k], dtype=np.float64) for k in ("x", "y", "low", "high") if k in c}
        return cls(name=c["name"], categories=tuple(c.get("categories", ())), bend=c.get("bend", ""), log1p=c.get("log1p", False), **arrays)


@dataclass(frozen=True)
class Surface:
    """What an interaction adds to a linear score, above the curves of its two columns.

    z[i, j] is for value i of names[0] and value j of names[1]; values has an array of numbers, or a tuple of categories, for each. There
    is no band.
    """

    names: tuple[str, str]
    values: tuple[np.ndarray | tuple[str, ...], np.ndarray | tuple[str, ...]]
    z: np.ndarray

    @classmethod
    def of(cls, s: dict) -> Surface:
        """Reads a surface of dyad report --curves FILE.json."""
        axes = s["a"], s["b"]
        values = (np.array(a["x"], dtype=np.float64) if "x" in a else tuple(a["categories"]) for a in axes)
        return cls(names=tuple(a["name"] for a in axes), values=tuple(values), z=np.array(s["z"], dtype=np.float64))


@dataclass(frozen=True)
class Figures:
    """Figures of a model: exact ones of public data, private ones with intervals otherwise.

    auc is the share of pairs of different classes, or of different grades, in the right order.
    """

    auc: float | None
    auc_interval: tuple[float, float] | None
    guarantee: Guarantee
    report: dict = field(repr=False)
    file: str | None = None  # where private figures stay

    @classmethod
    def of(cls, result: dict) -> Figures:
        """Reads the result of an evaluation."""
        if "figures" not in result:
            interval = (result["auc_low"], result["auc_high"]) if "auc_low" in result else None
            g = Guarantee("none: exact figures of public data", None, None, None, "one record", "figures")
            return cls(result.get("auc", result.get("ranking_accuracy")), interval, g, result)
        auc = result["figures"].get("auc")
        return cls(auc and auc["value"], auc and (auc["low"], auc["high"]), Guarantee.of(result), result, result.get("out"))

    @classmethod
    def load(cls, path) -> Figures:
        """Reads private figures from the file that evaluate kept, at no cost."""
        return cls.of({**json.loads(Path(path).read_bytes()), "out": str(path)})

    def __float__(self) -> float:
        if self.auc is None:
            raise TypeError("these figures have no AUC; see report")
        return float(self.auc)
