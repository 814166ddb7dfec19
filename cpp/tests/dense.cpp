#include "lowdim/dense.hpp"

#include <cmath>
#include <vector>

#include "lowdim/factor.hpp"
#include "testing.hpp"

using namespace lowdim;
using namespace testing;

namespace {

template <class T>
void check_product(int64_t n, int64_t m, int64_t depth) {
    const Case here("n", n, "m", m, "depth", depth);
    Random random(uint32_t(n + 10 * m + 100 * depth));
    const std::vector<T> a = random.reals<T>(n * depth), b = random.reals<T>(m * depth);
    std::vector<double> one(size_t(n * m)), three(size_t(n * m)), transposed(size_t(n * m));
    dense_product<T, double>({a.data(), depth, 1}, n, {b.data(), depth, 1}, m, depth, false, 1,
                             one.data());
    dense_product<T, double>({a.data(), depth, 1}, n, {b.data(), depth, 1}, m, depth, false, 3,
                             three.data());
    CHECK_SAME_BITS(one, three);
    std::vector<T> by_columns(size_t(n * depth));
    for (int64_t i = 0; i < n; ++i)
        for (int64_t t = 0; t < depth; ++t)
            by_columns[size_t(t * n + i)] = a[size_t(i * depth + t)];
    dense_product<T, double>({by_columns.data(), 1, n}, n, {b.data(), depth, 1}, m, depth, false, 2,
                             transposed.data());
    CHECK_SAME_BITS(one, transposed);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < m; ++j) {
            double sum = 0;
            for (int64_t t = 0; t < depth; ++t)
                sum += double(a[size_t(i * depth + t)]) * double(b[size_t(j * depth + t)]);
            CHECK_CLOSE(one[size_t(i * m + j)], sum, sizeof(T) == 4 ? 1e-4 : 1e-12);
        }
    if (n != m) return;
    std::vector<double> square(size_t(n * n)), half(size_t(n * n));
    const Strided<T> rows{a.data(), depth, 1};
    dense_product<T, double>(rows, n, rows, n, depth, false, 1, square.data());
    dense_product<T, double>(rows, n, rows, n, depth, true, 3, half.data());
    CHECK_SAME_BITS(square, half);
}

TEST_FLOATS(products_of_dense_matrices) {
    check_product<T>(1, 1, 1);
    check_product<T>(13, 33, 7);
    check_product<T>(200, 200, 300);
    check_product<T>(5, 300, 513);
}

std::vector<double> symmetric(int64_t n, uint32_t seed) {
    Random random(seed);
    std::vector<double> a = random.reals<double>(n * n);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < i; ++j) a[size_t(i * n + j)] = a[size_t(j * n + i)];
    return a;
}

TEST(eigenvectors_of_small_matrices) {
    for (const int64_t n : {1, 2, 3, 8, 40}) {
        const Case here("n", n);
        const std::vector<double> a = symmetric(n, uint32_t(n));
        std::vector<double> values(static_cast<size_t>(n)), vectors(size_t(n * n));
        CHECK(symmetric_eigen(a.data(), n, values.data(), vectors.data()));
        for (int64_t k = 0; k < n; ++k) {
            CHECK(k == 0 || values[size_t(k - 1)] <= values[size_t(k)]);
            for (int64_t i = 0; i < n; ++i) {
                double product = 0, inner = 0;
                for (int64_t j = 0; j < n; ++j) {
                    product += a[size_t(i * n + j)] * vectors[size_t(j * n + k)];
                    inner += vectors[size_t(j * n + i)] * vectors[size_t(j * n + k)];
                }
                CHECK_CLOSE(product, values[size_t(k)] * vectors[size_t(i * n + k)], 1e-12);
                CHECK_CLOSE(inner, i == k ? 1.0 : 0.0, 1e-12);
            }
        }
    }
    // Equal eigenvalues, and a matrix of zeros.
    const std::vector<double> equal = {2, 0, 0, 0, 2, 0, 0, 0, 1}, zero(9, 0.0);
    std::vector<double> values(3), vectors(9);
    CHECK(symmetric_eigen(equal.data(), 3, values.data(), vectors.data()));
    CHECK(values[0] == 1 && values[1] == 2 && values[2] == 2);
    CHECK(symmetric_eigen(zero.data(), 3, values.data(), vectors.data()));
    CHECK(values[0] == 0 && values[2] == 0);
}

