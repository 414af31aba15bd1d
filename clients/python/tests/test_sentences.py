"""Errors in the words of Python: parameters, columns and rows; no temporary path, no flag."""

import re
import tempfile
from pathlib import Path

import numpy as np
import pytest

from dyad_dp import DyadError, PrivateAUCClassifier, PrivateRanker, _sentences

pd = pytest.importorskip("pandas")
ROOT = Path(__file__).parents[3]
BOUNDS = {"age": (18, 95), "sex": ["f", "m"], "glucose": (40, 400)}


@pytest.fixture
def frame():
    r = np.random.default_rng(0)
    n = 400
    X = pd.DataFrame({"age": r.integers(18, 95, n).astype(float), "sex": r.choice(["f", "m"], n), "glucose": r.normal(100, 20, n)})
    return X, np.where(X.age > 60, "yes", "no")


def private(**kw):
    return PrivateAUCClassifier(**{"bounds": BOUNDS, "classes": ("no", "yes"), "data_id": "c", **kw})


def changed(X, row, column, value):
    X = X.copy()
    X[column] = X[column].astype(object) if isinstance(value, str) else X[column]
    X.loc[row, column] = value
    return X


MISTAKES = {
    "NaN": (lambda X, y: private().fit(changed(X, 37, "glucose", np.nan), y), ['column "glucose", row 37', 'missing="middle"', '"policy": "middle"']),
    "NaN of an array": (lambda X, y: private(bounds=(0, 1), raw_columns=True).fit(np.where(np.eye(400, 3), np.nan, 0.5), y), ["missing='middle'"]),
    "infinite": (lambda X, y: private().fit(changed(X, 3, "age", np.inf), y), ['column "age", row 3', "not a finite number"]),
    "unseen category": (lambda X, y: private().fit(changed(X, 12, "sex", "q"), y), ['column "sex", row 12', '"unknown": "other"']),
    "unseen category later": (lambda X, y: private().fit(X, y).predict(changed(X, 12, "sex", "q")), ['column "sex", row 12', '"unknown": "other"']),
    "column without bounds": (lambda X, y: private(bounds={"age": (18, 95), "glucose": (40, 400)}).fit(X, y), ['column "sex"', "bounds"]),
    "two of them": (lambda X, y: private(bounds={"age": (18, 95)}).fit(X, y), ['columns "sex", "glucose"']),
    "bounds without a column": (lambda X, y: private(bounds={**BOUNDS, "bmi": (10, 60)}).fit(X, y), ['column "bmi"', "X lacks"]),
    "column that is gone": (lambda X, y: private().fit(X, y).predict(X[["age"]]), ['"sex"', '"glucose"']),
    "number of persons": (lambda X, y: private(person="p", persons=50).fit(X.assign(p=np.arange(400) // 2), y), ['column "p"', "correct persons=", 'persons="public"']),
    "label": (lambda X, y: private().fit(X, np.where(y == "yes", "yes", "maybe")), ["y[", "classes="]),
    "grade": (lambda X, y: PrivateRanker(bounds=BOUNDS, grades=(0, 1), data_id="c").fit(X, np.arange(400) % 5), ["label is outside of grades", "grades=(lowest, highest)"]),
    "one row": (lambda X, y: private().fit(X[:1], y[:1]), ["one sample"]),
    "radius": (lambda X, y: private(radius=-1).fit(X, y), ["radius is -1"]),
    "epsilon": (lambda X, y: private(epsilon="one").fit(X, y), ['epsilon is "one"']),
    "option": (lambda X, y: private(options={"stepz": 3}).fit(X, y), ['no option "stepz"', '"steps"']),
    "missing policy": (lambda X, y: private(missing="mean").fit(X, y), ['"mean"', "middle"]),
    "category twice": (lambda X, y: private(bounds={**BOUNDS, "sex": ["f", "f"]}).fit(X, y), ['column "sex"', "twice"]),
    "data_id": (lambda X, y: private(data_id="a/b").fit(X, y), ["data_id"]),
    "candidate": (lambda X, y: __import__("dyad_dp").search(private(), [{"name": "a", "radiuss": 1}, {"name": "b"}], X, y), ["candidates", "radiuss"]),
    "page that is there": (lambda X, y: [private().fit(X, y).report_html(Path(tempfile.gettempdir()) / "p.html") for _ in range(2)], ["exists"]),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(frame, own_places, name):
    act, words = MISTAKES[name]
    with pytest.raises(ValueError) as e:
        act(*frame)
    text = str(e.value)
    assert all(w in text for w in words), text
    assert not re.search(r"handover|(^|\s)--\w|\.parquet|\.npz|schema\.yaml|ignore_others", text), text
    if "later" not in name and name not in ("page that is there", "column that is gone"):
        ledger = own_places / "state" / "dyad" / "ledger.jsonl"
        assert not ledger.exists() or '"type":"charge"' not in ledger.read_text()


def test_no_text_of_the_program_keeps_a_flag():
    """Every text of the program that names flags, as its source has it, names parameters or options after translation."""
    texts = set()
    for path in [*(ROOT / "cmd" / "command").glob("*.go"), *ROOT.glob("*.go"), *(ROOT / "algorithms").rglob("*.go")]:
        if not path.name.endswith("_test.go"):
            texts |= {t for t in re.findall(r'"((?:[^"\\\n]|\\.)*)"', path.read_text(encoding="utf-8")) if re.search(r"(?<![\w-])--[a-z]", t)}
    assert len(texts) > 150
    for text in texts:
        assert not re.search(r"(?<![\w-])--[a-z]", _sentences.translated(text)), text


def test_no_temporary_path_is_left():
    for path in (f"{tempfile.gettempdir()}/dyad-handover-12-ab_c/data.parquet", f"{tempfile.gettempdir()}/dyad-handover-1-x/schema.yaml"):
        assert "handover" not in _sentences.translated(f"{path}: row 3: wrong; see {path}")


def test_every_parameter_that_a_flag_becomes_is_one():
    known = set(PrivateAUCClassifier().get_params()) | set(PrivateRanker().get_params()) | {"out", "answers", "positive", "key", "task", "signature", "witness"}
    assert {p.replace("-", "_") for p in _sentences.PARAMETERS} <= known
    assert all(m[1] in known | {"label"} for t in _sentences.FLAGS.values() if (m := re.fullmatch(r"(\w+)=\S*", t)) and m[1] not in ("options", "resume"))
