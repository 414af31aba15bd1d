"""What runs return."""

from __future__ import annotations

import json
from html import escape
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
        one, other = (np.array(a["x"], dtype=np.float64) if "x" in a else tuple(a["categories"]) for a in axes)
        return cls(names=(s["a"]["name"], s["b"]["name"]), values=(one, other), z=np.array(s["z"], dtype=np.float64))


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

    def _repr_html_(self) -> str:
        """A table: the AUC with its interval and what it cost."""
        auc = "not measured" if self.auc is None else f"{self.auc:.4f}"
        within = f" ({self.auc_interval[0]:.4f} to {self.auc_interval[1]:.4f})" if self.auc_interval else ""
        return f"<table><tr><th>AUC</th><td>{auc}{within}</td></tr><tr><th>guarantee</th><td>{escape(str(self.guarantee))}</td></tr></table>"

    def frame(self):
        """A pandas DataFrame of the released operating points: threshold, sensitivity, specificity and accuracy with intervals."""
        rows = []
        for point in self.report.get("figures", {}).get("operating_points", []):
            row = {"threshold": point["threshold"]}
            for name in ("sensitivity", "specificity", "accuracy"):
                if name in point:
                    row.update({name: point[name]["value"], f"{name}_low": point[name]["low"], f"{name}_high": point[name]["high"]})
            rows.append(row)
        return frame_of(rows)

    def shares(self):
        """A pandas DataFrame of the released share of positives in each interval of scores: a check of predict_proba on other records.

        It follows from the released numbers: no budget is charged beyond the evaluation. records is about how many there are in an interval,
        and share is at least 1 / (records + 2) away from 0 and 1. Nothing is promised about the probability of one record.
        """
        f, of = self.frame(), self.report.get("figures", {})
        if f.empty:
            raise ValueError("exact figures have no operating points; evaluate(..., epsilon=) releases them")
        f = f.sort_values("threshold")
        positives = min(max(of["positives"], 0.0), of["records"])
        above = positives * np.concatenate([[1.0], f.sensitivity, [0.0]])
        others = (of["records"] - positives) * np.concatenate([[1.0], 1 - f.specificity, [0.0]])
        up, down = np.maximum(-np.diff(above), 0), np.maximum(-np.diff(others), 0)
        least, ends = 1 / (up + down + 2), np.concatenate([[-np.inf], f.threshold, [np.inf]])
        share = np.clip(np.divide(up, up + down, out=np.full_like(up, 0.5), where=up + down > 0), least, 1 - least)
        return frame_of([{"low": a, "high": b, "records": n, "share": s} for a, b, n, s in zip(ends, ends[1:], up + down, share)])

    def plot(self, ax=None):
        """Draws the released points of the ROC curve with their intervals on a matplotlib axis, which is returned."""
        if ax is None:
            import matplotlib.pyplot as plt

            _, ax = plt.subplots()
        f = self.frame()
        if f.empty:
            raise ValueError("exact figures have no operating points; evaluate(..., epsilon=) releases them")
        x, y = 1 - f.specificity, f.sensitivity
        ax.plot([0, 1], [0, 1], color="grey", linewidth=0.8)
        ax.errorbar(x, y, xerr=[f.specificity_high - f.specificity, f.specificity - f.specificity_low], yerr=[y - f.sensitivity_low, f.sensitivity_high - y], fmt="o")
        ax.set(xlabel="1 - specificity", ylabel="sensitivity", title=f"AUC {self.auc:.3f}", xlim=(0, 1), ylim=(0, 1))
        return ax

    def __float__(self) -> float:
        if self.auc is None:
            raise TypeError("these figures have no AUC; see report")
        return float(self.auc)


@dataclass(frozen=True)
class Spent:
    """What was spent on the data of one id: for budgets that were fixed beforehand, and for ones chosen by looking at earlier results."""

    data_id: str
    runs: int
    unit: str
    epsilon: float | None = None
    epsilon_if_chosen: float | None = None
    delta: float | None = None
    mu: float | None = None
    charges: list[dict] = field(default_factory=list, repr=False)
    report: dict = field(default_factory=dict, repr=False)

    def frame(self):
        """A pandas DataFrame, a row for each charge."""
        return frame_of(self.charges)


@dataclass(frozen=True)
class Loss:
    """The proved constants of a loss. algorithms has a reason for each that does not take it, and None for those that do."""

    name: str
    definition: str
    lipschitz: float | None
    smoothness: float | None
    convex: bool
    algorithms: dict[str, str | None] = field(repr=False)
    report: dict = field(repr=False)

    @classmethod
    def of(cls, r: dict) -> Loss:
        """Reads a result of dyad losses."""
        taken = {a["name"]: None if a["applies"] else a.get("reason", "") for a in r.get("algorithms") or ()}
        return cls(r["name"], r["definition"], r.get("lipschitz"), r.get("smoothness"), bool(r.get("convex")), taken, r)


def frame_of(rows: list[dict]):
    """A pandas DataFrame of rows."""
    try:
        import pandas
    except ImportError as e:
        raise ImportError("frames need pandas: pip install pandas") from e
    return pandas.DataFrame(rows)


def table(estimator) -> str:
    """What a notebook shows of a fitted model: guarantee, algorithm, and the largest weights."""
    rows = [("guarantee", estimator.guarantee_), ("algorithm", (estimator.report_ or {}).get("algorithm", "")), ("data_id", estimator.model_.get("data_id", ""))]
    if estimator.guarantee_.run:
        rows.append(("run", estimator.guarantee_.run))
    weights = getattr(estimator, "coef_", None)
    if weights is not None and len(weights) == len(estimator.model_["features"]):
        largest = np.argsort(-np.abs(weights))[:10]
        rows.append(("weights" if len(largest) == len(weights) else "largest weights", ", ".join(f"{estimator.model_['features'][k]} {weights[k]:+.3g}" for k in largest)))
    rows += [("warning", w) for w in estimator.guarantee_.warnings]
    return "<table>" + "".join(f"<tr><th style='text-align:left'>{escape(k)}</th><td style='text-align:left'>{escape(str(v))}</td></tr>" for k, v in rows) + "</table>"
