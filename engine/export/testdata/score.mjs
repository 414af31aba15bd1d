// Scores of a model, from its raw columns. Written by dyad export.

// The model, line by line:
// guarantee: epsilon = 1, delta = 1e-05 for one record

// MODEL is plain JSON; null among numbers is no number.
export const MODEL = {"categories":[{"codes":[["f",0],["m",1]],"column":"sex","missing":-1,"numeric":false,"other":-2,"weights":[-0.757]},{"codes":[["a",0],["b\"",1],["c",2]],"column":"the ward's","missing":3,"numeric":false,"other":-1,"weights":[-0.959,-0.279,0.657,0.989]},{"codes":[[1,0],[2,1],[3.5,2]],"column":"code","missing":-1,"numeric":true,"other":-1,"weights":[0.412,-0.544,-1]}],"factor":0.5,"narrow":false,"nonzeros":0,"numbers":[{"centre":56.5,"column":"age","factors":[0.5],"first":0,"half":38.5,"high":95,"instead":[0],"line":true,"log1p":false,"low":18,"missing":[-1],"weights":[0.841]},{"centre":3.1083030505424323,"column":"lab","factors":[0.5],"first":0,"half":3.1083030505424323,"high":500,"instead":[-0.1655021232056265],"line":true,"log1p":true,"low":0,"missing":[],"weights":[0.909]},{"centre":0.5,"column":"score","factors":[0.5],"first":0,"half":2.5,"high":3,"instead":[null],"line":true,"log1p":false,"low":-2,"missing":[],"weights":[0.141]}],"products":[],"radius":0.9999999999999958};

const clip = (x, low, high) => Math.min(Math.max(x, low), high);
const absent = (v) => v === null || v === undefined || v === "" || Number.isNaN(v);

// score is that of a row, NaN for one that dyad predict refuses. The row is an object of columns. Dates are days from January 1, 1970; null, undefined, NaN and "" are missing.
export function score(row) {
  const outputs = [], x = [], w = [];
  const put = (values, weights) => (x.push(...values), w.push(...weights));
  for (const c of MODEL.numbers) {
    const v = absent(row[c.column]) ? NaN : Number(row[c.column]) - c.first;
    const u = clip(Number.isFinite(v) ? v : NaN, c.low, c.high);
    const line = clip(((c.log1p ? Math.log1p(u) : u) - c.centre) / c.half, -1, 1);
    const cos = -Math.sin((Math.PI / 2) * line); // of pi times the place in the range; its multiples follow from it
    let before = 1, now = cos;
    const values = c.factors.map((factor, k) => {
      const value = (k === 0 && c.line ? line : now) * factor;
      [before, now] = [now, clip(2 * cos * now - before, -1, 1)];
      return Number.isNaN(v) || c.missing.includes(v) ? (c.instead[k] ?? NaN) : value;
    });
    put(values, c.weights);
    outputs.push(values);
  }
  for (const c of MODEL.categories) {
    const codes = new Map(c.codes), v = row[c.column];
    const code = absent(v) ? c.missing : (codes.get(c.numeric ? Number(v) : String(v)) ?? c.other); // -1 is 0, -2 is refused
    const one = c.weights.length === 1, value = code === -2 ? NaN : code === -1 ? 0 : (one ? 2 * code - 1 : 1) * MODEL.factor;
    put([value], [c.weights[one ? 0 : Math.max(code, 0)]]);
    outputs.push(one ? [value] : c.weights.map((_, k) => (k === code ? MODEL.factor : 0)));
  }
  for (const p of MODEL.products) {
    const of = (at, width) => outputs[at].slice(0, width);
    put(of(p.a, p.width_a).flatMap((u) => of(p.b, p.width_b).map((v) => u * p.scale * v)), p.weights);
  }
  if (MODEL.nonzeros && x.filter((v) => v !== 0).length > MODEL.nonzeros) return NaN;
  const scale = MODEL.radius / Math.max(Math.sqrt(x.reduce((sum, v) => sum + v * v, 0)), MODEL.radius);
  return x.reduce((sum, v, k) => sum + w[k] * (MODEL.narrow ? narrow(v * scale) : v * scale), 0);
}

// narrow rounds toward zero to a number of 32 bits.
function narrow(v) {
  const near = new Float32Array([v]);
  if (Math.abs(near[0]) > Math.abs(v)) new Uint32Array(near.buffer)[0]--;
  return near[0];
}
