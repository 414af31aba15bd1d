"""The same sums in PyTorch and Triton, with TF32 off, as TestGPUMeasure and
TestGPUMeasurePairs time them. Writes seconds (the fastest of five) as JSON.

Scores: the gradient of the logistic AUC loss over all ordered pairs of n records, half of
them positive, unit norm bound, in float32: eager in row blocks, torch.compile, and a
Triton kernel with row and column sums of tiles.

Pairs: the sum over m labelled pairs of contrastive gradients (margin 1, 16 rows), each
clipped to 1/2 in its Euclidean norm, in float64: eager and torch.compile.

Mahalanobis: the gradient of the logistic Mahalanobis loss over all ordered pairs, as in
TestGPUMeasureMetric, in float32 with TF32 off (to compare with our bf16x3) and on (with our
tf32): eager in row blocks and torch.compile of a block.

peer.py --main OUT   measures the sizes of the bars (needs a GPU), peer.py --rest OUT the others;
                   OUT is written after each
peer.py --ceilings prints what this GPU copies and multiplies a second
peer.py --check    compiles the Triton kernel for compute capability 9.0, where Triton is
                   installed, and runs the pairs on the CPU, where PyTorch is; no GPU
"""

import json
import sys
import time

BLOCK = 4096  # rows of eager blocks
TILE = 64  # rows and columns of Triton tiles


def triton_kernel():
    """row[i] and col[j] += sigm(2 (t_j - s_i)) for all i < rows, j < cols."""
    import triton
    import triton.language as tl

    # Annotations are global names to Triton.
    globals()["tl"] = tl

    @triton.jit
    def tiles(s, t, row, col, rows, cols, strip, TILE: tl.constexpr):
        i = tl.program_id(0) * TILE + tl.arange(0, TILE)
        si = tl.load(s + i, mask=i < rows, other=float("inf"))  # sigm(-inf) = 0
        total = tl.zeros([TILE], tl.float32)
        first = tl.program_id(1) * strip
        for c0 in range(first, min(first + strip, cols), TILE):
            j = c0 + tl.arange(0, TILE)
            tj = tl.load(t + j, mask=j < cols, other=float("-inf"))
            v = tl.sigmoid(2.0 * (tj[None, :] - si[:, None]))
            total += tl.sum(v, 1)
            tl.atomic_add(col + j, tl.sum(v, 0), mask=j < cols)
        tl.atomic_add(row + i, total, mask=i < rows)

    return tiles


def check_triton():
    """Compiles the kernel without a GPU."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    types = {"s": "*fp32", "t": "*fp32", "row": "*fp32", "col": "*fp32", "rows": "i32", "cols": "i32", "strip": "i32", "TILE": "constexpr"}
    source = ASTSource(triton_kernel(), types, constexprs={"TILE": TILE})
    ptx = triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["ptx"]
    if "atom.global" not in ptx and "red.global" not in ptx:
        raise RuntimeError("the Triton kernel adds nothing up")
    return len(ptx)


def coefficients(pos, neg):
    """Row and column sums of sigm(2 (t_j - s_i))."""
    import torch

    v = torch.sigmoid(2.0 * (neg[None, :] - pos[:, None]))
    return v.sum(1), v.sum(0)


def in_blocks(block):
    """Row and column sums by blocks of rows."""
    import torch

    def sums(pos, neg):
        rows, cols = [], torch.zeros_like(neg)
        for part in pos.split(BLOCK):
            r, c = block(part, neg)
            rows.append(r)
            cols += c
        return torch.cat(rows), cols

    return sums


def by_triton(kernel):
    import torch

    def sums(pos, neg):
        rows, cols = torch.zeros_like(pos), torch.zeros_like(neg)
        strip = 32 * TILE
        grid = ((len(pos) + TILE - 1) // TILE, (len(neg) + strip - 1) // strip)
        kernel[grid](pos, neg, rows, cols, len(pos), len(neg), strip, TILE=TILE)
        return rows, cols

    return sums


def gradient(x, y, w, sums):
    import torch

    s = x @ w
    rows, cols = sums(s[y > 0], s[y < 0])
    c = torch.zeros_like(s)
    c[y > 0] = -4.0 * rows
    c[y < 0] = 4.0 * cols
    return x.T @ c


def weights(xw, q, y, right, qr, yr):
    """c_ij = -phi'(u) y_i y_j of a block of rows, for all columns."""
    t = y[:, None] * yr[None, :]
    u = t * (1.0 - (q[:, None] + qr[None, :] - 2.0 * (xw @ right.T)))
    import torch

    return t * torch.sigmoid(-u)


def mahalanobis_block(xw, q, y, right, qr, yr):
    """Row sums of c, and c X."""
    c = weights(xw, q, y, right, qr, yr)
    return c.sum(1), c @ right


def mahalanobis(x, y, w, block):
    """2 [X^T diag(C1) X - X^T c X]; c_ii = -phi'(..) cancels between the terms."""
    import torch

    xw = x @ w
    q = (xw * x).sum(1)
    total = torch.zeros_like(w)
    for i in range(0, len(x), BLOCK):
        s = slice(i, i + BLOCK)
        rows, cx = block(xw[s], q[s], y[s], x, q, y)
        total += x[s].T @ (rows[:, None] * x[s] - cx)
    return 2.0 * total


def pair_sum(x, w, first, second, dissimilar, clip):
    """Sum of clipped contrastive gradients, W of shape (rows, d)."""
    import torch

    dx = x[first] - x[second]
    v = dx @ w.T
    distance = v.norm(dim=1, keepdim=True)
    f = torch.where(distance < 1, (distance - 1) / distance.clamp(min=1e-300), torch.zeros_like(distance))
    c = torch.where(dissimilar[:, None], f * v, v)
    norm = c.norm(dim=1, keepdim=True) * dx.norm(dim=1, keepdim=True)
    return (c / (norm / clip).clamp(min=1)).T @ dx