TEST(singular_vectors_of_small_matrices) {
    for (const int64_t n : {1, 2, 3, 6}) {
        const Case here("n", n);
        Random random{uint32_t(n)};
        const std::vector<double> a = random.reals<double>(n * n);
        std::vector<double> left(size_t(n * n)), right(size_t(n * n)),
            values(static_cast<size_t>(n));
        small_singular(a.data(), n, left.data(), values.data(), right.data());
        for (int64_t i = 0; i < n; ++i)
            for (int64_t j = 0; j < n; ++j) {
                double sum = 0;
                for (int64_t k = 0; k < n; ++k)
                    sum += left[size_t(k * n + i)] * right[size_t(k * n + j)];
                CHECK_CLOSE(sum, a[size_t(i * n + j)], 1e-13);
            }
        for (int64_t k = 1; k < n; ++k) CHECK(values[size_t(k)] <= values[size_t(k - 1)]);
    }
}

TEST_FLOATS(orthonormal_bases) {
    const int64_t n = 50, p = 6;
    Random random(3);
    std::vector<T> v = random.reals<T>(n * p), q(v.size());
    for (int64_t i = 0; i < n; ++i) v[size_t(i * p + 4)] = 2 * v[size_t(i * p + 1)];  // dependent
    std::vector<double> r(size_t(p * p));
    orthonormal_columns<T>(v.data(), n, p, q.data(), r.data());
    const double close = sizeof(T) == 4 ? 1e-5 : 1e-13;
    for (int64_t a = 0; a < p; ++a)
        for (int64_t b = 0; b < p; ++b) {
            double inner = 0;
            for (int64_t i = 0; i < n; ++i)
                inner += double(q[size_t(i * p + a)]) * double(q[size_t(i * p + b)]);
            CHECK_CLOSE(inner, a == b ? 1.0 : 0.0, close);
        }
    CHECK(r[size_t(4 * p + 4)] == 0);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t c = 0; c < p; ++c) {
            double sum = 0;
            for (int64_t b = 0; b <= c; ++b)
                sum += double(q[size_t(i * p + b)]) * r[size_t(b * p + c)];
            CHECK_CLOSE(sum, double(v[size_t(i * p + c)]), close);
        }
}

TEST(triangular_systems) {
    const int64_t n = 20;
    std::vector<double> a = symmetric(n, 5), b = Random(6).reals<double>(2 * n);
    for (int64_t i = 0; i < n; ++i) a[size_t(i * n + i)] += 20;
    std::vector<double> l = a, x(b.size());
    CHECK(cholesky(l.data(), n, n));
    solve_triangle(l.data(), n, n, false, b.data(), 2, x.data());
    solve_triangle(l.data(), n, n, true, x.data(), 2, x.data());
    for (int64_t c = 0; c < 2; ++c)
        for (int64_t i = 0; i < n; ++i) {
            double sum = 0;
            for (int64_t j = 0; j < n; ++j) sum += a[size_t(i * n + j)] * x[size_t(c * n + j)];
            CHECK_CLOSE(sum, b[size_t(c * n + i)], 1e-12);
        }
    a[0] = -1;
    CHECK(!cholesky(a.data(), n, n));
}

TEST(sparse_factors) {
    // A ring with chords, as a positive definite matrix.
    const int64_t n = 40;
    std::vector<std::vector<double>> full(size_t(n), std::vector<double>(size_t(n), 0.0));
    for (int64_t i = 0; i < n; ++i)
        for (const int64_t step : {1, 7}) {
            const auto a = size_t(i), b = size_t((i * step + step) % n);
            if (a == b) continue;
            full[a][b] = full[b][a] = -0.3;
        }
    for (int64_t i = 0; i < n; ++i) full[size_t(i)][size_t(i)] = 5;
    std::vector<int64_t> indptr(1, 0);
    std::vector<int32_t> indices;
    std::vector<double> data;
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n; ++j)
            if (full[size_t(i)][size_t(j)] != 0) {
                indices.push_back(int32_t(j));
                data.push_back(full[size_t(i)][size_t(j)]);
            }
        indptr.push_back(int64_t(indices.size()));
    }
    const SparseFactor factor(n, indptr.data(), indices.data(), data.data());
    CHECK(factor.positive());
    const std::vector<double> v = Random(7).reals<double>(3 * n);
    std::vector<double> x(v.size());
    factor.solve(v.data(), 3, x.data());
    for (int64_t i = 0; i < n; ++i)
        for (int64_t c = 0; c < 3; ++c) {
            double sum = 0;
            for (int64_t j = 0; j < n; ++j)
                sum += full[size_t(i)][size_t(j)] * x[size_t(j * 3 + c)];
            CHECK_CLOSE(sum, v[size_t(i * 3 + c)], 1e-12);
        }
}

}  // namespace
