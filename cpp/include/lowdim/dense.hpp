// Products of dense matrices, eigenvectors of small symmetric ones and orthonormal bases, with sums
// in an order that depends on the shapes alone. The libraries that usually compute these choose the
// order by the processor.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "lowdim/aligned.hpp"
#include "lowdim/kernels.hpp"
#include "lowdim/parallel.hpp"

namespace lowdim {

// A matrix whose entry (i, t) is at data[i * row + t * column].
template <class T>
struct Strided {
    const T* data;
    int64_t row, column;
};

// c (n, m) = a b', or a a' if b is a: then the upper half is computed and mirrored. Terms are added
// one by one in blocks of kDepth, the blocks in order in the precision of c.
template <class T, class C>
void dense_product(const Strided<T>& a, int64_t n, const Strided<T>& b, int64_t m, int64_t depth,
                   bool symmetric, int n_threads, C* c) {
    constexpr int64_t Q = kPanelQueries, P = kPanelPoints<T>;
    constexpr int64_t kDepth = 256, kRows = 16 * Q, kColumns = 8 * P;
    struct Buffers {
        AlignedVector<T> rows, columns;
        T sums[Q * P];
    };
    std::vector<Buffers> buffers(size_t(std::max(n_threads, 1)));
    const std::vector<T> zeros(size_t(P), T(0));
    const auto pack = [&](const Strided<T>& from, int64_t first, int64_t count, int64_t width,
                          int64_t t0, int64_t t1, T* to) {
        for (int64_t i0 = 0; i0 < count; i0 += width) {
            const int64_t filled = std::min(width, count - i0);
            for (int64_t t = t0; t < t1; ++t, to += width) {
                const T* line = from.data + (first + i0) * from.row + t * from.column;
                for (int64_t i = 0; i < filled; ++i) to[i] = line[i * from.row];
                for (int64_t i = filled; i < width; ++i) to[i] = 0;
            }
        }
    };
    const int64_t down = (n + kRows - 1) / kRows, across = (m + kColumns - 1) / kColumns;
    parallel_chunks(down * across, n_threads, [&](int64_t tile, int thread) {
        const int64_t i0 = tile / across * kRows, j0 = tile % across * kColumns;
        const int64_t i1 = std::min(n, i0 + kRows), j1 = std::min(m, j0 + kColumns);
        if (symmetric && j1 <= i0) return;
        auto& [rows, columns, sums] = buffers[size_t(thread)];
        rows.resize(size_t(kRows * kDepth));
        columns.resize(size_t(kColumns * kDepth));
        for (int64_t i = i0; i < i1; ++i) std::fill(c + i * m + j0, c + i * m + j1, C(0));
        for (int64_t t0 = 0; t0 < depth; t0 += kDepth) {
            const int64_t t1 = std::min(depth, t0 + kDepth), length = t1 - t0;
            pack(a, i0, i1 - i0, Q, t0, t1, rows.data());
            pack(b, j0, j1 - j0, P, t0, t1, columns.data());
            for (int64_t j = j0; j < j1; j += P)
                for (int64_t i = i0; i < i1; i += Q) {
                    kernels<T>().panel_products(rows.data() + (i - i0) * length,
                                                columns.data() + (j - j0) * length, zeros.data(),
                                                length, sums);
                    for (int64_t r = 0; r < std::min(Q, i1 - i); ++r)
                        for (int64_t k = 0; k < std::min(P, j1 - j); ++k)
                            c[(i + r) * m + j + k] += C(sums[r * P + k]);
                }
        }
    });
    if (!symmetric) return;
    parallel_ranges(n, 64, n_threads, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i)
            for (int64_t j = 0; j < i; ++j) c[i * m + j] = c[j * m + i];
    });
}

