"""Exported models compute what the program does, on random records of every kind of column."""

import csv
import datetime
import json
import re
import shutil
import struct
import subprocess

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from dyad_dp import PrivateAUCClassifier, PrivateMetric, _handover, _program

onnxruntime = pytest.importorskip("onnxruntime")
duckdb = pytest.importorskip("duckdb")
sqlglot = pytest.importorskip("sqlglot")

NODE = shutil.which("node")
LABEL = {"name": "y", "role": "label", "positive": "1", "negative": "0"}
DAY = datetime.date(1970, 1, 1)


def close(got, want, scale=None):
    """1e-6 of the largest number."""
    got, want = np.asarray(got, dtype=np.float64), np.asarray(want, dtype=np.float64)
    return got.shape == want.shape and np.all(np.abs(got - want) <= 1e-6 * (scale or np.abs(want).max()))


def number(low, high, share=0.1, missing=""):
    """Numbers of which some are far outside of the range, on its ends, or missing."""

    def draw(r):
        if missing is not None and r.random() < share:
            return missing
        wide = high - low
        return [r.uniform(low, high), r.uniform(low - 3 * wide, high + 3 * wide), low, high, r.normal() * 1e12][r.choice(5, p=[0.5, 0.3, 0.05, 0.05, 0.1])]

    return draw


def choice(*values):
    return lambda r: values[r.integers(len(values))]


MIXED = {
    "age": ({"range": [18, 95], "missing": {"policy": "middle"}}, number(18, 95)),
    "score": ({"range": [-2, 3]}, number(-2, 3, missing=None)),
    "lab": ({"range": [0, 500], "transform": "log1p", "missing": {"policy": "value", "value": 7, "values": ["-999", "NA"]}}, number(0, 500, missing=-999.0)),
    "count": ({"range": [2, 90], "transform": "log1p"}, number(2, 90, missing=None)),
    "sex": ({"categories": ["f", "m"], "missing": {"policy": "middle"}}, choice("f", "m", "")),
    "smoker": ({"categories": ["no", "yes"], "missing": {"policy": "category", "values": ["?"]}}, choice("no", "yes", "?", "")),
    "ward's \"name\"": ({"categories": ["a", "b \\", "c'd"], "unknown": "other"}, choice("a", "b \\", "c'd", "elsewhere")),
    "code": ({"categories": ["1", "2", "3.5"], "unknown": "other", "missing": {"policy": "category", "values": ["9"]}}, choice(1.0, 2.0, 3.5, 4.0, 9.0, "")),
}
NUMBERS_ONLY = {name: MIXED[name] for name in ("age", "score", "lab", "count")}
TEXTS_ONLY = {name: MIXED[name] for name in ("sex", "smoker")}


def table(columns, n, seed):
    r = np.random.default_rng(seed)
    return {name: [draw(r) for _ in range(n)] for name, (_, draw) in columns.items()}


def write_csv(path, rows, y, delimiter=",", person=None):
    columns = {**rows, "y": y, **({"who": person} if person else {})}
    with open(path, "w", newline="") as f:
        out = csv.writer(f, delimiter=delimiter)
        out.writerow(columns)
        out.writerows(zip(*columns.values()))
    return str(path)


