import json
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from dyad_dp import BudgetError, DyadError, PrivateAUCClassifier, PrivateMetric, PrivateRanker, verify
from dyad_dp import _handover, _program


def private(**kw):
    return PrivateAUCClassifier(**{"bounds": (-3, 3), "data_id": "clinic", "classes": (0, 1), "raw_columns": True, **kw})


def exact_auc(scores, y):
    a, b = scores[y == 1], scores[y == 0]
    return (a[:, None] > b).mean() + (a[:, None] == b).mean() / 2


def test_private_training(clinic, own_places, surely):
    X, y = clinic
    m = private(epsilon=2).fit(X, y)
    assert m.guarantee_.epsilon == pytest.approx(2) and m.guarantee_.unit == "one record" and m.guarantee_.assumptions
    assert list(m.classes_) == [0, 1]
    scores = m.decision_function(X)
    surely("AUC of a private training", exact_auc(scores, y))
    assert set(m.predict(X)) <= {0, 1}
    ledger = own_places / "state" / "dyad" / "ledger.jsonl"
    assert m.guarantee_.run in ledger.read_text()
    with pytest.raises(DyadError, match="epsilon="):
        m.score(X, y)
    f = m.evaluate(X[:2000], y[:2000], epsilon=1)
    assert f.auc_interval[0] < f.auc < f.auc_interval[1]
    surely("private AUC less the exact one", f.auc - exact_auc(scores[:2000], y[:2000]))
    assert f.guarantee.spent_in_all["runs"] == 2
    assert 0 < m.score(X, y, epsilon=0.5) < 1


def test_training_without_noise_on_private_data_is_asked_for(clinic, own_places):
    X, y = clinic
    with pytest.raises(DyadError, match="No budget was charged"):
        private(options={"mode": "nonprivate"}).fit(X, y)
    assert not (own_places / "state" / "dyad" / "ledger.jsonl").exists()
    assert private(options={"mode": "nonprivate", "yes": True}).fit(X, y).guarantee_.run


def test_noise_is_never_seeded(clinic):
    X, y = clinic
    a, b = (private(random_state=7).fit(X, y).coef_ for _ in range(2))
    assert not np.array_equal(a, b)
    for name in ("seed", "data", "schema", "out", " seed", "public-data", "data-id", "epsilon", "task", "ledger"):
        with pytest.raises(DyadError, match=name):
            private(options={name: "1"}).fit(X, y)
    with pytest.raises(DyadError, match="never seeded"):
        private().fit(X, y).evaluate(X, y, epsilon=1, seed=3)
    with pytest.raises(DyadError, match="declares data public"):
        private().fit(X, y).evaluate(X, y, epsilon=1, public_data=True)


@pytest.mark.parametrize(
    "change, words",
    [
        ({"bounds": None}, "bounds= or schema= is needed"),
        ({"data_id": None}, "data_id= is needed"),
        ({"classes": None}, "classes=(negative, positive) is needed"),
        ({"bounds": (3, -3)}, "every low must be below its high"),
        ({"bounds": [(-3, 3)] * 4}, "bounds is a pair"),
        ({"epsilon": -1}, "epsilon is -1"),
        ({"classes": (0, 0)}, "one class"),
    ],
)
def test_what_private_data_need(clinic, own_places, change, words):
    X, y = clinic
    with pytest.raises(ValueError) as e:
        private(**change).fit(X, y)
    assert words in str(e.value)
    ledger = own_places / "state" / "dyad" / "ledger.jsonl"
    assert not ledger.exists() or "charge" not in ledger.read_text()


def test_a_label_of_neither_class_is_named_by_its_row_only(clinic):
    X, y = clinic
    y = y.copy()
    y[17] = 4242
    with pytest.raises(ValueError, match=r"y\[17\]") as e:
        private().fit(X, y)
    assert "4242" not in str(e.value)


