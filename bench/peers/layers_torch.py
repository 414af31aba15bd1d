"""Values and Jacobians of networks of a file by PyTorch's autograd, for TestLayersAgreeWithTorch of autodiff/gorgonia.

    python3 bench/peers/layers_torch.py > autodiff/gorgonia/testdata/layers-torch.json

Each line has a specification (engine/layers.Spec), records, theta in the order of engine/layers, f and its Jacobian in theta. Layers are
those of torch.nn.functional: conv2d, max_pool2d, avg_pool2d, layer_norm, embedding, scaled_dot_product_attention.
"""
import json

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
D, M = 12, 2
ACTIVATIONS = {"tanh": torch.tanh, "softplus": F.softplus, "relu": F.relu, "silu": F.silu}
IMAGE, SET = [1, 4, 3], [4, 3]
CONVOLUTION = {"convolution": {"channels": 2, "size": 2, "padding": 1}}
SPECS = [
    {"layers": [{"dense": 4}, {"activation": "tanh"}, {"dense": 3}, {"activation": "softplus"}]},
    {"layers": [{"dense": 4}, {"activation": "relu"}, {"dense": 3}, {"activation": "silu"}]},
    {"layers": [{"residual": [{"dense": 12}, {"activation": "tanh"}]}, {"dense": 2}, {"activation": "tanh"}]},
    {"layers": [{"dense": 4}, {"layernorm": True}, {"activation": "tanh"}]},
    {"gain": 1.5, "layers": [{"embedding": [{"columns": [2, 4], "size": 2}, {"columns": [7, 12], "size": 3}]}, {"dense": 3}, {"activation": "tanh"}]},
    {"input": IMAGE, "layers": [CONVOLUTION, {"activation": "tanh"}, {"convolution": {"channels": 3, "size": 2, "stride": 2}}, {"activation": "softplus"}]},
    {"input": [3, 2, 2], "layers": [{"convolution": {"channels": 2, "size": 1}}, {"layernorm": True}, {"activation": "tanh"}]},
    {"input": IMAGE, "layers": [CONVOLUTION, {"activation": "tanh"}, {"pooling": {"kind": "mean", "size": 2}}]},
    {"input": IMAGE, "layers": [CONVOLUTION, {"pooling": {"kind": "max", "size": 2, "stride": 1}}, {"activation": "tanh"}]},
    {"input": SET, "layers": [{"layernorm": True}, {"dense": 3}, {"activation": "tanh"}, {"pooling": {"kind": "mean"}}]},
    {"input": SET, "layers": [{"dense": 3}, {"pooling": {"kind": "max"}}, {"activation": "tanh"}]},
    {"input": SET, "layers": [{"residual": [{"attention": {"size": 2, "heads": 2}}]}, {"pooling": {"kind": "mean"}}, {"dense": 3}, {"activation": "silu"}]},
]


class Theta:
    """Takes matrices from a vector in the order of engine/layers; counts when there is no vector."""

    def __init__(self, values):
        self.values, self.used = values, 0

    def take(self, rows, cols):
        self.used += rows * cols
        if self.values is None:
            return torch.zeros(rows, cols)
        return self.values[self.used - rows * cols:self.used].view(rows, cols)


def run(layers, shape, x, theta, scale):
    for layer in layers:
        (kind, of), = layer.items()
        if kind == "dense":
            x = x if len(shape) == 2 else x.reshape(-1)
            w = theta.take(of, x.shape[-1] + 1)
            x = F.linear(x, w[:, :-1], w[:, -1])
        elif kind == "activation":
            x = ACTIVATIONS[of](x)
        elif kind == "residual":
            x = x + run(of, shape, x, theta, scale)
        elif kind == "convolution":
            c, k = x.shape[0], of["size"]
            w = theta.take(of["channels"], c * k * k + 1)
            x = F.conv2d(x[None], w[:, :-1].view(-1, c, k, k), w[:, -1], stride=of.get("stride", 1), padding=of.get("padding", 0))[0]
        elif kind == "pooling" and len(shape) == 2:
            x = x.mean(0) if of["kind"] == "mean" else x.max(0).values
        elif kind == "pooling":
            pool = F.avg_pool2d if of["kind"] == "mean" else F.max_pool2d
            x = pool(x[None], of["size"], of.get("stride", of["size"]))[0]
        elif kind == "layernorm" and len(shape) == 3:
            w = theta.take(2, shape[0])
            x = F.group_norm(x[None], 1, w[0], w[1])[0]
        elif kind == "layernorm":
            w = theta.take(2, shape[-1])
            x = F.layer_norm(x, shape[-1:], w[0], w[1])
        elif kind == "embedding":
            parts, at = [], 0
            for part in of:
                first, last = part["columns"]
                table = theta.take(part["size"], last - first + 1)
                ids = torch.arange(last - first + 1)
                parts += [scale * x[at:first - 1], (F.embedding(ids, table.T) * x[first - 1:last, None]).sum(0)]
                at = last
            x = torch.cat(parts + [scale * x[at:]])
        else:
            assert kind == "attention"
            y = 0
            for _ in range(of.get("heads", 1)):
                q, k, v = (F.linear(x, w[:, :-1], w[:, -1]) for w in (theta.take(of["size"], shape[1] + 1) for _ in range(3)))
                y = y + F.linear(F.scaled_dot_product_attention(q[None], k[None], v[None])[0], theta.take(shape[1], of["size"]))
            x = y
        shape = list(x.shape)
    return x


def network(spec, x, theta):
    x = run(spec["layers"], spec.get("input", [D]), x.view(spec.get("input", [D])), theta, spec.get("gain", 2) * D**0.5)
    return theta.take(M, x.numel()) @ x.reshape(-1)


def main():
    g = torch.Generator().manual_seed(1)
    for spec in SPECS:
        count = Theta(None)
        network(spec, torch.zeros(D), count)
        for blank in [False, True]:
            relu = "relu" in json.dumps(spec)
            if blank and relu:  # a kink, where both are subgradients
                continue
            x = torch.zeros(D) if blank else torch.randn(D, generator=g).round(decimals=3) / 4
            values = torch.randn(count.used, generator=g).round(decimals=3)
            f = network(spec, x, Theta(values))
            jacobian = torch.autograd.functional.jacobian(lambda v: network(spec, x, Theta(v)), values)
            line = {"spec": spec, "x": x, "theta": values, "f": f, "jacobian": jacobian.reshape(-1)}
            print(json.dumps({k: v if k == "spec" else [float(f"{e:.12g}") for e in v.tolist()] for k, v in line.items()}))


if __name__ == "__main__":
    main()