class Exported:
    """A trained model, what the program computes with it, and its exports."""

    def __init__(self, at, schema, train, test, flags=()):
        (at / "schema.yaml").write_text(json.dumps({"data_id": "exported", "public": True, **schema}))
        self.at, self.model = at, str(at / "model.json")
        _program.run(["train", "--data", train, "--schema", str(at / "schema.yaml"), "--out", self.model, "--yes", *flags])
        self.task = json.loads((at / "model.json").read_text())["task"]
        command = "transform" if self.task == "metric" else "predict"
        _program.run([command, self.model, "--data", test, "--out", str(at / "want.npy")])
        self.want = np.load(at / "want.npy")

    def export(self, *flags):
        path = self.at / ("exported" if flags else "score.mjs")
        _program.run(["export", self.model, *flags, "--out", str(path), "--force"])
        return path.read_bytes()

    def onnx(self, inputs, change=lambda text: text):
        text = self.export("--onnx")
        session = onnxruntime.InferenceSession(change(text), providers=["CPUExecutionProvider"])
        feed = {}
        for i in session.get_inputs():
            column = np.asarray(inputs[i.name])
            if i.type == "tensor(string)":
                column = column.astype(object)
            else:
                column = np.array([np.nan if v == "" else v for v in column]) if column.ndim == 1 else column
                column = column.astype(np.float64)
            feed[i.name] = column if column.ndim == 2 else column.reshape(-1, 1)
        (out,) = session.run(None, feed)
        about = session.get_modelmeta().custom_metadata_map
        assert "none: the data are declared public" in about["guarantee"]
        assert about["model"] == json.loads((self.at / "model.json").read_text())["checksum"]
        return out[:, 0] if self.task == "auc" else out

    def python(self, columns, change=lambda text: text):
        space = {}
        exec(change(self.export("--python").decode()), space)
        if isinstance(columns, dict):
            texts = {c for c, v in columns.items() if any(isinstance(x, str) and x for x in v)}
            columns = {c: v if c in texts else [np.nan if x == "" else x for x in v] for c, v in columns.items()}
        return space["score"](columns)

    def javascript(self, columns, change=lambda text: text):
        """The module in Node, from rows of a file of JSON."""
        (self.at / "score.mjs").write_text(change(self.export().decode()))
        rows = [list(map(float, r)) for r in columns] if not isinstance(columns, dict) else [dict(zip(columns, r)) for r in zip(*columns.values())]
        (self.at / "rows.json").write_text(json.dumps(rows, default=float).replace("NaN", "null"))
        (self.at / "main.mjs").write_text("""import { readFileSync } from "node:fs";
import { score } from "./score.mjs";
console.log(JSON.stringify(JSON.parse(readFileSync(new URL("rows.json", import.meta.url), "utf8")).map(score)));""")
        out = subprocess.run([NODE, str(self.at / "main.mjs")], check=True, capture_output=True, text=True).stdout
        return np.array(json.loads(out), dtype=np.float64)

    def dialect(self, name):
        """The SELECT of another engine, parsed as one of it and written for DuckDB."""
        query = self.export("--sql", name, "--set", "table=the records").decode()
        if name != "sqlserver":
            return sqlglot.transpile(query, read=name, write="duckdb")[0]
        (parsed,) = sqlglot.parse(query, read="tsql", error_level=sqlglot.ErrorLevel.RAISE)
        assert parsed is not None
        query = re.sub(r"DATALENGTH\(([^()]*)\)", r"length(\1)", query.replace(" COLLATE Latin1_General_100_BIN2", ""))
        for theirs, ours in {"CROSS APPLY": "CROSS JOIN LATERAL", "AS FLOAT)": "AS DOUBLE)", "NVARCHAR(4000)": "VARCHAR", "N'": "'", "LOG(": "ln("}.items():
            query = query.replace(theirs, ours)
        return re.sub(r"DATEDIFF\(day, '19700101', (CAST\([^()]* AS DATE\))\)", r"(\1 - DATE '1970-01-01')", query)

    def sql(self, columns, change=lambda text: text, kinds={}, dialect=None):
        def literal(v):
            if isinstance(v, str):
                return "NULL" if v == "" else "'" + v.replace("'", "''") + "'"
            return repr(float(v)) if not isinstance(v, datetime.date) else f"DATE '{v}'"

        names = ['"' + c.replace('"', '""') + '"' for c in columns]
        text = {c for c, v in columns.items() if any(isinstance(x, str) and x for x in v)}
        types = [kinds.get(c, "VARCHAR" if c in text else "DOUBLE") for c in columns]
        base = duckdb.connect()
        base.execute("CREATE TABLE \"the records\" (place INTEGER, " + ", ".join(f"{n} {t}" for n, t in zip(names, types)) + ")")
        rows = ", ".join(f"({i}, " + ", ".join(map(literal, row)) + ")" for i, row in enumerate(zip(*columns.values())))
        base.execute('INSERT INTO "the records" VALUES ' + rows)
        query = change(self.dialect(dialect) if dialect else self.export("--sql", "duckdb", "--set", "table=the records").decode())
        score = "_score" if "score" in columns else "score"  # that a column does not have
        scores = base.execute(f"SELECT place, {score} FROM ({query.strip().rstrip(';')}) ORDER BY place").fetchall()
        return np.array([np.nan if s is None else s for _, s in scores], dtype=np.float64)


def labels(n):
    return [i % 2 for i in range(n)]


def trained(at, columns, flags=(), n=120, **schema):
    listed = [*({"name": name, **how} for name, (how, _) in columns.items()), LABEL]
    schema = {"csv": {"header": True}, "columns": listed, **schema}
    rows = table(columns, 300, 2)
    train = write_csv(at / "train.csv", table(columns, n, 1), labels(n))
    return Exported(at, schema, train, write_csv(at / "test.csv", rows, labels(300)), flags), rows