def test_the_same_records_whatever_carries_them(clinic):
    """float32, float64, Fortran order, SciPy and lists reach the program as the same numbers."""
    X, y = clinic
    X = X.astype(np.float32)
    m = PrivateAUCClassifier(public=True, bounds=(-3, 3)).fit(X, y)
    want = m.decision_function(X)
    for other in (X.astype(np.float64), np.asfortranarray(X), X.tolist()):
        assert np.array_equal(m.decision_function(other), want)
    s = PrivateAUCClassifier(public=True, bounds=(-3, 3), options={"algorithm": "moments"}).fit(sp.csc_matrix(X), y)
    assert np.array_equal(s.decision_function(sp.csr_matrix(X)), s.decision_function(sp.coo_matrix(X)))


def test_later_records_may_be_sparse_or_dense(clinic):
    X, y = clinic
    dense = PrivateAUCClassifier(public=True, bounds=(-3, 3), algorithm="moments").fit(X, y)
    assert np.array_equal(dense.decision_function(sp.csr_matrix(X)), dense.decision_function(X))
    sparse = PrivateAUCClassifier(public=True, bounds=(-3, 3), algorithm="moments").fit(sp.csr_matrix(X), y)
    assert np.array_equal(sparse.decision_function(sp.csr_matrix(X)), sparse.decision_function(X))
    with pytest.raises(DyadError, match="give an array, not DataFrame"):
        dense.decision_function(pd.DataFrame(X))
    dense.model_["encoder"]["format"] = "csv"
    with pytest.raises(DyadError, match="run dyad predict"):
        dense.decision_function(X)


def test_columns_of_an_embedding_have_names(clinic):
    X, y = clinic
    m = PrivateMetric(public=True, bounds=(-3, 3), options={"model": "mlp", "hidden": 3, "dim": 2, "steps": 1}).fit(X, y)
    assert m.transform(X).shape == (len(y), 2) and list(m.get_feature_names_out()) == ["z1", "z2"]


def test_numbers_of_numpy_are_options(clinic):
    X, y = clinic
    options = {"steps": np.int64(3), "step_size": np.float32(0.5)}
    m = PrivateAUCClassifier(public=True, bounds=(-3, 3), algorithm="gradient-perturbation", options=options).fit(X, y)
    assert m.report_["steps"] == 3 and m.report_["step_size"] == 0.5


def test_bounds_of_two_features(clinic):
    """Two arrays and two pairs look alike for two features, and one of the readings would be wrong without a word."""
    X, y = clinic
    X = X[:, :2]
    low, high = np.array([-3.0, -2.0]), np.array([2.0, 3.0])
    ranges = lambda bounds: [c["range"] for c in PrivateAUCClassifier(public=True, bounds=bounds).fit(X, y).model_["encoder"]["columns"][:2]]
    assert ranges((low, high)) == [[-3, 2], [-2, 3]]
    assert ranges([(0, 1), (0, 2)]) == [[0, 1], [0, 2]]  # two arrays would be empty ranges
    for bounds in ([(-3, -2), (2, 3)], [[-3, -2], [2, 3]], np.array([low, high])):
        with pytest.raises(DyadError, match="two arrays or two pairs"):
            ranges(bounds)


def test_classes_do_not_contradict_the_schema(clinic):
    X, y = clinic
    schema = {"format": "npz", "features": X.shape[1], "range": [-3, 3], "public": True, "columns": [{"name": "y", "role": "label", "positive": "1", "negative": "0"}]}
    m = PrivateAUCClassifier(schema=schema, classes=(0, 1), epsilon=8).fit(X, y)
    assert list(m.classes_) == [0, 1] and (m.predict(X) == y).mean() > 0.6
    with pytest.raises(DyadError, match="contradicts the schema"):
        PrivateAUCClassifier(schema=schema, classes=(1, 0)).fit(X, y)


def test_search_and_curve_leave_no_parameter_out(clinic):
    import dyad_dp

    X, y = clinic
    with pytest.raises(DyadError, match="does not use radius= of the estimator"):
        dyad_dp.search(private(radius=2), [{"name": "a"}, {"name": "b", "radius": 2}], X, y)
    with pytest.raises(DyadError, match="does not use loss= of the estimator"):
        dyad_dp.curve(private(loss="hinge"), X, y, epsilons=[1], holdout_epsilon=1)
    with pytest.raises(DyadError, match="AUCs of scores, which PrivateMetric does not have"):
        dyad_dp.curve(PrivateMetric(public=True), X, y, epsilons=[1])


