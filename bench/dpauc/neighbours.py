"""Neighbouring data sets for the attacks of this folder, and the lines that they write.

A line of output is a case: what was trained, what the library claims, how far one record moves the clipped sum before noise (move, in
clips; above is the number of records that move it further than one clip), and the samples, one number for each training: the final
weights along the direction in which the record moves them. package dpauc chooses a
threshold on the first half of the samples and bounds epsilon from the other half.
"""
import csv
import os
import sys

import numpy as np

N, CLIP, DELTA, EPSILON = 200, 1.0, 1e-5, 1.0
COLUMNS = ["library", "case", "loss", "relation", "n", "positives", "clip", "noise", "step", "rate", "steps", "claimed_epsilon", "delta", "move",
           "above", "warnings", "seconds", "with", "without"]


def constructed(positive):
    """N - 1 negative records at (2, 0), and a last one, which is positive."""
    x = np.tile([2.0, 0.0], (N, 1))
    x[-1] = positive
    return x, np.r_[-np.ones(N - 1), 1.0]


def ordinary(positives, seed=20261123, d=10):
    """Records of norm 1: normal features, the classes shifted apart by half a standard deviation."""
    rng = np.random.default_rng(seed)
    y = np.r_[np.ones(positives), -np.ones(N - positives)]
    x = rng.standard_normal((N, d))
    x[:, 0] += 0.5 * y
    return x / np.linalg.norm(x, axis=1, keepdims=True), y


def without(x, y, i):
    keep = np.arange(len(x)) != i
    return x[keep], y[keep]


def writer(versions):
    with open("/proc/cpuinfo") as f:
        cpu = next(line.split(":")[1].strip() for line in f if line.startswith("model name"))
    print(f"# {versions}, python {sys.version.split()[0]}")
    print(f"# cpu: {cpu}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, one thread")
    print("# " + " ".join([os.path.basename(sys.argv[0]), *sys.argv[1:]]))
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(COLUMNS)

    def write(**row):
        for side in ("with", "without"):
            row[side] = " ".join(f"{v:.6g}" for v in row[side])
        out.writerow([row.get(c, "") for c in COLUMNS])
        sys.stdout.flush()
    return write