DIALECTS = ["bigquery", "snowflake", "spark", "sqlserver"]


@pytest.mark.parametrize("columns", [MIXED, NUMBERS_ONLY, TEXTS_ONLY], ids=["mixed", "numbers", "texts"])
def test_sql_of_other_engines(tmp_path, columns):
    m, rows = trained(tmp_path, columns)
    for name in DIALECTS:
        assert close(m.sql(rows, dialect=name), m.want), name
    assert not close(m.sql(rows, lambda text: re.sub(r"\be\.v1\b", "0", text), dialect="spark"), m.want)


@pytest.mark.parametrize("store", [{}, {"store": "float32"}], ids=["float64", "float32"])
@pytest.mark.parametrize("columns", [MIXED, NUMBERS_ONLY, TEXTS_ONLY], ids=["mixed", "numbers", "texts"])
def test_linear_scores(tmp_path, columns, store):
    m, rows = trained(tmp_path, columns, **store)
    assert close(m.onnx(rows), m.want) and close(m.python(rows), m.want) and close(m.sql(rows), m.want)
    # The same without the projection, and without one transform: the comparison sees both.
    slack = json.loads((tmp_path / "model.json").read_text())["features"]
    slack = struct.pack("<d", 1 - (len(slack) + 8) * 2.0**-52)
    assert m.export("--onnx").count(slack) == 1
    if columns is MIXED:  # the records of the others are mostly inside of the ball
        assert not close(m.onnx(rows, lambda text: text.replace(slack, struct.pack("<d", 1e9))), m.want)
        assert not close(m.python(rows, lambda text: text.replace("np.maximum(np.sqrt((x * x).sum(axis=0)), RADIUS)", "RADIUS")), m.want)
        assert not close(m.sql(rows, lambda text: text.replace("greatest(1e0, ", "least(1e0, 1 + ")), m.want)


MISSING = {
    "refused": (None, {}),
    "middle": (0.1, {"policy": "middle", "values": ["-1"]}),
    "value": (0.1, {"policy": "value", "value": 7}),
}


@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("basis", ["none", "curve:2", "cosine:2", "curve:7", "spike:6", "mixed"])
def test_bases(tmp_path, basis, missing):
    share, how = MISSING[missing]
    own = [{"basis": b} for b in ("none", "spike:2", "cosine:5")] if basis == "mixed" else [{}] * 3
    how = {"missing": how} if how else {}
    gap = "" if how else None
    columns = {
        "age": ({"range": [18, 95], **how, **own[0]}, number(18, 95, share, gap)),
        "lab": ({"range": [0, 500], "transform": "log1p", **how, **own[1]}, number(0, 500, share, gap)),
        "level": ({"range": [-2, 9], **how, **own[2]}, number(-2, 9, share, gap)),
        "sex": MIXED["sex"],
        "ward": MIXED["ward's \"name\""],
    }
    m, rows = trained(tmp_path, columns, **({"basis": basis} if basis != "mixed" else {}))
    (tmp_path / "m.npz").write_bytes(m.export("--npz"))
    _program.run(["data", "convert", str(tmp_path / "test.csv"), "--schema", str(tmp_path / "schema.yaml"), str(tmp_path / "x.csv"), "--encoded"])
    with np.load(tmp_path / "m.npz") as weights:
        arrays = np.loadtxt(tmp_path / "x.csv", delimiter=",", skiprows=1, comments=None, usecols=range(len(weights["weights"])), ndmin=2) @ weights["weights"]
    for name, got in {"onnx": m.onnx(rows), "python": m.python(rows), "sql": m.sql(rows), "arrays": arrays}.items():
        assert np.max(np.abs(got - m.want)) <= 1e-12 * max(1, np.abs(m.want).max()), name
    if basis not in ("none", "mixed"):  # the comparison sees a basis that is not written
        assert not close(m.python(rows, lambda text: text.replace("if k == 0 and line else now", "if k >= 0 else now").replace("np.sin", "0 * np.sin")), m.want)