def test_the_model_file(clinic, own_places):
    X, y = clinic
    m = private().fit(X, y)
    m.save(own_places / "m.json")
    again = PrivateAUCClassifier.load(own_places / "m.json", classes=(0, 1))
    assert np.array_equal(again.predict(X), m.predict(X))
    assert np.array_equal(pickle.loads(pickle.dumps(m)).decision_function(X), m.decision_function(X))
    with pytest.raises(DyadError, match="task auc"):
        PrivateMetric.load(own_places / "m.json")
    with pytest.raises(ValueError, match="not fitted"):
        PrivateAUCClassifier().decision_function(X)


def test_hand_over_files(clinic, monkeypatch, own_places):
    X, y = clinic
    seen = {}
    run = _program.run

    def look(args, **kw):
        for path in (own_places / "tmp").rglob("*"):
            seen[path.name.split("-")[0]] = path.stat().st_mode & 0o777
        return run(args, **kw)

    monkeypatch.setattr("dyad_dp._estimators.run", look)
    private().fit(X, y)
    assert seen == {"dyad": 0o700, "data.npz": 0o600, "schema.yaml": 0o600}
    assert not list((own_places / "tmp").iterdir())
    left = own_places / "tmp" / "dyad-handover-999999999-x"
    left.mkdir()
    (left / "data.npz").write_bytes(b"records")
    alive = own_places / "tmp" / f"dyad-handover-{__import__('os').getpid()}-x"
    alive.mkdir()
    assert _handover.sweep() == [left] and alive.exists()


def test_no_cross_validation_on_private_data(clinic, own_places, surely):
    from sklearn.model_selection import GridSearchCV, cross_val_score

    X, y = clinic
    with pytest.raises(ValueError, match="dyad_dp.search"):
        GridSearchCV(private(), {"radius": [0.5, 1]}).fit(X, y)
    with pytest.raises(ValueError, match="dyad_dp.search"):
        cross_val_score(private(), X, y)
    assert not (own_places / "state" / "dyad" / "ledger.jsonl").exists()
    g = GridSearchCV(PrivateAUCClassifier(public=True), {"radius": [0.5, 1]}, cv=2).fit(X, y)
    surely("AUC of the best of a grid", g.best_score_)


def test_a_cap_is_kept(clinic, own_places):
    X, y = clinic
    ledger = own_places / "l.jsonl"
    _program.run(["ledger", "init", "clinic", "--ledger", str(ledger), "--epsilon", "1", "--delta", "1e-5"], parse=False)
    private(ledger=ledger, epsilon=0.9, delta=1e-6).fit(X, y)
    with pytest.raises(BudgetError):
        private(ledger=ledger, epsilon=0.9, delta=1e-6).fit(X, y)


def test_plan_before_data():
    report = private(epsilon=0.5).plan(10000, 5)
    assert report["guarantee"]["epsilon"] == pytest.approx(0.5) and report["records"] == 10000
    report = PrivateAUCClassifier(bounds={"age": (18, 95), "sex": ["f", "m"]}).plan(500)
    assert report["features"] == 2
    with pytest.raises(DyadError, match="n_features"):
        private().plan(10)


def test_persons(clinic):
    X, y = clinic
    who = np.arange(len(y)) // 4
    m = private(epsilon=4, persons=1000, max_rows_per_person=4).fit(X, y, person=who)
    assert m.guarantee_.unit == "one person"
    with pytest.raises(DyadError, match="persons= is needed"):
        private().fit(X, y, person=who)
    with pytest.raises(DyadError, match="whole numbers"):
        private(persons=1000).fit(X, y, person=who.astype(str))


