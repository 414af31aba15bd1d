// Runs kernels of scores at sizes with many strips, spans and chunks, with the threads of a block
// in both orders, and compares them with plain loops. Memory is allocated to the byte, so that
// the address sanitizer sees what is outside of it. See TestHostScores in engine/cuda.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "exp.h"
#include "fibre.h"
#include "rows.h"
#include "tensor.h"

namespace score {
#include "score.cu"
}
namespace pairs {
#include "spliced.cu"
}
namespace rows {
#include "rows.cu"
}
namespace near {
#include "nearlinear.cu"
}

namespace {

u32 over(u64 n, u64 size) { return (n + size - 1) / size; }

// exact is memory of n numbers to the byte.
template <typename T> struct exact {
	T *at;
	u64 n;
	exact(u64 n, T v = T()) : at(static_cast<T *>(malloc(n * sizeof(T)))), n(n) {
		for (u64 i = 0; i < n; i++) at[i] = v;
	}
	~exact() { free(at); }
	exact(const exact &) = delete;
	T &operator[](u64 i) { return at[i]; }
};

std::mt19937_64 rng(1);
double uniform() { return (rng() >> 11) * 0x1p-52 - 1; }

void near_to(const char *what, double got, double want, double within) {
	if (!(fabs(got - want) <= within)) {
		printf("%s: %.17g, want %.17g\n", what, got, want);
		fail(what);
	}
}

void factored(u32 rows, u32 cols, bool backwards) {
	u32 high = over(rows, 128) * 128, wide = over(cols, 128) * 128;
	exact<double> s(rows), t(cols);
	exact<float> a(high), b(wide);
	exact<u32> at(high, score::NONE), places(wide, score::NONE);
	exact<i64> row(rows), col(cols), wantRow(rows), wantCol(cols);
	for (u32 i = 0; i < rows; i++) s[i] = uniform(), at[i] = rows - 1 - i;
	for (u32 j = 0; j < cols; j++) t[j] = uniform(), places[j] = j;
	launch(over(high, 256), 1, backwards, [&] { score::exponentials(a.at, s.at, at.at, high, 2, 24, 2, 0x1p62f); });
	launch(over(wide, 256), 1, backwards, [&] { score::exponentials(b.at, t.at, places.at, wide, -2, 24, 1, 0x1p62f); });
	launch(over(rows, 128), over(cols, 2048), backwards, [&] { score::logistic_tiles(row.at, col.at, a.at, b.at, rows, cols); });
	for (u32 i = 0; i < rows; i++)
		for (u32 j = 0; j < cols; j++) {
			float x = fma32(a[i], b[j], 2.0f), y = fma32(a[i ^ 1], b[j], 2.0f);
			i64 q = (i64)bits(fma_saturated(reciprocal(x * y), y, 0.5f)) - score::HALF;
			wantRow[i] += q, wantCol[j] += q;
		}
	near_to("exponentials", a[rows - 1], 2 * exp(2 * s[0]), 1e-6);
	for (u32 i = 0; i < rows; i++)
		if (row[i] != wantRow[i]) fail("logistic_tiles: a row");
	for (u32 j = 0; j < cols; j++)
		if (col[j] != wantCol[j]) fail("logistic_tiles: a column");
	exact<double> c(rows);
	launch(over(high, 256), 1, backwards, [&] { score::coefficients(c.at, row.at, at.at, rows, 0.25); });
	near_to("coefficients", c[0], 0.25 * row[rows - 1], 0);
}

void spliced(u32 n, bool backwards) {
	exact<double> s(n), y(n), c(n);
	exact<pairs::Split> v(n);
	exact<u32> end(n);
	exact<i64> sum(n), want(n);
	u32 groups[] = {7, 64, 65, 1500};
	for (u32 i = 0, g = 0, to = 0; i < n; i++) {
		if (i == to) to = g < 4 ? to + groups[g++] : n;
		s[i] = uniform(), y[i] = uniform(), end[i] = to < n ? to : n;
	}
	launch(over(n, 256), 1, backwards, [&] { score::split(&v.at->s, s.at, n, 1, 8); });
	launch(over(n, 256), 1, backwards, [&] { score::split(&v.at->y, y.at, n, 1, 0.125); });
	launch(over(n, 64), over(n, 1024), backwards, [&] { pairs::pair_tiles(sum.at, v.at, end.at, n, 3, -0.8f, -0.2f, 0, 0); });
	for (u32 i = 0; i < n; i++) {
		near_to("split", ((double)v[i].s + v[i].sl) / 8, s[i], 0x1p-47);
		for (u32 j = i + 1; j < end[i]; j++) {
			float d = (v[i].y - v[j].y) + (v[i].yl - v[j].yl);
			float p = phi_slope(d * ((v[i].s - v[j].s) + (v[i].sl - v[j].sl)), 3, -0.8f, -0.2f);
			int k = (int)(bits(fma32(p, d, 0.75f)) - pairs::THREE_QUARTERS);
			want[i] += k, want[j] -= k;
		}
	}
	for (u32 i = 0; i < n; i++)
		if (sum[i] != want[i]) fail("pair_tiles");
	launch(over(n, 256), 1, backwards, [&] { score::coefficients(c.at, sum.at, nullptr, n, 0.25); });
	near_to("coefficients", c[n - 1], 0.25 * sum[n - 1], 0);
}

void passes(u64 n, u32 d, u32 spans, u32 span, u32 log_parts, bool backwards) {
	u64 tiles = over(n, 256), chunks = over(n, spans * span * 256);
	exact<double> x(tiles * 256 * d), w(d), s(n), part(chunks * d), sum(d);
	for (u64 i = 0; i < n; i++)
		for (u32 k = 0; k < d; k++) x[(i / 256 * d + k) * 256 + i % 256] = uniform();
	for (u32 k = 0; k < d; k++) w[k] = uniform();
	launch(tiles, 1, backwards, [&] { rows::scores(s.at, x.at, w.at, n, d); });
	launch(chunks, over(d, 64 >> log_parts), backwards, [&] { rows::weighted_sums(part.at, x.at, s.at, n, d, spans, span, log_parts); });
	launch(over(d, 8), 1, backwards, [&] { rows::combine(sum.at, part.at, chunks, d); });
	std::vector<double> want(d);
	for (u64 i = 0; i < n; i++) {
		double v = 0;
		for (u32 k = 0; k < d; k++) v += x[(i / 256 * d + k) * 256 + i % 256] * w[k];
		near_to("scores", s[i], v, 1e-12 * d);
		for (u32 k = 0; k < d; k++) want[k] += x[(i / 256 * d + k) * 256 + i % 256] * s[i];
	}
	for (u32 k = 0; k < d; k++) near_to("weighted_sums", sum[k], want[k], 1e-11 * n);
}

struct Parts {
	exact<u32> table, first;
	u32 count;
};

// parts_of cuts the rows of classes that start at these ones at multiples of chunk.
std::unique_ptr<Parts> parts_of(const std::vector<u32> &start, u32 chunk) {
	std::vector<u32> table, first;
	for (size_t a = 0; a + 1 < start.size(); a++) {
		first.push_back(table.size() / 3);
		for (u32 from = start[a]; from < start[a + 1];) {
			u32 to = (from / chunk + 1) * chunk;
			if (to > start[a + 1]) to = start[a + 1];
			for (u32 v : {from, to, (u32)a}) table.push_back(v);
			from = to;
		}
	}
	first.push_back(table.size() / 3);
	auto p = std::unique_ptr<Parts>(new Parts{exact<u32>(table.size()), exact<u32>(first.size()), (u32)table.size() / 3});
	for (size_t i = 0; i < table.size(); i++) p->table[i] = table[i];
	for (size_t i = 0; i < first.size(); i++) p->first[i] = first[i];
	return p;
}

// near_linear runs a whole sum, by one kernel a pass or by two, with any matrices in between.
void near_linear(const std::vector<u32> &start, u32 d, u32 log_groups, u32 terms, u32 spans, u32 span, bool backwards) {
	u32 n = start.back(), classes = start.size() - 1, length = 32 << log_groups, chunk = spans * span * 256, chunks = over(n, chunk);
	auto parts = parts_of(start, chunk);
	exact<double> x((u64)over(n, 256) * 256 * d), w(d), s(n), part((u64)parts->count * length), sums(classes * length), matrices((1 + classes * (classes - 1) / 2) * terms * terms);
	exact<double> of(256 * classes), c(n), rows_part((u64)chunks * d), sum(d);
	exact<u32> starts(classes + 1);
	for (u32 a = 0; a <= classes; a++) starts[a] = start[a];
	for (u32 i = 0; i < n; i++)
		for (u32 k = 0; k < d; k++) x[((u64)i / 256 * d + k) * 256 + i % 256] = uniform();
	for (u32 k = 0; k < d; k++) w[k] = uniform() / d;
	for (u64 i = 0; i < matrices.n; i++) matrices[i] = uniform() / terms;
	if (log_groups == 0)
		launch(parts->count, 1, backwards, [&] { near::score_moments(part.at, s.at, x.at, w.at, parts->table.at, d, 0, 0.5); });
	else {
		launch(over(n, 256), 1, backwards, [&] { rows::scores(s.at, x.at, w.at, n, d); });
		launch(parts->count, 1, backwards, [&] { near::moments(part.at, s.at, parts->table.at, 0.5, log_groups); });
	}
	launch(length / 8, classes, backwards, [&] { near::class_moments(sums.at, part.at, parts->first.at, length); });
	launch(1, classes, backwards, [&] { near::expand(of.at, sums.at, matrices.at, terms, classes, log_groups); });
	launch(parts->count, 1, backwards, [&] { near::series(c.at, s.at, of.at, parts->table.at, terms, 0.5); });
	launch(chunks, 1, backwards, [&] { near::weighted_series(rows_part.at, x.at, s.at, of.at, starts.at, n, 0, d, spans, span, 0, classes, terms, 0.5); });
	launch(over(d, 8), 1, backwards, [&] { rows::combine(sum.at, rows_part.at, chunks, d); });

	std::vector<double> moments(classes * length), want(d);
	for (u32 a = 0; a < classes; a++)
		for (u32 i = start[a]; i < start[a + 1]; i++) {
			double v = 0;
			for (u32 k = 0; k < d; k++) v += x[((u64)i / 256 * d + k) * 256 + i % 256] * w[k];
			near_to("score_moments: a score", s[i], v, 1e-14);
			for (u32 j = 0; j < length; j++) moments[a * length + j] += cos(j * acos(0.5 * v));
		}
	for (u32 a = 0; a < classes; a++) {
		std::vector<double> series(terms);
		for (u32 k = 0; k < terms; k++) {
			double value = 0;
			for (u32 b = 0; b < classes; b++)
				for (u32 j = 0; j < terms && b != a; j++) {
					u32 high = a > b ? a : b, low = a > b ? b : a, row = a > b ? k : terms - 1 - k;
					double g = matrices[((1 + high * (high - 1) / 2 + low) * terms + j) * terms + row];
					value += (a > b || j % 2 ? g : -g) * moments[b * length + j];
				}
			for (u32 i = 0; i < terms; i++) series[i] += matrices[k * terms + i] * value;
		}
		for (u32 i = 0; i < terms; i++) near_to("expand", of[256 * a + i], series[i], 1e-10 * n);
		for (u32 r = start[a]; r < start[a + 1]; r++) {
			double v = 0;
			for (u32 i = 0; i < terms; i++) v += of[256 * a + i] * cos(i * acos(0.5 * s[r]));
			near_to("series", c[r], v, 1e-10 * n);
			for (u32 k = 0; k < d; k++) want[k] += x[((u64)r / 256 * d + k) * 256 + r % 256] * c[r];
		}
	}
	for (u32 k = 0; k < d; k++) near_to("weighted_series", sum[k], want[k], 1e-11 * n * n);
}

} // namespace

int main() {
	for (bool backwards : {false, true}) {
		factored(1, 1, backwards);
		factored(301, 20011, backwards);
		spliced(2, backwards);
		spliced(3001, backwards);
		passes(1, 1, 1, 1, 0, backwards);
		passes(100003, 20, 2, 8, 1, backwards);
		passes(4097, 70, 1, 8, 3, backwards);
		passes(1000, 3, 1, 1, 0, backwards);
		near_linear({0, 1, 3}, 1, 0, 2, 1, 1, backwards);
		near_linear({0, 9000, 9000, 9001, 30003}, 20, 0, 31, 2, 8, backwards);
		near_linear({0, 257, 4097}, 35, 0, 32, 1, 1, backwards);
		near_linear({0, 2000, 5001}, 3, 3, 200, 1, 4, backwards);
	}
	puts("PASS");
}