@pytest.mark.parametrize("store", [{}, {"store": "float32"}], ids=["float64", "float32"])
@pytest.mark.parametrize("basis", ["none", "curve:2", "spike:6"])
def test_interactions(tmp_path, basis, store):
    ward = "ward's \"name\""
    pairs = [["age", "lab"], ["code", "score"], [ward, "sex"], ["smoker", "count"], ["code", ward]]
    m, rows = trained(tmp_path, MIXED, basis=basis, interactions=pairs, **store)
    (tmp_path / "m.npz").write_bytes(m.export("--npz"))
    _program.run(["data", "convert", str(tmp_path / "test.csv"), "--schema", str(tmp_path / "schema.yaml"), str(tmp_path / "x.csv"), "--encoded"])
    with np.load(tmp_path / "m.npz") as weights:
        arrays = np.loadtxt(tmp_path / "x.csv", delimiter=",", skiprows=1, comments=None, usecols=range(len(weights["weights"])), ndmin=2) @ weights["weights"]
    bound = 1e-6 if store else 1e-12  # a rounding of the last bit before the projection may be one of float32
    for name, got in {"onnx": m.onnx(rows), "python": m.python(rows), "sql": m.sql(rows), "arrays": arrays}.items():
        assert np.max(np.abs(got - m.want)) <= bound * max(1, np.abs(m.want).max()), name
    # Other products differ: the comparison sees them.
    assert not close(m.python(rows, lambda text: text.replace("u * scale * v", "u * scale")), m.want)
    assert not close(m.sql(rows, lambda text: text.replace("e.v1*", "0*")), m.want)


@pytest.mark.parametrize(
    "flags",
    [
        ["--task", "metric"],
        ["--model", "mlp", "--set=hidden=5"],
        ["--model", "mlp", "--set=hidden=6,4", "--set=activation=softplus"],
        ["--task", "metric", "--model", "mlp", "--set=hidden=7", "--set=dim=3"],
        ["--task", "metric", "--model", "mlp", "--set=hidden=7", "--set=dim=3", "--set=similarity=distance", "--set=activation=softplus"],
    ],
    ids=lambda f: "-".join(f),
)
def test_metrics_and_networks(tmp_path, flags):
    m, rows = trained(tmp_path, MIXED, [*flags, "--set=steps=5"] if "mlp" in flags else flags)
    assert close(m.onnx(rows), m.want)
    for format in (["--python"], ["--go"], ["--sql", "duckdb"]):
        with pytest.raises(ValueError, match="not a linear score"):
            m.export(*format)


# Networks of files for records of 24 features. Together they have every layer and every way that a layer has.
FILES = {
    "dense": "layers: [dense: 5, activation: softplus, dense: 3, activation: relu]",
    "image": "input: [2, 3, 4]\nlayers: [convolution: {channels: 3, size: 2, padding: 1}, activation: silu, pooling: {kind: max, size: 2, stride: 1}, layernorm: true]",
    "strides": "input: [2, 3, 4]\nlayers: [convolution: {channels: 4, size: 2, stride: 2}, activation: tanh, pooling: {kind: mean, size: 1}, dense: 4]",
    "square": "input: [1, 3, 8]\nlayers: [convolution: {channels: 2, size: 3, padding: 2, stride: 3}, pooling: {kind: mean, size: 2, stride: 1}]",
    "categories": "layers: [embedding: [{columns: [3, 5], size: 2}, {columns: [9, 24], size: 3}], activation: tanh, residual: [dense: 10, activation: relu], layernorm: true]",
    "set": "input: [4, 6]\nlayers: [attention: {size: 3, heads: 2}, layernorm: true, dense: 5, residual: [activation: tanh, residual: [dense: 5]], pooling: {kind: max}]",
    "mean": "input: [6, 4]\nlayers: [residual: [attention: {size: 2}], pooling: {kind: mean}]",
}


@pytest.mark.parametrize("task", [["--task", "auc"], ["--task", "metric", "--set=dim=3"], ["--task", "metric", "--set=dim=2", "--set=similarity=distance"]], ids=["score", "cosine", "distance"])
@pytest.mark.parametrize("file", FILES)
def test_networks_of_files(tmp_path, file, task):
    (tmp_path / "net.yaml").write_text(FILES[file])
    columns = {**MIXED, **{f"c{k}": ({"range": [-1, 1 + k]}, number(-1, 1 + k, missing=None)) for k in range(9)}}
    m, rows = trained(tmp_path, columns, [*task, "--model", str(tmp_path / "net.yaml"), "--set=steps=5"])
    got = m.onnx(rows)
    assert got.shape == m.want.shape and np.max(np.abs(got - m.want)) <= 1e-12 * max(1, np.abs(m.want).max())
    assert np.ptp(m.want) > 1e-3  # not all alike
    bad = {**{name: column[:1] for name, column in rows.items()}, "score": [np.inf]}
    assert np.isnan(m.onnx(bad)).all()
    for format in (["--python"], ["--go"], ["--sql", "duckdb"]):
        with pytest.raises(ValueError, match="not a linear score"):
            m.export(*format)
    (tmp_path / "m.npz").write_bytes(m.export("--npz"))
    with np.load(tmp_path / "m.npz") as archive:
        about, sizes = json.loads(archive["metadata.json"]), [archive[name].size for name in archive.files if name != "metadata.json"]
    assert "layers" in json.loads(about["layers"]) and sum(sizes) == len(json.loads((tmp_path / "model.json").read_text())["weights"])