def test_ranker(clinic, surely):
    X, y = clinic
    r = PrivateRanker(epsilon=4, bounds=(-3, 3), raw_columns=True, data_id="rank", grades=(0, 4)).fit(X, 2 * y)
    surely("AUC of a private ranker", exact_auc(r.predict(X), y))
    group = np.arange(len(y)) // 20
    r = PrivateRanker(public=True, grades=(0, 4)).fit(X, 2 * y, group=group)
    surely("share of pairs of a ranker by groups", r.score(X, 2 * y, group=group))
    with pytest.raises(DyadError, match="grades="):
        PrivateRanker(bounds=(-3, 3), raw_columns=True, data_id="rank").fit(X, y)


def test_metric(clinic):
    X, y = clinic
    m = PrivateMetric(epsilon=4, bounds=(-3, 3), raw_columns=True, data_id="m", classes=(0, 1)).fit(X, y)
    Z = m.transform(X)
    assert Z.shape[0] == len(X) and np.isfinite(Z).all()
    assert not hasattr(m, "predict") and not hasattr(m, "score")


def test_search(clinic, surely):
    import dyad_dp

    X, y = clinic
    e, result = dyad_dp.search(private(epsilon=4), [{"name": "a", "radius": 0.5}, {"name": "b", "radius": 2}], X, y)
    assert e.guarantee_.epsilon == pytest.approx(4)
    surely("AUC of a private search", exact_auc(e.decision_function(X), y))
    assert result["guarantee"]["epsilon"] == pytest.approx(4)


def test_schema_of_numbered_features(clinic, own_places):
    X, y = clinic
    schema = {"data_id": "s", "format": "npz", "features": 5, "range": [-3, 3], "columns": [{"name": "y", "role": "label", "positive": "1", "negative": "0"}]}
    path = own_places / "s.yaml"
    path.write_text(json.dumps(schema))
    for s in (schema, path, json.dumps(schema, indent=1)):
        m = PrivateAUCClassifier(schema=s, raw_columns=True).fit(X, y)
        assert list(m.classes_) == [0, 1] and m.guarantee_.epsilon == pytest.approx(1)


def test_programs_words_reach_the_caller(monkeypatch, own_places):
    monkeypatch.setenv("DYAD_PROGRAM", "")
    monkeypatch.setattr(_program.shutil, "which", lambda name: None)
    monkeypatch.setattr(_program, "__file__", str(own_places / "x.py"))
    with pytest.raises(DyadError, match="not found"):
        _program.program()


def test_report_html(clinic, own_places):
    X, y = clinic
    m = private(epsilon=2).fit(X, y)
    m.report_html(own_places / "m.html")
    page = (own_places / "m.html").read_text()
    assert "can guess whether a given record was used, or another in its place," in page and "success; a random guess has 50 %" in page
    assert m.guarantee_.run in page and "ROC curve" not in page.replace("A ROC curve", "")
    f = m.evaluate(X[:2000], y[:2000], epsilon=1)
    m.report_html(own_places / "f.html", figures=f)
    assert "ROC curve</text>" in (own_places / "f.html").read_text()
    with pytest.raises(DyadError, match="exists"):
        m.report_html(own_places / "m.html")
    other = private(epsilon=2).fit(X, y)
    with pytest.raises(DyadError, match="another model"):
        other.report_html(own_places / "o.html", figures=f)
    assert not (own_places / "o.html").exists()
    assert not list((own_places / "tmp").glob("dyad-handover-*"))


