// Exact nearest neighbours of vectors; in Python neighbor_graphs/exact.py.
#pragma once
#include <utility>

#include "arrays.hpp"
#include "lowdim/coranking.hpp"
#include "lowdim/graph.hpp"
#include "lowdim/neighbors.hpp"

namespace lowdim::wasm {

// The squared distance as SciPy's k-d tree adds it up, by which Python searches vectors of few
// dimensions.
inline double tree_distance(const double* x, const double* y, int64_t d) {
    double lanes[4] = {};
    int64_t j = 0;
    for (; j + 4 <= d; j += 4)
        for (int64_t l = 0; l < 4; ++l) lanes[l] += (x[j + l] - y[j + l]) * (x[j + l] - y[j + l]);
    double sum = lanes[0] + lanes[1] + lanes[2] + lanes[3];
    for (; j < d; ++j) sum += (x[j] - y[j]) * (x[j] - y[j]);
    return sum;
}

// The k nearest other rows of each row with their distances, by (distance, index): a CSR matrix
// whose rows are in that order.
inline Csr<double> nearest(const Matrix<double>& X, int64_t k) {
    constexpr int64_t kTreeDimensions = 8, kTreeObjects = 256;
    const int64_t n = X.rows, d = X.cols;
    const bool tree = d <= kTreeDimensions && n > kTreeObjects;
    const auto squared = kernels<double>().squared_distance;
    Csr<double> graph;
    graph.indptr.resize(size_t(n) + 1);
    graph.indices.resize(size_t(n * k));
    graph.data.resize(size_t(n * k));
    std::vector<std::pair<double, int32_t>> found(size_t(n - 1));
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n; ++j)
            if (j != i)
                found[size_t(j - (j > i))] = {
                    std::sqrt(tree ? tree_distance(X.row(i), X.row(j), d)
                                   : squared(X.row(i), X.row(j), size_t(d))),
                    int32_t(j)};
        write_nearest(found.data(), int(n - 1), int(k), graph.indices.data() + i * k,
                      graph.data.data() + i * k);
    }
    for (int64_t i = 0; i <= n; ++i) graph.indptr[size_t(i)] = i * k;
    return graph;
}

// The distances of all pairs of rows.
inline Matrix<double> distance_matrix(const Matrix<double>& X) {
    Matrix<double> D(X.rows, X.rows);
    squared_distances(X.data.data(), X.rows, X.data.data(), X.rows, X.cols, 1, D.data.data());
    for (double& value : D.data) value = std::sqrt(value);
    for (int64_t i = 0; i < X.rows; ++i) D(i, i) = 0;
    return D;
}

}  // namespace lowdim::wasm