def test_notations_arrive_as_numbers(tmp_path):
    columns = {
        "weight": ({"range": [2, 200], "suffix": "kg"}, number(2, 200, missing=None)),
        "seen": ({"date": {"format": "DD.MM.YYYY", "from": "2001-02-03", "to": "2020-01-01"}}, lambda r: DAY + datetime.timedelta(days=int(r.integers(9000, 22000)))),
    }
    listed = [*({"name": name, **how} for name, (how, _) in columns.items()), LABEL]
    schema = {"csv": {"header": True, "delimiter": ";", "decimal": ","}, "columns": listed}

    def written(path, rows):
        weights = [f"{v!r}".replace(".", ",") + " kg" for v in rows["weight"]]
        return write_csv(path, {"weight": weights, "seen": [d.strftime("%d.%m.%Y") for d in rows["seen"]]}, labels(len(weights)), ";")

    rows = table(columns, 200, 2)
    m = Exported(tmp_path, schema, written(tmp_path / "train.csv", table(columns, 80, 1)), written(tmp_path / "test.csv", rows))
    assert close(m.sql(rows, kinds={"seen": "DATE"}), m.want)
    rows["seen"] = [float((d - DAY).days) for d in rows["seen"]]
    assert close(m.onnx(rows), m.want) and close(m.python(rows), m.want)


@pytest.mark.skipif(not NODE, reason="there is no Node")
def test_javascript(tmp_path):
    pairs = [["age", "lab"], ["code", "score"], ["ward's \"name\"", "sex"]]
    for k, schema in enumerate([{}, {"store": "float32"}, {"basis": "spike:5", "interactions": pairs}]):
        (at := tmp_path / str(k)).mkdir()
        m, rows = trained(at, MIXED, **schema)
        assert close(m.javascript(rows), m.want), schema
        assert not close(m.javascript(rows, lambda text: text.replace("Math.log1p", "")), m.want)
        assert np.isnan(m.javascript({**{c: v[:1] for c, v in rows.items()}, "sex": ["constructor"]})).all()
    X = sp.random(300, 40, density=0.12, random_state=4, format="csr", data_rvs=lambda n: np.random.default_rng(1).normal(size=n) * 3)
    schema = {"format": "npz", "sparse": True, "features": 40, "nonzeros": int(np.diff(X.indptr).max()), "range": [-1, 2], "columns": [LABEL]}
    m = Exported(tmp_path, schema, str(_handover.write_arrays(tmp_path / "a.npz", X, y=np.arange(300) % 2)), str(_handover.write_arrays(tmp_path / "b.npz", X)))
    assert close(m.javascript(X.toarray()), m.want) and np.isnan(m.javascript(np.ones((1, 40)))).all()


def test_persons_are_ignored(tmp_path):
    columns = NUMBERS_ONLY
    listed = [*({"name": name, **how} for name, (how, _) in columns.items()), LABEL, {"name": "who", "role": "person"}]
    rows = table(columns, 90, 2)
    train = write_csv(tmp_path / "train.csv", table(columns, 90, 1), labels(90), person=[f"p{i // 3}" for i in range(90)])
    m = Exported(tmp_path, {"csv": {"header": True}, "columns": listed, "ids": "public"}, train, write_csv(tmp_path / "test.csv", rows, labels(90)))
    assert close(m.onnx(rows), m.want)


@pytest.mark.parametrize("store", [{}, {"store": "float32"}], ids=["float64", "float32"])
def test_numbered_features(tmp_path, store):
    r = np.random.default_rng(3)
    X = r.uniform(-3, 3, (200, 5)) * np.array([1, 1, 4, 1, 1e6])
    X[r.random(X.shape) < 0.05] = np.nan
    listed = [{"name": "third", "position": 3, "range": [0, 9], "transform": "log1p"}, {"name": "fifth", "position": 5, "range": [-1e6, 2e6]}, LABEL]
    schema = {"format": "npz", "features": 5, "range": [-1, 2], "missing": {"policy": "middle"}, "columns": listed, **store}
    y = np.arange(200) % 2
    m = Exported(tmp_path, schema, str(_handover.write_arrays(tmp_path / "a.npz", X, y=y)), str(_handover.write_arrays(tmp_path / "b.npz", X[::-1])))
    assert close(m.onnx({"X": X[::-1]}), m.want) and close(m.python(X[::-1]), m.want)


