"""Compares the processor time of benchmarks of two builds of Dyad, in interleaved pairs.

    python3 bench/speed/pairs.py BASE HEAD OUT.csv [PAIRS]

BASE and HEAD are folders of test binaries that `go test -c` made of the same packages at two commits.
Every leaf of a benchmark that both builds have is run for a fixed number of iterations, first by one build
and then by the other, PAIRS times (15). The figure is user time of the whole process, from the operating
system. A row has the median of the ratio HEAD/BASE and its distribution-free 95 % interval, the 4th and the
12th of 15 ordered ratios (binomial, .965). Set-up is part of both sides, so a ratio is slightly nearer to 1
than the ratio of the benchmark alone; iterations are chosen so that a run takes at least about LEAST seconds.
"""
import csv
import os
import re
import resource
import subprocess
import sys
import tempfile

LEAST = 0.2  # seconds of user time of a run
LEAVES = 2  # of one benchmark, evenly chosen


def run(binary, leaf, times):
    """User seconds of one process."""
    pattern = "/".join("^" + re.escape(p) + "$" for p in leaf.split("/"))
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        done = subprocess.run(
            [binary, "-test.run=^$", "-test.bench=" + pattern, f"-test.benchtime={times}x", "-test.cpu=1"],
            cwd=os.environ.get("SPEED_DIR", folder), capture_output=True, text=True)
        spent = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    if done.returncode != 0:
        raise RuntimeError(done.stdout[-300:] + done.stderr[-300:])
    return spent, done.stdout


def leaves(binary):
    """Names of the leaves of all benchmarks, at most LEAVES of each."""
    done = subprocess.run([binary, "-test.run=^$", "-test.bench=.", "-test.benchtime=1x", "-test.cpu=1"],
                          capture_output=True, text=True, timeout=900, cwd=tempfile.mkdtemp())
    found = {}
    for line in done.stdout.splitlines():
        m = re.match(r"^(Benchmark\S+)\s+1\s+([0-9.]+) ns/op", line)
        if m:
            found.setdefault(m.group(1).split("/")[0], []).append((m.group(1), float(m.group(2)) / 1e9))
    chosen = []
    for group in found.values():
        group = [g for g in group if g[1] < 2]
        step = max(1, -(-len(group) // LEAVES))
        chosen += group[::step]
    return dict(chosen)


def main():
    base, head, out = sys.argv[1:4]
    pairs = int(sys.argv[4]) if len(sys.argv) > 4 else 15
    rows = []
    for name in sorted(set(os.listdir(base)) & set(os.listdir(head))):
        old, new = os.path.join(base, name), os.path.join(head, name)
        common = leaves(new)
        for leaf in sorted(set(leaves(old)) & set(common)):
            if os.environ.get("ONLY") and not re.search(os.environ["ONLY"], leaf):
                continue
            try:
                times = 1
                while True:
                    spent, _ = run(old, leaf, times)
                    if spent >= LEAST or times >= 10**7:
                        break
                    times = max(times + 1, min(times * 20, int(times * 1.2 * LEAST / max(spent, 0.01))))
                ratios = []
                for i in range(pairs):
                    order = (old, new) if i % 2 == 0 else (new, old)
                    took = {b: run(b, leaf, times)[0] for b in order}
                    ratios.append(took[new] / took[old])
            except RuntimeError as e:
                print(name, leaf, "failed:", e, file=sys.stderr)
                continue
            ratios.sort()
            k = 3 if pairs == 15 else max(0, int((pairs - 1.96 * pairs**0.5) / 2) - 1)
            rows.append([name.removesuffix(".test"), leaf, times, pairs, f"{ratios[pairs // 2]:.4f}", f"{ratios[k]:.4f}", f"{ratios[pairs - 1 - k]:.4f}"])
            print(*rows[-1], flush=True)
    with open(out, "w", newline="") as f:
        w = csv.writer(f, lineterminator="\n")
        w.writerow(["package", "benchmark", "iterations", "pairs", "median", "low", "high"])
        w.writerows(rows)


main()
