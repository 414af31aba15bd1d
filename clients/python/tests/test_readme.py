"""The ten lines of README.md, exactly: from a frame with a column of persons to a private model, its AUC, its page and an ONNX file."""

import re
from pathlib import Path

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

LINES = re.search(r"```python\n(.*?)```", (Path(__file__).parents[1] / "README.md").read_text(), re.S)[1]


def visits(persons, seed):
    r = np.random.default_rng(seed)
    patient = np.repeat(np.arange(persons), r.integers(1, 5, persons))
    n = len(patient)
    age = r.integers(18, 95, persons)[patient]
    frame = pd.DataFrame({"age": age, "sex": r.choice(["f", "m"], n), "glucose": r.normal(100, 20, n), "patient": patient})
    return frame, np.where(age + r.normal(0, 20, n) > 60, "yes", "no")


def test_ten_lines(own_places, monkeypatch, capsys, surely):
    lines = [line for line in LINES.splitlines() if line]
    assert len(lines) <= 10
    monkeypatch.chdir(own_places)
    (frame, ill), (later, later_ill) = visits(1500, 1), visits(1500, 2)
    names = {"frame": frame, "ill": ill, "later": later, "later_ill": later_ill}
    exec("\n".join(lines), names)
    model, figures = names["model"], names["figures"]
    assert model.guarantee_.unit == "one person" and model.guarantee_.epsilon == pytest.approx(1)
    surely("AUC of ten lines", figures.auc)
    assert figures.auc_interval[0] < figures.auc < figures.auc_interval[1]
    page = Path("model.html").read_text()
    assert model.guarantee_.run in page and "ROC curve</text>" in page
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession("model.onnx")
    given = {i.name: later[[i.name]].to_numpy() if i.type == "tensor(string)" else later[[i.name]].to_numpy(dtype=np.float64) for i in session.get_inputs()}
    assert np.allclose(session.run(None, given)[0][:, 0], model.decision_function(later), atol=1e-12)
    assert "epsilon = 1" in capsys.readouterr().out