// Eigenvalues, ascending, and eigenvectors (columns) of a symmetric matrix: reflections make it
// tridiagonal, implicit QL steps diagonal (Bowdler, Martin, Reinsch and Wilkinson 1968). About 9
// n^3 operations. False if the steps do not converge, as with entries that are not finite.
inline bool symmetric_eigen(const double* a, int64_t n, double* values, double* vectors) {
    std::vector<double> off(size_t(n), 0.0), work(size_t(n), 0.0);
    double* z = vectors;  // row r of z becomes eigenvector r; transposed at the end
    std::copy(a, a + n * n, z);
    // Reflection k makes zero what is left of the subdiagonal of row k; its vector stays in row k.
    std::vector<double> halves(size_t(n), 0.0);
    for (int64_t k = n - 1; k > 0; --k) {
        double* u = z + k * n;
        double scale = 0;
        for (int64_t j = 0; j < k; ++j) scale = std::max(scale, std::abs(u[j]));
        if (k == 1 || scale == 0) {
            off[size_t(k)] = u[k - 1];
            continue;
        }
        double square = 0;
        for (int64_t j = 0; j < k; ++j) {
            u[j] /= scale;
            square += u[j] * u[j];
        }
        const double length = u[k - 1] > 0 ? -std::sqrt(square) : std::sqrt(square);
        off[size_t(k)] = scale * length;
        const double half = square - u[k - 1] * length;  // |u|^2 / 2
        u[k - 1] -= length;
        halves[size_t(k)] = half;
        for (int64_t i = 0; i < k; ++i) work[size_t(i)] = 0;
        for (int64_t i = 0; i < k; ++i) {  // A u, from the lower triangle
            const double* row = z + i * n;
            double sum = 0;
            for (int64_t j = 0; j < i; ++j) {
                sum += row[j] * u[j];
                work[size_t(j)] += row[j] * u[i];
            }
            work[size_t(i)] += sum + row[i] * u[i];
        }
        double both = 0;
        for (int64_t i = 0; i < k; ++i) {
            work[size_t(i)] /= half;
            both += work[size_t(i)] * u[i];
        }
        for (int64_t i = 0; i < k; ++i) work[size_t(i)] -= both / (2 * half) * u[i];
        for (int64_t i = 0; i < k; ++i) {
            double* row = z + i * n;
            for (int64_t j = 0; j <= i; ++j)
                row[j] -= u[i] * work[size_t(j)] + work[size_t(i)] * u[j];
        }
    }
    // The product of the reflections, in place: rows below k hold what is finished.
    for (int64_t k = 0; k < n; ++k) {
        double* u = z + k * n;
        values[k] = u[k];
        if (halves[size_t(k)] > 0) {
            for (int64_t j = 0; j < k; ++j) work[size_t(j)] = 0;
            for (int64_t i = 0; i < k; ++i)
                for (int64_t j = 0; j < k; ++j) work[size_t(j)] += u[i] * z[i * n + j];
            for (int64_t i = 0; i < k; ++i)
                for (int64_t j = 0; j < k; ++j)
                    z[i * n + j] -= u[i] / halves[size_t(k)] * work[size_t(j)];
        }
        for (int64_t j = 0; j < k; ++j) u[j] = z[j * n + k] = 0;
        u[k] = 1;
    }
    // From here on the columns of z' are rotated: rows of the transposed matrix.
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < i; ++j) std::swap(z[i * n + j], z[j * n + i]);
    for (int64_t k = 1; k < n; ++k) off[size_t(k - 1)] = off[size_t(k)];
    if (n > 0) off[size_t(n - 1)] = 0;
    constexpr double kEps = std::numeric_limits<double>::epsilon();
    for (int64_t l = 0; l < n; ++l) {
        for (int step = 0;; ++step) {
            int64_t m = l;
            while (m + 1 < n && !(std::abs(off[size_t(m)]) <=
                                  kEps * (std::abs(values[m]) + std::abs(values[m + 1]))))
                ++m;
            if (m == l) break;
            if (step == 60) return false;
            double g = (values[l + 1] - values[l]) / (2 * off[size_t(l)]);
            double r = std::sqrt(g * g + 1);
            g = values[m] - values[l] + off[size_t(l)] / (g + (g < 0 ? -r : r));
            double s = 1, c = 1, p = 0;
            int64_t i = m - 1;
            for (; i >= l; --i) {
                const double f = s * off[size_t(i)], b = c * off[size_t(i)];
                const double big = std::max(std::abs(f), std::abs(g));
                r = big > 0 ? big * std::sqrt((f / big) * (f / big) + (g / big) * (g / big)) : 0;
                off[size_t(i + 1)] = r;
                if (r == 0) {
                    values[i + 1] -= p;
                    off[size_t(m)] = 0;
                    break;
                }
                s = f / r;
                c = g / r;
                g = values[i + 1] - p;
                r = (values[i] - g) * s + 2 * c * b;
                p = s * r;
                values[i + 1] = g + p;
                g = c * r - b;
                double *x = z + i * n, *y = z + (i + 1) * n;
                for (int64_t k = 0; k < n; ++k) {
                    const double upper = y[k];
                    y[k] = s * x[k] + c * upper;
                    x[k] = c * x[k] - s * upper;
                }
            }
            if (r == 0 && i >= l) continue;
            values[l] -= p;
            off[size_t(l)] = g;
            off[size_t(m)] = 0;
        }
    }
    std::vector<int64_t> order(static_cast<size_t>(n));
    for (int64_t k = 0; k < n; ++k) order[size_t(k)] = k;
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t x, int64_t y) { return values[x] < values[y]; });
    const std::vector<double> unsorted(values, values + n), rows(z, z + n * n);
    for (int64_t k = 0; k < n; ++k) {
        values[k] = unsorted[size_t(order[size_t(k)])];
        for (int64_t i = 0; i < n; ++i) vectors[i * n + k] = rows[size_t(order[size_t(k)] * n + i)];
    }
    return true;
}

