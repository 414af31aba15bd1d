"""Writes records of 21 columns and their schemas s.yaml, p.yaml: r.csv; r.parquet (10 row groups), one.parquet (one, with
dictionaries); and the same rows in 8 parts: csv/, zipped/ (every other part gzip) and parts/ (Parquet).

    python3 make.py [ROWS]     (1,000,000)
"""
import gzip, os, sys
import numpy as np
import polars as pl, pyarrow as pa, pyarrow.parquet as pq
rng=np.random.default_rng(1); n=int(sys.argv[1]) if len(sys.argv)>1 else 1_000_000
x=np.round(rng.standard_normal((n,20)),4); w=rng.standard_normal(20)
y=(x@w+rng.logistic(size=n)>0).astype(np.int64)
d={f"x{i}":x[:,i] for i in range(20)}; d["y"]=y
df=pl.DataFrame(d); df.write_csv("r.csv")
t=df.to_arrow(); pq.write_table(t,"r.parquet",compression="snappy",use_dictionary=False,row_group_size=100_000)
pq.write_table(t,"one.parquet",compression="snappy")   # pyarrow defaults: one row group, dictionaries
for folder in ["csv","zipped","parts"]: os.makedirs(folder,exist_ok=True)
for k in range(8):
    part=df[k*n//8:(k+1)*n//8]
    part.write_csv(f"csv/part-{k}.csv")
    with (gzip.open if k%2 else open)(f"zipped/part-{k}.csv"+(".gz" if k%2 else ""),"wb") as f: part.write_csv(f)
    pq.write_table(part.to_arrow(),f"parts/part-{k}.parquet",compression="snappy",use_dictionary=False,row_group_size=100_000)
with open("s.yaml","w") as f:
    f.write("data_id: bench\ncsv: {header: true}\ncolumns:\n"+"".join(f"  - {{name: x{i}, range: [-4, 4]}}\n" for i in range(20))+"  - {name: y, role: label, positive: 1, negative: 0}\n")
open("p.yaml","w").write(open("s.yaml").read().replace("csv: {header: true}", "format: parquet"))
