// Leading eigenpairs of symmetric matrices, principal components and classical scaling; in Python
// numerics/eigenpairs.py, numerics/svd.py and spectral/scaling.py.
#pragma once
#include <functional>
#include <limits>

#include "arrays.hpp"

namespace lowdim::wasm {

constexpr int64_t kLargestSquare = 2000;  // rows of a matrix of covariances or products
constexpr double kStart = 1e-6;           // relative residual of an eigenpair of a start

struct Eigenpairs {
    std::vector<double> values;  // descending
    Matrix<double> vectors;      // columns
};

// From V to A V for a symmetric A with n rows. `by_column` says that NumPy would store V column by
// column, as it does after a choice of columns, and add up each as a vector.
struct Operator {
    int64_t n;
    std::function<Matrix<double>(const Matrix<double>&, bool by_column)> times;
};

// A V, or (A o A) V, for a matrix A of many columns and a V of few.
inline Matrix<double> narrow_product(const Matrix<double>& A, const Matrix<double>& V,
                                     bool squared) {
    Matrix<double> out(A.rows, V.cols);
    const Matrix<double> columns = transpose(V);
    const auto kernel = squared ? kernels<double>().squared_matmul : kernels<double>().matmul;
    kernel(A.data.data(), A.cols, columns.data.data(), out.data.data(), 0, A.rows, int(V.cols));
    return out;
}

// Flips columns so that the largest absolute entry, the first of equals, is positive.
template <class T>
Matrix<T> fix_signs(Matrix<T> V) {
    for (int64_t j = 0; j < V.cols; ++j) {
        T largest = 0;
        for (int64_t i = 0; i < V.rows; ++i) largest = std::max(largest, std::abs(V(i, j)));
        const T least = largest * T(1 - 1e-6);
        int64_t first = 0;
        while (first + 1 < V.rows && std::abs(V(first, j)) < least) ++first;
        if (V.rows > 0 && V(first, j) < 0)
            for (int64_t i = 0; i < V.rows; ++i) V(i, j) = -V(i, j);
    }
    return V;
}

// An orthonormal basis of the columns, without directions of at most the given length.
inline Matrix<double> orthonormal(const Matrix<double>& V, double least = -1) {
    Matrix<double> Q(V.rows, V.cols), R(V.cols, V.cols);
    orthonormal_columns(V.data.data(), V.rows, V.cols, Q.data.data(), R.data.data());
    std::vector<int64_t> kept;
    for (int64_t j = 0; j < V.cols; ++j)
        if (std::abs(R(j, j)) > least) kept.push_back(j);
    return take_columns(Q, kept);
}

// Eigenpairs of a small matrix.
inline Eigenpairs dense_eigenpairs(const Matrix<double>& A) {
    Matrix<double> mean(A.rows, A.rows), ascending(A.rows, A.rows);
    for (int64_t i = 0; i < A.rows; ++i)
        for (int64_t j = 0; j < A.rows; ++j) mean(i, j) = (A(i, j) + A(j, i)) / 2;
    Eigenpairs out{std::vector<double>(size_t(A.rows)), {}};
    symmetric_eigen(mean.data.data(), A.rows, out.values.data(), ascending.data.data());
    std::reverse(out.values.begin(), out.values.end());
    std::vector<int64_t> order(static_cast<size_t>(A.rows));
    std::iota(order.rbegin(), order.rend(), 0);
    out.vectors = take_columns(ascending, order);
    return out;
}

// Block Krylov iterations up to a relative residual of `tol`.
inline Eigenpairs krylov(const Operator& A, int64_t k, double tol) {
    const int64_t width = std::max<int64_t>(8, (k + 5) / 4 * 4);
    const int64_t most = std::max(8 * width, 2 * k + 4 * width);
    const auto join = [](const Matrix<double>& left, const Matrix<double>& right) {
        Matrix<double> both(left.rows, left.cols + right.cols);
        for (int64_t i = 0; i < both.rows; ++i) {
            std::copy_n(left.row(i), left.cols, both.row(i));
            std::copy_n(right.row(i), right.cols, both.row(i) + left.cols);
        }
        return both;
    };
    Matrix<double> Q = orthonormal(Random(0).centered<double>(A.n, width)), AQ = A.times(Q, false);
    Eigenpairs small = dense_eigenpairs(inner(Q, AQ));
    for (int round = 0; round < 200; ++round) {
        const Matrix<double> turn = first_columns(small.vectors, width);
        Matrix<double> turned = multiply(Q, turn);
        for (int64_t i = 0; i < A.n; ++i)
            for (int64_t j = 0; j < width; ++j) turned(i, j) *= small.values[size_t(j)];
        const Matrix<double> residuals = subtract(multiply(AQ, turn), turned);
        std::vector<double> lengths = column_sums(
            0, A.n, width, [&](int64_t i, int64_t j) { return residuals(i, j) * residuals(i, j); });
        for (double& length : lengths) length = std::sqrt(length);
        const double size = std::max(largest_size(small.values), 1e-300);
        if (*std::max_element(lengths.begin(), lengths.begin() + k) <= std::max(tol, 1e-13) * size)
            break;
        std::vector<int64_t> used;
        for (int64_t j = 0; j < width; ++j)
            if (lengths[size_t(j)] > 0) used.push_back(j);
        Matrix<double> fresh = take_columns(residuals, used);
        for (int64_t i = 0; i < A.n; ++i)
            for (int64_t j = 0; j < fresh.cols; ++j)
                fresh(i, j) /= lengths[size_t(used[size_t(j)])];
        for (int twice = 0; twice < 2; ++twice)
            fresh = orthonormal(subtract(fresh, multiply(Q, inner(Q, fresh))),
                                100 * std::numeric_limits<double>::epsilon());
        if (fresh.cols == 0) break;
        if (Q.cols + width > most) {
            const Matrix<double> better =
                first_columns(small.vectors, std::max(k + width, most / 2));
            Q = multiply(Q, better);
            AQ = multiply(AQ, better);
        }
        AQ = join(AQ, A.times(fresh, true));
        Q = join(Q, fresh);
        small = dense_eigenpairs(inner(Q, AQ));
    }
    small.values.resize(size_t(k));
    return {small.values, multiply(Q, first_columns(small.vectors, k))};
}

inline Eigenpairs top_eigenpairs(const Operator& A, int64_t k, double tol) {
    constexpr int64_t kDenseUpTo = 64;
    Eigenpairs pairs;
    if (A.n <= kDenseUpTo) {
        Matrix<double> identity(A.n, A.n);
        for (int64_t i = 0; i < A.n; ++i) identity(i, i) = 1;
        pairs = dense_eigenpairs(A.times(identity, false));
        pairs.values.resize(size_t(k));
        pairs.vectors = first_columns(pairs.vectors, k);
    } else {
        pairs = krylov(A, k, tol);
    }
    return {pairs.values, fix_signs(pairs.vectors)};
}
inline Eigenpairs top_eigenpairs(const Matrix<double>& A, int64_t k, double tol) {
    const auto times = [&](const Matrix<double>& V, bool) { return narrow_product(A, V, false); };
    return top_eigenpairs(Operator{A.rows, times}, k, tol);
}

struct Principal {
    Matrix<double> scores;
    std::vector<double> variances;
    double total;  // variance
};

// Scores on the k leading principal axes, whose largest entries are positive; those beyond the rank
// are 0.
inline Principal principal_components(const Matrix<double>& X, int64_t k, double tol) {
    constexpr int64_t kMeanRows = 512, kSumRows = 8192;
    const int64_t n = X.rows, d = X.cols, rank = std::min({k, n, d});
    std::vector<double> mean;
    Matrix<double> axes;
    Eigenpairs pairs;
    double total = 0;
    if (d <= std::min(n, kLargestSquare)) {  // covariances, about the mean of the first rows
        const std::vector<double> near = means(X, std::min(n, kMeanRows));
        Matrix<double> scatter(d, d), part(d, d);
        std::vector<double> sums(size_t(d), 0.0);
        for (int64_t begin = 0; begin < n; begin += kSumRows) {
            const int64_t count = std::min(kSumRows, n - begin);
            const Matrix<double> shifted = subtract_row({X.row(begin), count, d}, near);
            dense_product(shifted.transposed(), d, shifted.transposed(), d, count, true, 1,
                          part.data.data());
            for (size_t e = 0; e < part.data.size(); ++e) scatter.data[e] += part.data[e];
            const auto own =
                column_sums(0, count, d, [&](int64_t i, int64_t j) { return shifted(i, j); });
            for (int64_t j = 0; j < d; ++j) sums[size_t(j)] += own[size_t(j)];
        }
        for (int64_t i = 0; i < d; ++i)
            for (int64_t j = 0; j < d; ++j)
                scatter(i, j) -= sums[size_t(i)] * sums[size_t(j)] / double(n);
        for (int64_t j = 0; j < d; ++j)
            mean.push_back(near[size_t(j)] + sums[size_t(j)] / double(n));
        for (int64_t j = 0; j < d; ++j) total += scatter(j, j);
        pairs = top_eigenpairs(scatter, rank, tol);
        axes = transpose(pairs.vectors);
    } else {  // products of the rows
        mean.assign(size_t(d), 0.0);
        for (int64_t begin = 0; begin < n; begin += kMeanRows) {
            const auto own = column_sums(begin, std::min(n, begin + kMeanRows), d,
                                         [&](int64_t i, int64_t j) { return X(i, j); });
            for (int64_t j = 0; j < d; ++j) mean[size_t(j)] += own[size_t(j)];
        }
        for (double& value : mean) value /= double(n);
        const Matrix<double> centered = subtract_row(X, mean);
        Matrix<double> products(n, n);
        dense_product(centered.strided(), n, centered.strided(), n, d, true, 1,
                      products.data.data());
        for (int64_t i = 0; i < n; ++i) total += products(i, i);
        pairs = top_eigenpairs(products, rank, tol);
        Matrix<double> unit = pairs.vectors;
        for (int64_t j = 0; j < rank; ++j) {
            const double length =
                std::sqrt(std::max(pairs.values[size_t(j)], std::numeric_limits<double>::min()));
            for (int64_t i = 0; i < n; ++i) unit(i, j) /= length;
        }
        axes = transpose(fix_signs(inner(centered, unit)));
    }
    const Matrix<double> scores = multiply_transposed(subtract_row(X, mean), axes);
    Principal out{Matrix<double>(n, k), {}, total / double(std::max<int64_t>(n - 1, 1))};
    for (int64_t i = 0; i < n; ++i) std::copy_n(scores.row(i), rank, out.scores.row(i));
    for (const double value : pairs.values)
        out.variances.push_back(std::max(value, 0.0) / double(std::max<int64_t>(n - 1, 1)));
    return out;
}

// A start: to about six digits, and the largest score on each axis is positive.
inline Matrix<double> principal_start(const Matrix<double>& X, int64_t k) {
    return fix_signs(principal_components(X, k, kStart).scores);
}

// Classical scaling of a matrix of dissimilarities (Torgerson 1952; Gower 1966).
inline Matrix<double> classical_scaling(const Matrix<double>& D, int64_t k, double tol) {
    const Operator B{D.rows, [&](const Matrix<double>& V, bool by_column) {
                         std::vector<double> center = means(V, V.rows);
                         for (int64_t j = 0; by_column && j < V.cols; ++j)
                             center[size_t(j)] =
                                 sum(V.rows, [&](int64_t i) { return V(i, j); }) / double(V.rows);
                         Matrix<double> out = narrow_product(D, subtract_row(V, center), true);
                         for (double& value : out.data) value *= -0.5;
                         return subtract_row(out, means(out, out.rows));
                     }};
    Eigenpairs pairs = top_eigenpairs(B, std::min(k, D.rows), tol);
    Matrix<double> out(D.rows, k);
    for (int64_t i = 0; i < D.rows; ++i)
        for (int64_t j = 0; j < pairs.vectors.cols; ++j)
            out(i, j) = pairs.vectors(i, j) * std::sqrt(std::max(pairs.values[size_t(j)], 0.0));
    return out;
}

}  // namespace lowdim::wasm