// The lower triangle of a positive definite matrix, of which row i begins at a + i * stride,
// becomes its Cholesky factor; false if the matrix is not positive definite. For small matrices,
// and the blocks on the diagonal of large ones.
inline bool cholesky(double* a, int64_t n, int64_t stride) {
    const auto dot = kernels<double>().dot;
    for (int64_t i = 0; i < n; ++i) {
        double* row = a + i * stride;
        for (int64_t j = 0; j < i; ++j)
            row[j] = (row[j] - dot(row, a + j * stride, size_t(j))) / a[j * stride + j];
        const double square = row[i] - dot(row, row, size_t(i));
        if (!(square > 0)) return false;
        row[i] = std::sqrt(square);
    }
    return true;
}

// The solution of l x = b, or of l' x = b if `transposed`, for a lower triangle l; b and x are
// (width, n), a right side in each row, and x may be b.
inline void solve_triangle(const double* l, int64_t n, int64_t stride, bool transposed,
                           const double* b, int64_t width, double* x) {
    const auto dot = kernels<double>().dot;
    if (x != b) std::copy(b, b + n * width, x);
    for (int64_t k = 0; k < n; ++k) {
        const int64_t i = transposed ? n - 1 - k : k;
        const double* row = l + i * stride;
        for (int64_t c = 0; c < width; ++c) {
            double* own = x + c * n;
            if (!transposed) own[i] = (own[i] - dot(row, own, size_t(i))) / row[i];
            if (!transposed) continue;
            own[i] /= row[i];
            for (int64_t j = 0; j < i; ++j) own[j] -= row[j] * own[i];
        }
    }
}

