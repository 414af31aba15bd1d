"""Type hints: the package is checked, and a checker finds what callers get wrong."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")
HERE = Path(__file__).parents[1]

RIGHT = """
import dyad_dp
from dyad_dp import PrivateAUCClassifier, PrivateRanker, PublicScaler, ledger, losses

m = PrivateAUCClassifier(epsilon=1, bounds={"age": (18, 95), "sex": ["f", "m"]}, classes=("no", "yes"), data_id="c", person="id", persons=100, options={"steps": 3})
PrivateRanker(2.0, bounds=(0, 1), persons="public", grades=(0, 4))
auc: float | None = m.fit([[1.0]], [1]).evaluate([[1.0]], [1], epsilon=0.5).auc
kind: str = dyad_dp.verify("model.json", key="K").verdict
ledger.init("c", epsilon=2, delta=1e-5)
smooth: float | None = losses.check("log1p(exp(-u))").smoothness
"""
WRONG = [
    'PrivateAUCClassifier(epsilon="one")',
    'PrivateAUCClassifier(boundz=(0, 1))',
    'PrivateAUCClassifier(missing="mean")',
    'PrivateAUCClassifier(persons="all")',
    'PrivateAUCClassifier().fit([[1.0]], [1], resume=3)',
    'PrivateAUCClassifier().evaluate([[1.0]], [1], epsilon="1")',
    'dyad_dp.verify(3)',
    'ledger.init("c", epsilon="2", delta=1e-5)',
    'losses.check(3)',
]


def mypy(*args):
    return subprocess.run([sys.executable, "-m", "mypy", "--config-file", str(HERE / "pyproject.toml"), "--cache-dir", "/dev/null" if sys.platform != "win32" else "nul", *args], capture_output=True, text=True, cwd=HERE)


def test_the_package_and_its_callers_are_checked(tmp_path):
    (tmp_path / "right.py").write_text(RIGHT)
    wrong = "import dyad_dp\nfrom dyad_dp import PrivateAUCClassifier, ledger, losses\n" + "\n".join(WRONG) + "\n"
    (tmp_path / "wrong.py").write_text(wrong)
    own = mypy("dyad_dp")
    assert own.returncode == 0, own.stdout
    done = mypy(str(tmp_path / "right.py"), str(tmp_path / "wrong.py"))
    assert "right.py" not in done.stdout, done.stdout
    for k, line in enumerate(WRONG):
        assert f"wrong.py:{k + 3}: error" in done.stdout, f"{line} is taken:\n{done.stdout}"
