"""What the program does besides training, from Python: drafts, curves, audits, losses, influence, ledger, verdicts."""

import numpy as np
import pytest

import dyad_dp
from dyad_dp import BudgetError, DyadError, PrivateAUCClassifier, ledger, losses

pd = pytest.importorskip("pandas")
BOUNDS = {"age": (18, 95), "sex": ["f", "m"], "glucose": (40, 400)}


@pytest.fixture
def frame():
    r = np.random.default_rng(0)
    n = 2000
    X = pd.DataFrame({"age": r.integers(18, 95, n).astype(float), "sex": r.choice(["f", "m"], n), "glucose": r.normal(100, 20, n)})
    return X, np.where(X.age + r.normal(0, 20, n) > 60, "yes", "no")


def private(**kw):
    return PrivateAUCClassifier(**{"bounds": BOUNDS, "classes": ("no", "yes"), "data_id": "c", **kw})


def test_ledger_and_verify(frame, own_places):
    X, y = frame
    ledger.init("c", epsilon=2, delta=1e-5)
    key = ledger.key()
    assert key == ledger.key()
    m = private(delta=1e-6).fit(X, y)
    (spent,) = ledger.show("c")
    assert spent.runs == 1 and 0 < spent.epsilon < 1 and list(spent.frame().run) == [m.guarantee_.run]
    with pytest.raises(BudgetError):
        private(epsilon=4, delta=1e-6).fit(X, y)
    assert ledger.verify()["ok"]
    verdict = dyad_dp.verify(m.model_file_, key=key)
    assert verdict and verdict.verdict == "verified" and dyad_dp.verify(m, key=key)
    stranger = ledger.key(ledger=own_places / "other.jsonl")
    with pytest.raises(DyadError, match="refused"):
        dyad_dp.verify(m.model_file_, key=stranger)
    m.save(own_places / "unsigned.json")
    with pytest.raises(DyadError, match="give its file with signature"):
        dyad_dp.verify(own_places / "unsigned.json", key=key)
    not_covered = dyad_dp.verify(private(algorithm="offpairstrc").fit(X, y).model_file_)
    assert not not_covered and not_covered.why


def test_start_drafts_a_schema(frame, own_places):
    X, y = frame
    s = dyad_dp.start(X.assign(out=y), label="out", positive="yes", answers={"age": {"range": [18, 95]}, "sex": {"categories": ["f", "m"]}})
    assert s.from_data == ("glucose",)
    assert {"name": "age", "range": [18, 95]} in s.schema["columns"] and "FROM THE DATA" in s.text
    X.assign(out=y).to_csv(own_places / "d.csv", index=False)
    s = dyad_dp.start(own_places / "d.csv", label="out", positive="yes", out=own_places / "d.yaml")
    assert set(s.from_data) == {"age", "sex", "glucose"} and (own_places / "d.yaml").exists()


def test_curves_over_epsilon(frame, own_places):
    X, y = frame
    c = dyad_dp.curve(PrivateAUCClassifier(public=True, bounds=BOUNDS), X[:400], y[:400], epsilons=[1, 4], splits=2)
    f = c.frame()
    assert set(f.algorithm) == {"auto", "projected-gradient"} and set(f.epsilon) == {1, 4} and (f.auc_low <= f.auc).all()
    with pytest.raises(DyadError, match="holdout_epsilon="):
        dyad_dp.curve(private(), X, y, epsilons=[1])
    assert not (own_places / "state" / "dyad" / "ledger.jsonl").exists()
    c = dyad_dp.curve(private(), X, y, epsilons=[0.5, 1], holdout_epsilon=0.5)
    assert len(c.points) == 2 and ledger.show("c")[0].epsilon > 1
    assert list((own_places / "state" / "dyad" / "released").glob("curve-*.csv")), "what was charged is kept"


def test_figures_and_curves_are_plotted(frame, own_places):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    X, y = frame
    f = private().fit(X, y).evaluate(X, y, epsilon=1)
    points = f.frame()
    assert len(points) > 5 and ((points.sensitivity_low <= points.sensitivity) & (points.sensitivity <= points.sensitivity_high)).all()
    ax = f.plot()
    assert np.allclose(ax.lines[1].get_xdata(), 1 - points.specificity)
    c = dyad_dp.curve(PrivateAUCClassifier(public=True, bounds=BOUNDS), X[:300], y[:300], epsilons=[1, 4], splits=2)
    ax = c.plot()
    assert sorted(t.get_text() for t in ax.get_legend().get_texts()) == ["auto", "without privacy"]
    ax.figure.savefig(own_places / "c.png")
    assert (own_places / "c.png").stat().st_size > 5000


def test_audit():
    a = dyad_dp.audit("dpgdsc", runs=300)
    assert a.claimed == 1 and 0 <= a.lower <= 1 and not a.refuted
    with pytest.raises(DyadError, match="did you mean|catalogue|choose"):
        dyad_dp.audit("dpgdxx", runs=300)


def test_losses():
    assert losses.check("max(0, m - u)", m=0.5).smoothness is None
    loss = losses.check("log1p(exp(-u))")
    assert loss.convex and loss.lipschitz == pytest.approx(3.928, abs=1e-3) and loss.algorithms["dpgdsc"] is None and "square loss" in loss.algorithms["moments"]
    assert {"logistic", "square"} <= {one.name for one in losses.all()}
    with pytest.raises(DyadError, match="unknown function"):
        losses.check("focal(u)")


def test_influence(frame):
    X, y = frame
    m = PrivateAUCClassifier(public=True, bounds=BOUNDS).fit(X[:200], y[:200])
    found = m.influence(X[:200], y[:200])
    assert len(found) == 200 and found.influence.notna().all()
    with pytest.raises(DyadError, match="exact_figures=True"):
        private().fit(X, y).influence(X, y)


def test_progress(capsys):
    r = np.random.default_rng(0)
    X, y = r.random((500, 4)), r.integers(0, 2, 500)
    PrivateAUCClassifier(public=True, bounds=(0, 1), algorithm="gradient-perturbation", options={"steps": 50}, verbose=True).fit(X, y)
    told = capsys.readouterr().err
    assert "50 of 50" in told and told.endswith("\r")
    PrivateAUCClassifier(public=True, bounds=(0, 1), algorithm="gradient-perturbation", options={"steps": 50}).fit(X, y)
    assert capsys.readouterr().err == ""


def test_progress_in_a_notebook(monkeypatch):
    from dyad_dp import _progress

    shown = []

    class Handle:
        def update(self, what):
            shown.append(what._repr_html_())

    def display(what, display_id):
        shown.append(what._repr_html_())
        return Handle()

    monkeypatch.setattr(_progress, "_display", lambda: display)
    p = _progress.Progress(True)
    p("train <b>", 1, 10)
    p("train <b>", 10, 10)
    p.close()
    assert 'value="10" max="10"' in shown[1] and "&lt;b&gt;" in shown[1] and shown[-1] == ""


def test_importing_loads_no_scikit_learn():
    import subprocess
    import sys

    done = subprocess.run([sys.executable, "-c", "import dyad_dp, sys; assert not {'sklearn', 'pandas', 'scipy'} & set(sys.modules); dyad_dp.PrivateMetric; dir(dyad_dp)"])
    assert done.returncode == 0
    assert all(getattr(dyad_dp, name) is not None for name in dyad_dp.__all__)
    with pytest.raises(AttributeError, match="nothing"):
        dyad_dp.nothing
