"""The same gradient sums in PyTorch: eager in row blocks, and torch.compile.

The sum over all ordered pairs of the gradient of the logistic AUC loss, in float32 with
TF32 off, as in TestGPUMeasure: n records, half of them positive, unit norm bound.
Writes seconds (the fastest of five) as JSON.
"""

import json
import sys
import time

import torch

torch.backends.cuda.matmul.allow_tf32 = False
BLOCK = 4096


def coefficients(pos, neg):
    """Row and column sums of sigm(2 (t_j - s_i))."""
    v = torch.sigmoid(2.0 * (neg[None, :] - pos[:, None]))
    return v.sum(1), v.sum(0)


def gradient(x, y, w, block):
    s = x @ w
    pos, neg = s[y > 0], s[y < 0]
    rows, cols = [], torch.zeros_like(neg)
    for part in pos.split(BLOCK):
        r, c = block(part, neg)
        rows.append(r)
        cols += c
    c = torch.zeros_like(s)
    c[y > 0] = -4.0 * torch.cat(rows)
    c[y < 0] = 4.0 * cols
    return x.T @ c


def main(out):
    results = []
    for n in (1000, 10_000, 100_000):
        for d in (8, 32, 128):
            g = torch.Generator(device="cuda").manual_seed(1)
            x = 2 * torch.rand(n, d, device="cuda", generator=g) - 1
            x /= x.norm(dim=1, keepdim=True).clamp(min=1)
            y = torch.where(torch.rand(n, device="cuda", generator=g) < 0.5, -1.0, 1.0)
            w = torch.zeros(d, device="cuda")
            w[0] = 1
            for name, block in (("eager", coefficients), ("compile", torch.compile(coefficients, dynamic=True))):
                gradient(x, y, w, block)
                best = float("inf")
                for _ in range(5):
                    torch.cuda.synchronize()
                    start = time.perf_counter()
                    gradient(x, y, w, block)
                    torch.cuda.synchronize()
                    best = min(best, time.perf_counter() - start)
                results.append({"peer": name, "n": n, "d": d, "seconds": best})
                print(results[-1], flush=True)
    with open(out, "w") as f:
        json.dump({"torch": torch.__version__, "device": torch.cuda.get_device_name(), "results": results}, f, indent=1)


if __name__ == "__main__":
    main(sys.argv[1])