// The singular value decomposition a = u diag(values) v' of a small square matrix, values
// descending, by rotations that make the columns of a v orthogonal (Hestenes 1958). Row k of `left`
// is column k of u times its singular value, row k of `right` is column k of v.
inline void small_singular(const double* a, int64_t n, double* left, double* values,
                           double* right) {
    for (int64_t k = 0; k < n; ++k)
        for (int64_t i = 0; i < n; ++i) {
            left[k * n + i] = a[i * n + k];
            right[k * n + i] = i == k;
        }
    const auto dot = [n](const double* x, const double* y) {
        double sum = 0;
        for (int64_t i = 0; i < n; ++i) sum += x[i] * y[i];
        return sum;
    };
    bool turned = true;
    for (int sweep = 0; sweep < 60 && turned; ++sweep) {
        turned = false;
        for (int64_t p = 0; p + 1 < n; ++p)
            for (int64_t q = p + 1; q < n; ++q) {
                double *x = left + p * n, *y = left + q * n;
                const double xx = dot(x, x), yy = dot(y, y), xy = dot(x, y);
                const bool ordered = xx >= yy;
                if (ordered && std::abs(xy) <= 1e-16 * std::sqrt(xx) * std::sqrt(yy)) continue;
                if (!std::isfinite(xx + yy)) continue;
                double t = 0;  // tangent of the angle
                if (xy != 0) {
                    const double zeta = (yy - xx) / (2 * xy);
                    t = (zeta < 0 ? -1 : 1) / (std::abs(zeta) + std::sqrt(1 + zeta * zeta));
                }
                const double c = 1 / std::sqrt(1 + t * t), s = c * t;
                for (double* rows : {left, right}) {
                    double *u = rows + p * n, *v = rows + q * n;
                    for (int64_t i = 0; i < n; ++i) {
                        const double one = c * u[i] - s * v[i], other = s * u[i] + c * v[i];
                        u[i] = ordered ? one : -other;  // the longer column comes first
                        v[i] = ordered ? other : one;
                    }
                }
                turned = true;
            }
    }
    for (int64_t k = 0; k < n; ++k) values[k] = std::sqrt(dot(left + k * n, left + k * n));
}

// An orthonormal basis q of the columns of v (n, p), p <= n, and v = q r with upper triangular r,
// by Gram and Schmidt's method, every projection twice. A column that depends on those before it,
// up to rounding, has a zero on the diagonal of r and gets a direction that does not depend on v.
template <class T>
void orthonormal_columns(const T* v, int64_t n, int64_t p, T* q, double* r) {
    const auto dot = kernels<double>().dot;
    const auto length = static_cast<size_t>(n);
    std::vector<double> columns(static_cast<size_t>(n * p));
    for (int64_t i = 0; i < n; ++i)
        for (int64_t c = 0; c < p; ++c) columns[size_t(c * n + i)] = double(v[i * p + c]);
    std::fill(r, r + p * p, 0.0);
    constexpr double kRounding = 4 * static_cast<double>(std::numeric_limits<T>::epsilon());
    for (int64_t c = 0; c < p; ++c) {
        double* own = columns.data() + c * n;
        bool given = true;  // whether `own` still is a column of v
        for (uint32_t draw = 1; draw < 64; ++draw) {
            const double before = std::sqrt(dot(own, own, length));
            for (int round = 0; round < 2; ++round)
                for (int64_t b = 0; b < c; ++b) {
                    const double* other = columns.data() + b * n;
                    const double share = dot(own, other, length);
                    if (given) r[b * p + c] += share;
                    for (int64_t i = 0; i < n; ++i) own[i] -= share * other[i];
                }
            const double after = std::sqrt(dot(own, own, length));
            if (after > kRounding * before || !std::isfinite(after)) {
                if (given) r[c * p + c] = after;
                for (int64_t i = 0; i < n; ++i) own[i] /= after;
                break;
            }
            given = false;
            for (int64_t i = 0; i < n; ++i) {  // numbers without order, by multiplication
                const auto mixed = (uint32_t(i) + draw) * 2654435769U;
                own[i] = double((mixed ^ (mixed >> 15)) * 2246822519U) - 2147483648.0;
            }
        }
    }
    for (int64_t i = 0; i < n; ++i)
        for (int64_t c = 0; c < p; ++c) q[i * p + c] = static_cast<T>(columns[size_t(c * n + i)]);
}

}  // namespace lowdim
