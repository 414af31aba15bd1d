import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import numpy as np
import pytest

from dyad_dp import BudgetError, DyadError, PrivateAUCClassifier, SavedElsewhere, _program

SCRIPT = """
import numpy as np, sys
from dyad_dp import BudgetError, DyadError, PrivateAUCClassifier, SavedElsewhere, _program
r = np.random.default_rng(3)
X, y = r.random((20000, 10)), r.integers(0, 2, 20000)
e = PrivateAUCClassifier(bounds=(0, 1), raw_columns=True, classes=(0, 1), data_id="slow", algorithm="gradient-perturbation", options={"steps": STEPS})
e.fit(X, y, resume=RUN)
print(e.guarantee_.run)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_an_interrupted_run_is_resumed_at_no_further_cost(own_places):
    env = {**os.environ, "TMPDIR": str(own_places / "tmp")}
    script = SCRIPT.replace("STEPS", "3000")
    child = subprocess.Popen([sys.executable, "-c", script.replace("RUN", "None")], env=env, stderr=subprocess.PIPE, text=True)
    ledger = own_places / "state" / "dyad" / "ledger.jsonl"
    until = time.monotonic() + 60
    while not (ledger.exists() and "slow" in ledger.read_text()):
        assert child.poll() is None and time.monotonic() < until, "the run ended before its charge was seen"
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)  # the Python process alone, as a notebook does
    _, err = child.communicate(timeout=60)
    assert child.returncode != 0 and "KeyboardInterrupt" in err
    run = re.search(r'resume="([A-Z2-7]{20,})"', err)
    assert run, err
    assert not list((own_places / "tmp").iterdir()), "hand-over files were left"
    again = subprocess.run([sys.executable, "-c", script.replace("RUN", repr(run[1]))], env=env, capture_output=True, text=True, timeout=300)
    assert again.returncode == 0, again.stderr
    assert again.stdout.strip() == run[1]


def test_a_killed_process_leaves_folders_that_the_next_one_sweeps(own_places):
    env = {**os.environ, "TMPDIR": str(own_places / "tmp")}
    script = "from dyad_dp import _handover\nimport os\nwith _handover.folder() as f:\n    _handover.write_text(f / 'x', 'records')\n    os.kill(os.getpid(), 9)\n"
    subprocess.run([sys.executable, "-c", script], env=env)
    assert list((own_places / "tmp").iterdir())
    PrivateAUCClassifier(public=True).fit(np.random.default_rng(0).random((50, 2)), np.arange(50) % 2)
    assert not list((own_places / "tmp").iterdir())


@pytest.mark.skipif(os.name == "nt", reason="a shell script stands for the program")
@pytest.mark.parametrize(
    "end, kind, text",
    [
        ("exit 1", RuntimeError, "something"),
        ("exit 2", RuntimeError, "died (something); dyad_dp.ledger.show()"),
        ("exit 3", BudgetError, "something"),
        ("exit 4", SavedElsewhere, "something"),
        ("exit 64", DyadError, "something"),
        ("kill -9 $$", RuntimeError, "died (something); dyad_dp.ledger.show()"),
    ],
)
def test_exit_codes_become_exceptions(tmp_path, monkeypatch, end, kind, text):
    fake = tmp_path / "dyad"
    fake.write_text(f"#!/bin/sh\necho dyad: something >&2\necho goroutine 1 >&2\n{end}\n")
    fake.chmod(0o755)
    monkeypatch.setenv("DYAD_PROGRAM", str(fake))
    with pytest.raises(Exception) as raised:
        _program.run(["version"])
    assert type(raised.value) is kind and text in str(raised.value)


def test_the_package_holds_no_mechanism():
    """Noise is the program's: nothing here draws random numbers."""
    for path in (Path(__file__).parent.parent / "dyad_dp").glob("*.py"):
        text = path.read_text()
        assert not re.search(r"np\.random|import random|default_rng|secrets", text), path


def test_the_program_is_on_the_path_of_the_environment():
    """What pip installs starts the program: its output and its exit code are those of the program."""
    want = subprocess.run([_program.program(), "version"], capture_output=True, text=True, check=True).stdout
    for command in ([str(Path(sysconfig.get_path("scripts")) / "dyad")], [sys.executable, "-m", "dyad_dp"]):
        assert subprocess.run([*command, "version"], capture_output=True, text=True, check=True).stdout == want
        wrong = subprocess.run([*command, "no-such-command"], capture_output=True, text=True)
        assert wrong.returncode == subprocess.run([_program.program(), "no-such-command"], capture_output=True).returncode != 0


def test_a_package_without_the_program_does_not_call_itself(tmp_path):
    """The script of pip is called dyad, as the program is: it must not find itself on PATH."""
    shutil.copytree(Path(_program.__file__).parent, tmp_path / "dyad_dp", ignore=shutil.ignore_patterns("bin", "__pycache__"))
    script = tmp_path / "dyad"
    script.write_text(f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(tmp_path)!r})\nfrom dyad_dp.__main__ import main\nsys.exit(main())\n")
    script.chmod(0o755)
    env = {k: v for k, v in os.environ.items() if k != "DYAD_PROGRAM"}
    got = subprocess.run([str(script), "version"], env={**env, "PATH": str(tmp_path)}, capture_output=True, text=True, timeout=60)
    assert got.returncode == 1 and "was not found" in got.stderr
