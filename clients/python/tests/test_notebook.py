import base64
import os
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("matplotlib")


def test_the_notebook_runs(own_places, monkeypatch):
    path = Path(__file__).parents[3] / "docs" / "python.ipynb"
    book = nbformat.read(path, as_version=4)
    assert not any(c.get("outputs") for c in book.cells), "clear the outputs: noise differs in every run"
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    outputs = [o for c in book.cells if c.cell_type == "code" for o in c.outputs]
    assert not any(o.output_type == "error" for o in outputs)
    pictures = [o.data["image/png"] for o in outputs if "image/png" in o.get("data", {})]
    assert len(pictures) == 2 and all(len(p) > 8000 for p in pictures)
    assert any("guarantee</th>" in o.data.get("text/html", "") for o in outputs if "data" in o), "a fitted model is shown with its guarantee"
    if keep := os.environ.get("DYAD_PICTURES"):  # to look at them
        for k, p in enumerate(pictures):
            (Path(keep) / f"notebook-{k}.png").write_bytes(base64.b64decode(p))
