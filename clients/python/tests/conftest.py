import numpy as np
import pytest


@pytest.fixture(autouse=True)
def own_places(tmp_path, monkeypatch):
    """Every test has a ledger and a folder for hand-over files of its own."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    return tmp_path


@pytest.fixture
def clinic():
    """Records of two classes, features in [-3, 3]."""
    r = np.random.default_rng(1)
    y = r.integers(0, 2, 4000)
    X = np.clip(r.normal(size=(4000, 5)) + np.outer(y, [1, 0.5, 0, 0, -0.5]), -3, 3)
    return X, y
