"""Gradients of the Mahalanobis logistic loss with PyTorch on the CPU: the peer of the lines mahalanobis of dyad lab bench.

    python3 bench/peers/mahalanobis_torch.py --compile > bench/results/peers-mahalanobis-torch.csv

In float64 without the loss value, in blocks of rows. "eager" takes all pairs of a block with all columns, as one would write it first;
"half work" is what Dyad does: the columns from the block on, only pairs i < j; "half work compile" the same with torch.compile.
"eager" is measured for the smallest size only.
"""
import argparse
import sys

import torch
from common import header, measure


def block_sums(xi, yi, si, xj, yj, sj, xwi, mask):
    """Coefficients of a block of pairs: their product with x_j, row and column sums."""
    p = yi[:, None] * yj[None, :]
    margin = p * (1 - (si[:, None] + sj[None, :] - 2 * (xwi @ xj.T)))
    c = torch.sigmoid(-margin) * p
    if mask:
        c = torch.triu(c, 1)
    return c @ xj, c.sum(1), c.sum(0)


def half(x, y, w, block, sums):
    n, d = x.shape
    xw = x @ w
    s = (xw * x).sum(1)
    total, both = torch.zeros(d, d, dtype=x.dtype), torch.zeros(n, dtype=x.dtype)
    for i in range(0, n, block):
        e = min(i + block, n)
        for j, last, mask in ((i, e, True), (e, n, False)):
            if j < last:
                cx, row, col = sums(x[i:e], y[i:e], s[i:e], x[j:last], y[j:last], s[j:last], xw[i:e], mask)
                total += x[i:e].T @ cx
                both[i:e] += row
                both[j:last] += col
    return 2 * ((x * both[:, None]).T @ x - (total + total.T))


def full(x, y, w, block, sums):
    """The pairs i = j add nothing: their rows and columns cancel."""
    n, d = x.shape
    xw = x @ w
    s = (xw * x).sum(1)
    total, both = torch.zeros(d, d, dtype=x.dtype), torch.zeros(n, dtype=x.dtype)
    for i in range(0, n, block):
        e = min(i + block, n)
        cx, row, _ = sums(x[i:e], y[i:e], s[i:e], x, y, s, xw[i:e], False)
        total += x[i:e].T @ cx
        both[i:e] += row
    return 2 * ((x * both[:, None]).T @ x - total)


def check(gradient, sums):
    x, y, w = data(50, 3)
    z = x[:, None, :] - x[None, :, :]
    p = y[:, None] * y[None, :]
    c = torch.sigmoid(-p * (1 - torch.einsum("ija,ab,ijb->ij", z, w, z))) * p
    c.fill_diagonal_(0)
    want = torch.einsum("ij,ija,ijb->ab", c, z, z)
    error = (gradient(x, y, w, 16, sums) - want).abs().max().item()
    if not error < 1e-12:
        sys.exit(f"the gradient is off by {error}")


def data(n, d):
    g = torch.Generator().manual_seed(1)
    x = torch.randn(n, d, generator=g, dtype=torch.float64)
    x /= x.norm(dim=1, keepdim=True)
    y = torch.randint(0, 2, (n,), generator=g).double() * 2 - 1
    return x, y, torch.eye(d, dtype=torch.float64) / d**0.5


p = argparse.ArgumentParser()
p.add_argument("--threads", type=int, default=1)
p.add_argument("--runs", type=int, default=3)
p.add_argument("--sizes", type=int, nargs="*", default=[4096, 16384])
p.add_argument("--compile", action="store_true", help="measure torch.compile, too; it needs a C++ compiler")
p.add_argument("--block", type=int, default=256, help="rows of a block")
o = p.parse_args()
torch.set_num_threads(o.threads)
torch.set_grad_enabled(False)
header(f"PyTorch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}", f"{o.threads} threads, {o.runs} runs")
variants = {"eager": (full, block_sums), "half work": (half, block_sums)}
if o.compile:
    variants["half work compile"] = (half, torch.compile(block_sums, dynamic=True))
for name, (gradient, sums) in variants.items():
    try:
        check(gradient, sums)
    except Exception as e:  # no compiler on this machine, for instance
        print(f"# {name} does not work here: {type(e).__name__}")
        continue
    for n in o.sizes[:1] if name == "eager" else o.sizes:
        for d in (8, 32, 128):
            x, y, w = data(n, d)
            measure(f"PyTorch {name}", "mahalanobis", n, d, o.runs, lambda: gradient(x, y, w, o.block, sums))
