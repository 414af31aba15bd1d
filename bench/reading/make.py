"""Writes r.csv, r.parquet (10 row groups), one.parquet (one, with dictionaries) and their schemas."""
import numpy as np
import polars as pl, pyarrow as pa, pyarrow.parquet as pq
rng=np.random.default_rng(1); n=1_000_000
x=np.round(rng.standard_normal((n,20)),4); w=rng.standard_normal(20)
y=(x@w+rng.logistic(size=n)>0).astype(np.int64)
d={f"x{i}":x[:,i] for i in range(20)}; d["y"]=y
df=pl.DataFrame(d); df.write_csv("r.csv")
t=df.to_arrow(); pq.write_table(t,"r.parquet",compression="snappy",use_dictionary=False,row_group_size=100_000)
pq.write_table(t,"one.parquet",compression="snappy")   # pyarrow defaults: one row group, dictionaries
with open("s.yaml","w") as f:
    f.write("data_id: bench\ncsv: {header: true}\ncolumns:\n"+"".join(f"  - {{name: x{i}, range: [-4, 4]}}\n" for i in range(20))+"  - {name: y, role: label, positive: 1, negative: 0}\n")
open("p.yaml","w").write(open("s.yaml").read().replace("csv: {header: true}", "format: parquet"))
