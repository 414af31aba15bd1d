-- Scores of a model, from its raw columns. Written by dyad export.
-- guarantee: epsilon = 1, delta = 1e-05 for one record
SELECT r.*, z._score
FROM clinic."""Visits""" AS r
CROSS JOIN LATERAL (SELECT
  CAST(r."age" AS DOUBLE PRECISION) AS c1,
  CAST(r."lab" AS DOUBLE PRECISION) AS c2,
  CAST(r."score" AS DOUBLE PRECISION) AS c3,
  CAST(r."sex" AS VARCHAR) AS c4,
  CAST(r."the ward's" AS VARCHAR) AS c5,
  CAST(r."code" AS DOUBLE PRECISION) AS c6) AS c
CROSS JOIN LATERAL (SELECT
  CAST(CASE WHEN c.c1 IS NULL OR c.c1 = CAST('NaN' AS DOUBLE PRECISION) OR c.c1 = -1e+00 THEN 0e+00 WHEN abs(c.c1) = CAST('Infinity' AS DOUBLE PRECISION) THEN NULL ELSE least(greatest((least(greatest(c.c1, 1.8e+01), 9.5e+01) - 5.65e+01)/3.85e+01, -1), 1)*5e-01 END AS DOUBLE PRECISION) AS v1,
  CAST(CASE WHEN c.c2 IS NULL OR c.c2 = CAST('NaN' AS DOUBLE PRECISION) THEN -1.655021232056265e-01 WHEN abs(c.c2) = CAST('Infinity' AS DOUBLE PRECISION) THEN NULL ELSE least(greatest((ln(1 + least(greatest(c.c2, 0e+00), 5e+02)) - 3.1083030505424323e+00)/3.1083030505424323e+00, -1), 1)*5e-01 END AS DOUBLE PRECISION) AS v2,
  CAST(CASE WHEN c.c3 IS NULL OR c.c3 = CAST('NaN' AS DOUBLE PRECISION) THEN NULL WHEN abs(c.c3) = CAST('Infinity' AS DOUBLE PRECISION) THEN NULL ELSE least(greatest((least(greatest(c.c3, -2e+00), 3e+00) - 5e-01)/2.5e+00, -1), 1)*5e-01 END AS DOUBLE PRECISION) AS v3,
  CAST(CASE WHEN c.c4 IS NULL OR c.c4 = '' THEN 0 WHEN c.c4 = 'f' THEN -5e-01 WHEN c.c4 = 'm' THEN 5e-01 ELSE NULL END AS DOUBLE PRECISION) AS v4,
  CAST(CASE WHEN c.c5 IS NULL OR c.c5 = '' THEN 5e-01 WHEN c.c5 = 'a' THEN 5e-01 WHEN c.c5 = 'b"' THEN 5e-01 WHEN c.c5 = 'c' THEN 5e-01 ELSE 0 END AS DOUBLE PRECISION) AS v5,
  CAST(CASE WHEN c.c6 IS NULL OR c.c6 = CAST('NaN' AS DOUBLE PRECISION) THEN 0 WHEN c.c6 = 1e+00 THEN 5e-01 WHEN c.c6 = 2e+00 THEN 5e-01 WHEN c.c6 = 3.5e+00 THEN 5e-01 ELSE 0 END AS DOUBLE PRECISION) AS v6,
  CAST(CASE WHEN c.c5 IS NULL OR c.c5 = '' THEN 9.89e-01 WHEN c.c5 = 'a' THEN -9.59e-01 WHEN c.c5 = 'b"' THEN -2.79e-01 WHEN c.c5 = 'c' THEN 6.57e-01 ELSE 0 END AS DOUBLE PRECISION) AS w5,
  CAST(CASE WHEN c.c6 IS NULL OR c.c6 = CAST('NaN' AS DOUBLE PRECISION) THEN 0 WHEN c.c6 = 1e+00 THEN 4.12e-01 WHEN c.c6 = 2e+00 THEN -5.44e-01 WHEN c.c6 = 3.5e+00 THEN -1e+00 ELSE 0 END AS DOUBLE PRECISION) AS w6) AS e
CROSS JOIN LATERAL (SELECT
  greatest(1e0, sqrt(
    e.v1*e.v1
    + e.v2*e.v2
    + e.v3*e.v3
    + e.v4*e.v4
    + e.v5*e.v5
    + e.v6*e.v6)) AS n) AS p
CROSS JOIN LATERAL (SELECT
  8.41e-01*e.v1/p.n
  + 9.09e-01*e.v2/p.n
  + 1.41e-01*e.v3/p.n
  + -7.57e-01*e.v4/p.n
  + e.w5*e.v5/p.n
  + e.w6*e.v6/p.n AS _score) AS z;
