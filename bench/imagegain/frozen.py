"""Writes frozen vectors as a data set: what a network that was trained on other, public images makes of MNIST's 3 and 8.

    python frozen.py DATA FOLDER

FOLDER/mnist38.csv has the images of DATA/mnist38 as the 16 last hidden units of a network of the digits of scikit-learn, which saw no 3 and no 8. The
units are in [-1, 1] whatever the image is, so their ranges are public.
"""

import gzip
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier


def read(path, skip):
    with gzip.open(path) as f:
        return np.frombuffer(f.read(), dtype=np.uint8)[skip:]


data, out = Path(sys.argv[1]) / "mnist38", Path(sys.argv[2])
digits = load_digits()
others = ~np.isin(digits.target, (3, 8))
net = MLPClassifier((64, 16), activation="tanh", alpha=0.3, max_iter=400, random_state=1).fit(digits.data[others] / 16, digits.target[others])

# Means of 4 x 4 pixels within a frame of 32 x 32, as the digits of scikit-learn were made.
pixels = read(data / "mnist38-train-images-idx3-ubyte.gz", 16).reshape(-1, 28, 28) / 255
vectors = np.pad(pixels, ((0, 0), (2, 2), (2, 2))).reshape(-1, 8, 4, 8, 4).mean(axis=(2, 4)).reshape(-1, 64)
for w, b in list(zip(net.coefs_, net.intercepts_))[:2]:
    vectors = np.tanh(vectors @ w + b)
numeral = read(data / "mnist38-train-labels-idx1-ubyte.gz", 8)

names = [f"v{k + 1}" for k in range(vectors.shape[1])]
rows = [",".join([*names, "eight"])]
rows += [",".join([*(f"{v:.6g}" for v in x), str(int(y))]) for x, y in zip(vectors, numeral == numeral.max())]
out.mkdir(parents=True, exist_ok=True)
(out / "mnist38.csv").write_text("\n".join(rows) + "\n")
columns = "".join(f"  - {{name: {n}, range: [-1, 1]}}\n" for n in names)
(out / "mnist38.yaml").write_text(
    "data_id: frozen-mnist38\ndescription: 8 against 3, as a network of other digits maps them\ncsv: {header: true}\ncolumns:\n"
    + columns
    + '  - {name: eight, role: label, positive: "1", negative: "0"}\n'
)