def test_sparse_records(tmp_path):
    X = sp.random(300, 40, density=0.12, random_state=4, format="csr", data_rvs=lambda n: np.random.default_rng(1).normal(size=n) * 3)
    most = int(np.diff(X.indptr).max())
    schema = {"format": "npz", "sparse": True, "features": 40, "nonzeros": most, "range": [-1, 2], "columns": [LABEL]}
    m = Exported(tmp_path, schema, str(_handover.write_arrays(tmp_path / "a.npz", X, y=np.arange(300) % 2)), str(_handover.write_arrays(tmp_path / "b.npz", X)))
    dense = X.toarray()
    assert close(m.onnx({"X": dense}), m.want) and close(m.python(dense), m.want)
    full = np.ones((1, 40))
    assert np.isnan(m.onnx({"X": full})).all() and np.isnan(m.python(full)).all()


def test_what_predict_refuses_is_not_a_number(tmp_path):
    m, rows = trained(tmp_path, MIXED)
    good = {name: column[:1] for name, column in rows.items()}
    good["score"], good["count"] = [1.0], [5.0]
    assert not np.isnan(m.onnx(good)).any() and not np.isnan(m.python(good)).any() and not np.isnan(m.sql(good)).any()
    for name, value in [("score", ""), ("score", np.inf), ("age", -np.inf), ("sex", "x"), ("smoker", "maybe"), ("ward's \"name\"", "")]:
        bad = {**good, name: [value]}
        assert np.isnan(m.onnx(bad)).all() and np.isnan(m.python({**bad, name: [np.nan if value == "" and name == "score" else value]})).all(), (name, value)
        if value not in (np.inf, -np.inf):
            assert np.isnan(m.sql(bad, kinds={name: "DOUBLE" if name == "score" else "VARCHAR"})).all(), (name, value)


def test_arrays(tmp_path):
    m, _ = trained(tmp_path, MIXED, ["--task", "metric"])
    (tmp_path / "m.npz").write_bytes(m.export("--npz"))
    with np.load(tmp_path / "m.npz") as archive:
        factor, about = archive["factor"], json.loads(archive["metadata.json"])
    model = json.loads((tmp_path / "model.json").read_text())
    assert about["model"] == model["checksum"] and json.loads(about["features"]) == model["features"]
    w = np.zeros((factor.shape[1],) * 2)
    text = m.export("--safetensors")
    size = struct.unpack("<Q", text[:8])[0]
    header = json.loads(text[8 : 8 + size])
    start, end = header["factor"]["data_offsets"]
    assert header["__metadata__"]["guarantee"] == about["guarantee"] and header["factor"]["dtype"] == "F64"
    assert np.array_equal(np.frombuffer(text[8 + size :][start:end]).reshape(header["factor"]["shape"]), factor)
    assert factor.shape[1] == len(model["features"]) and w.shape[0] == factor.shape[1]


def test_estimators_export(clinic, tmp_path):
    X, y = clinic
    m = PrivateAUCClassifier(bounds=(-3, 3), public=True).fit(X, y)
    m.export_onnx(tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"))
    beyond = X * 2
    assert close(session.run(None, {"X": beyond})[0][:, 0], m.decision_function(beyond))
    for format in ("npz", "safetensors", "python", "go", "duckdb", "postgres"):
        m.export(tmp_path / "m", format)
        assert (tmp_path / "m").stat().st_size > 0
    m.export(tmp_path / "m.mjs", "javascript")
    assert "export function score" in (tmp_path / "m.mjs").read_text()
    with pytest.raises(ValueError, match="want one of"):
        m.export(tmp_path / "m", "pmml")
    frame = pd.DataFrame(X, columns=list("abcde"))
    m = PrivateMetric(bounds={c: (-3, 3) for c in "abcde"}, public=True).fit(frame, pd.Series(y, name="out"))
    m.export_onnx(tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"))
    got = session.run(None, {c: frame[[c]].to_numpy() for c in frame})[0]
    assert close(got, m.transform(frame))
