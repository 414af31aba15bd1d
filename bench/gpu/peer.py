"""The same gradient sums in PyTorch: eager in row blocks, and torch.compile.

The sum over all ordered pairs of the gradient of the logistic AUC loss, in float32 with
TF32 off, and of the logistic Mahalanobis loss, with TF32 off (to compare with our bf16x3)
and on (with our tf32), as in TestGPUMeasure: n records, half of them positive, unit norm
bound. Writes seconds (the fastest of five) as JSON.
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


def weights(xw, q, y, right, qr, yr):
    """c_ij = -phi'(u) y_i y_j of a block of rows, for all columns."""
    t = y[:, None] * yr[None, :]
    u = t * (1.0 - (q[:, None] + qr[None, :] - 2.0 * (xw @ right.T)))
    return t * torch.sigmoid(-u)


def mahalanobis_block(xw, q, y, right, qr, yr):
    """Row sums of c, and c X."""
    c = weights(xw, q, y, right, qr, yr)
    return c.sum(1), c @ right


def mahalanobis(x, y, w, block):
    """2 [X^T diag(C1) X - X^T c X]; c_ii = -phi'(..) cancels between the terms."""
    xw = x @ w
    q = (xw * x).sum(1)
    total = torch.zeros_like(w)
    for i in range(0, len(x), BLOCK):
        s = slice(i, i + BLOCK)
        rows, cx = block(xw[s], q[s], y[s], x, q, y)
        total += x[s].T @ (rows[:, None] * x[s] - cx)
    return 2.0 * total


def fastest(run):
    run()
    best = float("inf")
    for _ in range(5):
        torch.cuda.synchronize()
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    return best


def data(n, d):
    g = torch.Generator(device="cuda").manual_seed(1)
    x = 2 * torch.rand(n, d, device="cuda", generator=g) - 1
    x /= x.norm(dim=1, keepdim=True).clamp(min=1)
    y = torch.where(torch.rand(n, device="cuda", generator=g) < 0.5, -1.0, 1.0)
    return x, y


def measure_mahalanobis(results):
    for n in (10_000, 100_000):
        for d in (64, 128, 256):
            x, y = data(n, d)
            w = torch.eye(d, device="cuda") / d**0.5
            for tf32 in (False, True):
                torch.backends.cuda.matmul.allow_tf32 = tf32
                for name, block in (("eager", mahalanobis_block), ("compile", torch.compile(mahalanobis_block, dynamic=True))):
                    seconds = fastest(lambda: mahalanobis(x, y, w, block))
                    results.append({"peer": name, "loss": "mahalanobis", "tf32": tf32, "n": n, "d": d, "seconds": seconds})
                    print(results[-1], flush=True)
    torch.backends.cuda.matmul.allow_tf32 = False


def main(out):
    results = []
    for n in (1000, 10_000, 100_000):
        for d in (8, 32, 128):
            x, y = data(n, d)
            w = torch.zeros(d, device="cuda")
            w[0] = 1
            for name, block in (("eager", coefficients), ("compile", torch.compile(coefficients, dynamic=True))):
                seconds = fastest(lambda: gradient(x, y, w, block))
                results.append({"peer": name, "loss": "logistic", "n": n, "d": d, "seconds": seconds})
                print(results[-1], flush=True)
    measure_mahalanobis(results)
    with open(out, "w") as f:
        json.dump({"torch": torch.__version__, "device": torch.cuda.get_device_name(), "results": results}, f, indent=1)


if __name__ == "__main__":
    main(sys.argv[1])
