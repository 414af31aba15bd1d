"""Paid results stay in files, and verdicts of models reach the caller."""

import hashlib
import json
import os
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

import dyad_dp
from dyad_dp import Figures, PrivateAUCClassifier


def private(**kw):
    return PrivateAUCClassifier(**{"bounds": (-3, 3), "data_id": "clinic", "classes": (0, 1), "raw_columns": True, **kw})


def charged(own_places):
    return (own_places / "state" / "dyad" / "ledger.jsonl").read_text().count('"type":"charge"')


def test_figures_and_models_stay(clinic, own_places):
    X, y = clinic
    m = private(epsilon=2).fit(X, y)
    f = m.evaluate(X[:2000], y[:2000], epsilon=1)
    kept = own_places / "state" / "dyad" / "released"
    assert sorted(str(p) for p in kept.iterdir()) == sorted([f.file, m.model_file_])
    assert kept.stat().st_mode & 0o777 == 0o700
    again = Figures.load(f.file)
    assert (again.auc, again.auc_interval, again.file) == (f.auc, f.auc_interval, f.file)
    assert np.array_equal(PrivateAUCClassifier.load(m.model_file_, classes=(0, 1)).coef_, m.coef_)
    own = m.evaluate(X[:2000], y[:2000], epsilon=0.5, out=own_places / "mine.json")
    assert own.file == str(own_places / "mine.json") and Figures.load(own.file).auc == own.auc
    with pytest.raises(dyad_dp.DyadError, match="exists"):
        m.evaluate(X[:2000], y[:2000], epsilon=0.5, out=own_places / "mine.json")
    assert charged(own_places) == 3
    e, _ = dyad_dp.search(private(epsilon=4, ledger=own_places / "l.jsonl"), [{"name": "a", "radius": 0.5}, {"name": "b", "radius": 2}], X, y)
    assert os.path.dirname(e.model_file_) == str(own_places / "released") and os.path.exists(e.model_file_)
    public = PrivateAUCClassifier(public=True).fit(X, y)
    assert public.model_file_ is None and public.evaluate(X, y).file is None


@pytest.mark.parametrize("where", ["of_figures", "of_model"])
def test_a_failure_after_the_release_names_the_file(clinic, own_places, monkeypatch, where):
    X, y = clinic
    m = private(epsilon=2).fit(X, y)

    def broken(*_):
        raise MemoryError("no room")

    if where == "of_figures":
        monkeypatch.setattr(Figures, "of", broken)
        with pytest.raises(RuntimeError, match=r"released/evaluation-.*\.json.*no room") as raised:
            m.evaluate(X[:2000], y[:2000], epsilon=1)
        monkeypatch.undo()
        name = str(raised.value).split("saved as ")[1].split(",")[0]
        assert 0 < Figures.load(name).auc < 1
    else:
        monkeypatch.setattr(PrivateAUCClassifier, "_adopt", broken)
        with pytest.raises(RuntimeError, match=r"released/model-.*\.json.*no room") as raised:
            private(epsilon=2).fit(X, y)
        monkeypatch.undo()
        name = str(raised.value).split("saved as ")[1].split(",")[0]
        assert len(PrivateAUCClassifier.load(name).coef_) == 5


def test_a_killed_process_leaves_its_figures(own_places):
    script = """
import os, numpy as np
from dyad_dp import Figures, PrivateAUCClassifier
r = np.random.default_rng(3)
X, y = r.random((500, 3)), r.integers(0, 2, 500)
m = PrivateAUCClassifier(bounds=(0, 1), raw_columns=True, classes=(0, 1), data_id="killed").fit(X, y)
Figures.of = lambda *_: os.kill(os.getpid(), 9)
m.evaluate(X, y, epsilon=1)
"""
    subprocess.run([sys.executable, "-c", script], env={**os.environ, "TMPDIR": str(own_places / "tmp")})
    PrivateAUCClassifier(public=True).fit(np.random.default_rng(0).random((50, 2)), np.arange(50) % 2)  # sweeps
    (kept,) = (own_places / "state" / "dyad" / "released").glob("evaluation-*.json")
    assert 0 < Figures.load(kept).auc < 1 and charged(own_places) == 2


def forged(text, change):
    m = json.loads(text)
    m.pop("checksum")
    change(m)
    body = json.dumps(m, indent=2)
    digest = hashlib.sha256((body + "\n").encode()).hexdigest()
    return body[:-2] + f',\n  "checksum": "sha256:{digest}"\n}}\n'


def far(m):
    m["weights"][0] = 1e6


@pytest.mark.parametrize(
    "options, change, words",
    [
        ({"options": {"algorithm": "dpgdsc"}}, far, "is refused: "),
        ({"options": {"algorithm": "offpairstrc"}}, None, "is not (covered by the checker: |checked; dyad_dp.verify)"),
        ({"options": {"algorithm": "dpgdsc"}}, None, None),
        ({"public": True}, None, None),
    ],
)
def test_a_verdict_that_is_not_verified_is_a_warning(clinic, own_places, options, change, words):
    X, y = clinic
    m = private(epsilon=2, **options).fit(X, y)
    path = own_places / "m.json"
    path.write_text(forged(m.model_bytes_.decode(), change) if change else m.model_bytes_.decode())
    for use in (lambda: PrivateAUCClassifier.load(path), lambda: loaded.decision_function(X)):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            done = use()
        loaded = done if isinstance(done, PrivateAUCClassifier) else loaded
        texts = [str(w.message) for w in seen]
        assert len(texts) == (words is not None) and all(re.search(words, text) and "handover" not in text for text in texts), texts


def test_what_loads_nowhere_does_not_load_here(clinic, own_places):
    X, y = clinic
    path = own_places / "m.json"
    path.write_text(private().fit(X, y).model_bytes_.decode().replace('"unit": "one record"', '"unit": "one ghost"'))
    with pytest.raises(dyad_dp.DyadError, match="checksum"):
        PrivateAUCClassifier.load(path)
