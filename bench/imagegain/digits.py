"""Writes the digits of scikit-learn, 8 x 8 images of ten digits, as a data set of two public groups: odd or even.

    python digits.py FOLDER
"""

import sys
from pathlib import Path

from sklearn.datasets import load_digits

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
digits = load_digits()
names = [f"p{i}" for i in range(64)]
rows = [",".join([*names, "odd"])]
rows += [",".join([*(str(int(v)) for v in x), str(y % 2)]) for x, y in zip(digits.data, digits.target)]
(out / "digits.csv").write_text("\n".join(rows) + "\n")
columns = "".join(f"  - {{name: {n}, range: [0, 16]}}\n" for n in names)
(out / "digits.yaml").write_text(
    "data_id: digits\ndescription: odd digits against even ones\ncsv: {header: true}\ncolumns:\n"
    + columns + '  - {name: odd, role: label, positive: "1", negative: "0"}\n'
)
