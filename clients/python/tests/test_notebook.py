from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")


def test_the_notebook_runs(own_places, monkeypatch):
    path = Path(__file__).parents[3] / "docs" / "python.ipynb"
    book = nbformat.read(path, as_version=4)
    assert not any(c.get("outputs") for c in book.cells), "clear the outputs: noise differs in every run"
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
