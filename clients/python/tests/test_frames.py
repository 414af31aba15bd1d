import numpy as np
import pytest

from dyad_dp import DyadError, PrivateAUCClassifier

pd = pytest.importorskip("pandas")

BOUNDS = {"age": (18, 95), "sex": ["f", "m"], "bmi": {"range": [10, 60], "missing": {"policy": "middle"}}}


@pytest.fixture
def patients():
    r = np.random.default_rng(2)
    n = 3000
    age = r.integers(18, 95, n)
    frame = pd.DataFrame(
        {"age": age, "sex": r.choice(["f", "m"], n), "bmi": np.where(r.random(n) < 0.1, np.nan, r.normal(27, 5, n)), "patient": np.arange(n) // 3}
    )
    y = np.where(age + r.normal(0, 20, n) > 60, "ill", "healthy")
    return frame, pd.Series(y, name="outcome")


def test_pandas(patients):
    X, y = patients
    m = PrivateAUCClassifier(epsilon=2, bounds=BOUNDS, data_id="p", classes=("healthy", "ill")).fit(X[list(BOUNDS)], y)
    assert m.guarantee_.epsilon == pytest.approx(2) and list(m.feature_names_in_) == list(BOUNDS)
    scores = m.decision_function(X[["bmi", "sex", "age"]])
    assert np.array_equal(scores, m.decision_function(X[list(BOUNDS)]))  # columns are found by name
    assert scores[y == "ill"].mean() > scores[y == "healthy"].mean()
    assert set(m.predict(X[list(BOUNDS)])) <= {"healthy", "ill"}


def test_person_of_a_frame(patients):
    X, y = patients
    m = PrivateAUCClassifier(
        epsilon=4, bounds=BOUNDS, data_id="p", classes=("healthy", "ill"), person="patient", persons=1000, max_rows_per_person=3
    ).fit(X, y)
    assert m.guarantee_.unit == "one person"
    m.decision_function(X[list(BOUNDS)])


def test_schema_of_a_frame(patients):
    X, y = patients
    schema = """
data_id: clinic
format: csv
csv: {header: true}
columns:
  - {name: age, range: [18, 95]}
  - {name: sex, categories: [f, m]}
  - {name: outcome, role: label, positive: ill, negative: healthy}
"""
    m = PrivateAUCClassifier(schema=schema).fit(X, y)
    assert list(m.classes_) == ["healthy", "ill"] and m.guarantee_.epsilon == pytest.approx(1)
    m.predict(X)
    with pytest.raises(DyadError, match="categ"):
        m.decision_function(X.assign(sex="other"))


def test_public_frame(patients):
    X, y = patients
    m = PrivateAUCClassifier(public=True, missing="middle").fit(X.drop(columns="patient"), y)
    assert m.score(X.drop(columns="patient"), y) > 0.7
    with pytest.raises(DyadError, match="dict"):
        PrivateAUCClassifier(data_id="p", classes=("healthy", "ill")).fit(X, y)


def test_polars(patients):
    pl = pytest.importorskip("polars")
    X, y = patients
    m = PrivateAUCClassifier(epsilon=2, bounds=BOUNDS, data_id="p", classes=("healthy", "ill")).fit(pl.from_pandas(X[list(BOUNDS)]), y)
    assert np.array_equal(m.decision_function(pl.from_pandas(X[list(BOUNDS)])), m.decision_function(X[list(BOUNDS)]))


def test_texts_with_numbers():
    """A text such as "6.987" has two readings: a range alone does not decide on one."""
    pd = pytest.importorskip("pandas")
    values = np.linspace(2000, 9000, 80).round()
    texts = [f"{int(v) // 1000}.{int(v) % 1000:03d}" for v in values]
    y = (values > 5000).astype(int)
    frame = pd.DataFrame({"leukocytes": texts})
    with pytest.raises(DyadError, match='"decimal": ","'):
        PrivateAUCClassifier(public=True, bounds={"leukocytes": (0, 20000)}).fit(frame, y)
    with pytest.raises(DyadError, match='"decimal": ","'):
        PrivateAUCClassifier(public=True, bounds={"leukocytes": {"range": [0, 20000]}}).fit(frame, y)
    told = PrivateAUCClassifier(public=True, options={"mode": "nonprivate"}, bounds={"leukocytes": {"range": [0, 20000], "decimal": ",", "thousands": "."}}).fit(frame, y)
    same = PrivateAUCClassifier(public=True, options={"mode": "nonprivate"}, bounds={"leukocytes": (0, 20000)}).fit(pd.DataFrame({"leukocytes": values}), y)
    assert np.array_equal(told.decision_function(frame), same.decision_function(pd.DataFrame({"leukocytes": values})))
