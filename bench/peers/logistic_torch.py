"""Sums of the logistic loss over all pairs of two classes with PyTorch on the CPU: the peer of the lines logistic direct of dyad lab bench.

    python3 bench/peers/logistic_torch.py --compile > bench/results/peers-logistic-torch.csv

Row and column sums of the slopes sigmoid(t_j - s_i) for n/2 scores of each class in float64, in blocks of rows: "sigmoid" is the
plain way, "factored" the one without an exponential per pair, 1 / (1 + e^s e^-t). No library has the near-linear method; its lines
have no peer.
"""
import argparse
import sys

import torch
from common import header, measure


def sigmoid(s, t, a, b):
    c = torch.sigmoid(t[None, :] - s[:, None])
    return c.sum(1), c.sum(0)


def factored(s, t, a, b):
    c = 1 / (1 + a[:, None] * b[None, :])
    return c.sum(1), c.sum(0)


def gradient(x, y, block, sums):
    s, t = x[y > 0], x[y < 0]
    a, b = torch.exp(s), torch.exp(-t)
    rows, cols = torch.empty_like(s), torch.zeros_like(t)
    for i in range(0, len(s), block):
        e = min(i + block, len(s))
        rows[i:e], col = sums(s[i:e], t, a[i:e], b)
        cols += col
    return (x[y < 0] * cols).sum() - (x[y > 0] * rows).sum()


def data(n):
    x = 2 * torch.rand(n, generator=torch.Generator().manual_seed(1), dtype=torch.float64) - 1
    return x, (torch.arange(n) % 2).double() * 2 - 1


def check(sums):
    x, y = data(100)
    want = sum(-torch.sigmoid(t - s) * (s - t) for s in x[y > 0] for t in x[y < 0])
    error = abs(gradient(x, y, 16, sums) - want).item()
    if not error < 1e-10:
        sys.exit(f"the sum is off by {error}")


p = argparse.ArgumentParser()
p.add_argument("--threads", type=int, default=1)
p.add_argument("--runs", type=int, default=5)
p.add_argument("--sizes", type=int, nargs="*", default=[4096, 8192])
p.add_argument("--compile", action="store_true", help="measure torch.compile, too; it needs a C++ compiler")
p.add_argument("--block", type=int, default=64, help="rows of a block")
o = p.parse_args()
torch.set_num_threads(o.threads)
torch.set_grad_enabled(False)
header(f"PyTorch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}", f"{o.threads} threads, {o.runs} runs")
variants = {"sigmoid": sigmoid, "factored": factored}
if o.compile:
    variants |= {f"{name} compile": torch.compile(f, dynamic=True) for name, f in variants.items()}
for name, sums in variants.items():
    try:
        check(sums)
    except Exception as e:  # no compiler on this machine, for instance
        print(f"# {name} does not work here: {type(e).__name__}")
        continue
    for n in o.sizes:
        x, y = data(n)
        measure(f"PyTorch {name}", "logistic direct", n, 1, o.runs, lambda: gradient(x, y, o.block, sums))