def best_of_five(f, wait):
    f()
    best = float("inf")
    for _ in range(5):
        wait()
        start = time.perf_counter()
        f()
        wait()
        best = min(best, time.perf_counter() - start)
    return best


def pairs_on(device, m, d, rows=16):
    import torch

    g = torch.Generator(device=device).manual_seed(1)
    x = torch.randn(m // 5, d, device=device, generator=g, dtype=torch.float64)
    x /= x.norm(dim=1, keepdim=True).clamp(min=1)
    ends = torch.randint(0, m // 5, (2, m), device=device, generator=g)
    label = torch.rand(m, device=device, generator=g) < 0.5
    w = 0.1 * torch.randn(rows, d, device=device, generator=g, dtype=torch.float64)
    return x, w, ends[0], ends[1], label, 0.5


def data(n, d):
    import torch

    g = torch.Generator(device="cuda").manual_seed(1)
    x = 2 * torch.rand(n, d, device="cuda", generator=g) - 1
    x /= x.norm(dim=1, keepdim=True).clamp(min=1)
    y = torch.where(torch.rand(n, device="cuda", generator=g) < 0.5, -1.0, 1.0)
    return x, y


def measure_mahalanobis(add, wait, sizes):
    import torch

    for n in sizes:
        for d in (64, 128, 256):
            x, y = data(n, d)
            w = torch.eye(d, device="cuda") / d**0.5
            for tf32 in (False, True):
                torch.backends.cuda.matmul.allow_tf32 = tf32
                for name, block in (("eager", mahalanobis_block), ("compile", torch.compile(mahalanobis_block, dynamic=True))):
                    add(peer="mahalanobis " + name, tf32=tf32, n=n, d=d, seconds=best_of_five(lambda: mahalanobis(x, y, w, block), wait))
    torch.backends.cuda.matmul.allow_tf32 = False


def measure_scores(add, wait, sizes, dims):
    import torch

    peers = {"eager": in_blocks(coefficients), "compile": in_blocks(torch.compile(coefficients, dynamic=True))}
    try:
        peers["triton"] = by_triton(triton_kernel())
    except ImportError as e:
        print("triton: skipped,", e, flush=True)
    for n in sizes:
        for d in dims:
            x, y = data(n, d)
            w = torch.zeros(d, device="cuda")
            w[0] = 1
            want = None
            for name, sums in peers.items():
                if n > 100_000 and name == "eager":
                    continue  # memory traffic alone
                got = gradient(x, y, w, sums).double()
                want = got if want is None else want
                off = float((got - want).norm() / want.norm())
                if off > 1e-3:
                    raise RuntimeError(f"{name} is off by {off} at n = {n}")
                add(peer=name, n=n, d=d, seconds=best_of_five(lambda: gradient(x, y, w, sums), wait))


def measure_pairs(add, wait):
    import torch

    for m in (10_000, 100_000, 1_000_000):
        for d in (8, 32, 128):
            args = pairs_on("cuda", m, d)
            for name, f in (("pairs eager", pair_sum), ("pairs compile", torch.compile(pair_sum, dynamic=True))):
                add(peer=name, n=m // 5, d=d, rows=16, pairs=m, seconds=best_of_five(lambda: f(*args), wait))


def measure(which, out):
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    wait, results = torch.cuda.synchronize, []

    def add(**row):
        results.append(row)
        print(row, flush=True)
        with open(out, "w") as f:
            json.dump({"torch": torch.__version__, "device": torch.cuda.get_device_name(), "results": results}, f, indent=1)

    if which == "--main":
        measure_scores(add, wait, (1_000_000,), (20,))
        measure_mahalanobis(add, wait, (100_000,))
        return
    measure_scores(add, wait, (100_000, 10_000, 1000), (8, 32, 128))
    measure_mahalanobis(add, wait, (10_000,))
    measure_pairs(add, wait)


def ceilings():
    import torch

    wait = torch.cuda.synchronize
    a = torch.empty(1 << 30, dtype=torch.float32, device="cuda")
    b = torch.empty_like(a)
    print(f"copy: {2 * a.numel() * 4 / best_of_five(lambda: b.copy_(a), wait) / 1e12:.2f} TB/s, read and written")
    del a, b
    x = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    print(f"bf16 product: {2 * 8192**3 / best_of_five(lambda: x @ x, wait) / 1e12:.0f} TFLOP/s")


def check():
    try:
        print("triton: compiled,", check_triton(), "bytes of PTX")
    except ImportError as e:
        print("triton: skipped,", e)
    try:
        import torch
    except ImportError as e:
        print("pairs: skipped,", e)
        return
    x, w, first, second, label, clip = pairs_on("cpu", 100, 8)
    whole = pair_sum(x, w, first, second, label, clip)
    terms = torch.stack([pair_sum(x, w, first[i : i + 1], second[i : i + 1], label[i : i + 1], clip) for i in range(100)])
    if terms.flatten(1).norm(dim=1).max() > clip * (1 + 1e-12) or not torch.allclose(terms.sum(0), whole):
        raise RuntimeError("the sum of clipped gradients is wrong")
    print("pairs: the sum is that of clipped terms")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--check"]:
            check()
        case ["--ceilings"]:
            ceilings()
        case ["--main" | "--rest" as which, out]:
            measure(which, out)
        case _:
            sys.exit("usage: peer.py --main OUT | --rest OUT | --ceilings | --check")