def test_curves(clinic, own_places):
    X, y = clinic
    columns = [{"name": c, "range": [-3, 3]} for c in "abcde"]
    columns[4]["basis"] = "none"
    schema = {"public": True, "data_id": "curves", "basis": "curve:3", "interactions": [["a", "e"]], "columns": [*columns, {"name": "out", "role": "label", "positive": "1", "negative": "0"}]}
    m = PrivateAUCClassifier(schema=schema, public=True, epsilon=4).fit(pd.DataFrame(X, columns=list("abcde")), pd.Series(y, name="out"))
    curves = m.curves(own_places / "curves.png")
    assert (own_places / "curves.png").read_bytes()[1:4] == b"PNG"
    assert [c.name for c in curves] == list("abcde") and curves[4].bend == "straight" and {c.bend for c in curves[:4]} <= {"bends", "no visible bend"}
    for c in curves:
        assert c.x[0] == -3 and c.x[-1] == 3 and np.all(c.low <= c.y) and np.all(c.y <= c.high) and c.low[0] < c.y[0]
    (surface,) = m.surfaces()
    assert surface.names == ("a", "e") and surface.z.shape == (21, 21) and surface.values[0][20] == 3
    assert np.ptp(surface.z) > 0 and np.allclose(np.diff(surface.z, axis=1), surface.z[:, 1:2] - surface.z[:, :1])  # e is a line
    line = curves[4]
    assert np.allclose(np.diff(line.y), line.y[1] - line.y[0])
    with pytest.raises(DyadError, match="exists"):
        m.curves(own_places / "curves.png")


def test_pairs_are_chosen_in_private(clinic, own_places):
    X, _ = clinic
    y = (X[:, 0] * X[:, 1] + 0.3 * np.random.default_rng(2).normal(size=len(X)) > 0).astype(int)
    columns = [{"name": c, "range": [-3, 3]} for c in "abcde"]
    schema = {"data_id": "choice", "choose_interactions": 1, "columns": [*columns, {"name": "out", "role": "label", "positive": "1", "negative": "0"}]}
    for store in ({}, {"store": "float32"}):
        e = PrivateAUCClassifier(schema={**schema, **store}, epsilon=16)
        before = e.plan(len(X), 5)
        assert before["moments"]["pairs"] == 1 and before["moments"]["candidates"] == 10
        m = e.fit(pd.DataFrame(X, columns=list("abcde")), pd.Series(y, name="out"))
        assert m.interactions_ == [("a", "b")] and m.surfaces()[0].names == ("a", "b") and m.report_["moments"]["pairs"] == 1
        assert m.decision_function(pd.DataFrame(X, columns=list("abcde"))).shape == y.shape
        m.save(own_places / f"m{len(store)}.json")
        assert PrivateAUCClassifier.load(own_places / f"m{len(store)}.json").interactions_ == [("a", "b")]
        assert verify(own_places / f"m{len(store)}.json")
    persons = {**schema, "ids": "public", "max_rows_per_person": 2, "columns": [*schema["columns"], {"name": "who", "role": "person"}]}
    m = PrivateAUCClassifier(schema=persons, epsilon=40).fit(pd.DataFrame({**dict(zip("abcde", X.T)), "who": np.arange(len(y)) // 2}), pd.Series(y, name="out"))
    assert m.guarantee_.unit == "one person" and m.interactions_ == [("a", "b")]
    with pytest.raises(DyadError, match="choose_interactions"):
        PrivateAUCClassifier(schema=schema, epsilon=16, options={"algorithm": "dpgdsc"}).fit(pd.DataFrame(X, columns=list("abcde")), pd.Series(y, name="out"))


def test_persons_within_groups(clinic):
    X, y = clinic
    who, group = np.arange(len(y)) // 4, np.arange(len(y)) // 40
    r = PrivateRanker(epsilon=4, bounds=(-3, 3), raw_columns=True, grades=(0, 4), data_id="ranked", persons="public", max_rows_per_person=4).fit(X, 4 * y, group=group, person=who)
    assert r.guarantee_.unit == "one person" and r.model_["plan"]["problem"]["groups"] == [{"size": 10, "number": 100}]
    who[1] = 900
    with pytest.raises(DyadError, match="check group= and person="):
        r.fit(X, 4 * y, group=group, person=who)


def test_a_public_schema_needs_nothing_that_private_data_need(surely):
    schema = {"public": True, "format": "npz", "features": 2, "range": [-3, 3], "columns": [{"name": "y", "role": "label", "positive": "1"}]}
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (2000, 2))
    model = PrivateAUCClassifier(schema=schema).fit(X, (X[:, 0] > 0).astype(int))
    assert list(model.classes_) == [0, 1]
    surely("AUC by a public schema", model.score(X, (X[:, 0] > 0).astype(int)))
