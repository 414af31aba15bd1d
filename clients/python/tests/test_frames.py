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


def test_pandas(patients, surely):
    X, y = patients
    m = PrivateAUCClassifier(epsilon=2, bounds=BOUNDS, data_id="p", classes=("healthy", "ill")).fit(X[list(BOUNDS)], y)
    assert m.guarantee_.epsilon == pytest.approx(2) and list(m.feature_names_in_) == list(BOUNDS)
    scores = m.decision_function(X[["bmi", "sex", "age"]])
    assert np.array_equal(scores, m.decision_function(X[list(BOUNDS)]))  # columns are found by name
    surely("AUC of a frame with texts", (scores[y == "ill"][:, None] > scores[y == "healthy"]).mean())
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


def test_public_frame(patients, surely):
    X, y = patients
    m = PrivateAUCClassifier(public=True, missing="middle").fit(X.drop(columns="patient"), y)
    surely("AUC of a public frame", m.score(X.drop(columns="patient"), y))
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


def written(v, decimal, thousands, digits):
    """A number as a spreadsheet writes it."""
    text = f"{v:,.{digits}f}"
    return text.replace(",", "\0").replace(".", decimal).replace("\0", thousands)


@pytest.mark.parametrize("seed", range(24))
def test_texts_of_frames_are_never_misread(seed):
    """The contract of the corpus for pandas: texts among numbers are a question, or read as what they were written from."""
    r = np.random.default_rng(seed)
    decimal, thousands = [(",", "."), (",", " "), (",", "\u202f"), (".", ","), (".", "'"), (",", "")][seed % 6]
    digits, n = int(r.integers(0, 4)), 60
    values = np.round(r.exponential(10.0 ** r.integers(1, 5), n) + 0.5, digits)
    y = (values > np.median(values)).astype(int)
    high = float(np.ceil(values.max()))
    texts = pd.Series([written(v, decimal, thousands, digits) for v in values], dtype=[object, "string"][seed % 2])
    frame, numbers = pd.DataFrame({"x": texts}), pd.DataFrame({"x": values})
    same = dict(public=True, options={"mode": "nonprivate"})
    right = PrivateAUCClassifier(**same, bounds={"x": (0, high)}).fit(numbers, y)
    with pytest.raises(DyadError, match="holds texts"):
        PrivateAUCClassifier(**same, bounds={"x": (0, high)}).fit(frame, y)
    with pytest.raises(DyadError, match="holds texts"):
        right.decision_function(frame)  # a model of numbers
    sign = {" ": "space", "\u202f": "space"}.get(thousands, thousands)
    column = {"range": [0, high], "decimal": decimal, **({"thousands": sign} if sign else {})}
    told = PrivateAUCClassifier(**same, bounds={"x": column}).fit(frame, y)
    assert np.array_equal(told.decision_function(frame), right.decision_function(numbers))
    # A schema of the CSV file that the frame was read from says it for the file.
    csv = f'decimal: "{decimal}"' + (f', thousands: "{sign}"' if sign else "")
    schema = f"data_id: x\npublic: true\ncsv: {{header: true, {csv}}}\ncolumns:\n  - {{name: x, range: [0, {high}]}}\n  - {{name: y, role: label, positive: 1, negative: 0}}\n"
    by_file = PrivateAUCClassifier(options={"mode": "nonprivate"}, schema=schema).fit(frame, pd.Series(y, name="y"))
    assert np.array_equal(by_file.decision_function(frame), right.decision_function(numbers))


def test_a_draft_knows_that_it_is_one(patients, tmp_path):
    """A schema file whose ranges are still those of its draft voids the guarantee without its marks; replaced ones do not."""
    from dyad_dp._program import run

    X, y = patients
    data, path = tmp_path / "p.csv", tmp_path / "p.yaml"
    X.assign(outcome=y).drop(columns=["patient"]).to_csv(data, index=False)
    run(["data", "schema", str(data), "--label", "outcome", "--positive", "ill", "--out", str(path)])
    draft = path.read_text().replace(", from_data: true", "")
    voids = lambda m: any("BOUNDS NOT PRIVATE" in w for w in m.guarantee_.warnings)
    away = lambda m: any("RANGES NOT COMPARED" in w for w in m.guarantee_.warnings)
    path.write_text(draft)
    m = PrivateAUCClassifier(schema=path).fit(X, y)
    assert voids(m) and not away(m)
    m = PrivateAUCClassifier(schema=draft).fit(X, y)  # a text has no folder, so nothing to compare with
    assert away(m) and not voids(m)
    answers = tmp_path / "known.yaml"
    answers.write_text("age: {range: [0, 120]}\nsex: {categories: [f, m]}\nbmi: {range: [5, 90]}\n")
    run(["data", "schema", str(data), "--label", "outcome", "--positive", "ill", "--answers", str(answers), "--out", str(path), "--force"])
    m = PrivateAUCClassifier(schema=path).fit(X, y)
    assert not voids(m) and not away(m)
