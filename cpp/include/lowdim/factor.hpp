// Cholesky factors L D L' of sparse symmetric positive definite matrices, row by row, in an order
// of operations that depends on the structure alone.
#pragma once
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "lowdim/graph.hpp"

namespace lowdim {

// Rows and columns are taken level by level (see level_structure), which keeps the entries of a
// narrow graph near the diagonal. The graph of the matrix must be connected.
class SparseFactor {
  public:
    // `data` are the entries of the full symmetric matrix, no column twice in a row.
    SparseFactor(int64_t n, const int64_t* indptr, const int32_t* indices, const double* data)
        : n_(n), starts_(size_t(n) + 1, 0), diagonal_(size_t(n), 0.0) {
        level_structure(n, indptr, indices, n + 1, order_);
        if (int64_t(order_.size()) != n) throw std::invalid_argument("the graph is not connected");
        const std::vector<int32_t>& order = order_;
        std::vector<int32_t> place(static_cast<size_t>(n));
        for (int64_t k = 0; k < n; ++k) place[size_t(order[size_t(k)])] = int32_t(k);
        // The elimination tree, and the number of entries of each column of L.
        std::vector<int32_t> parent(size_t(n), -1), mark(size_t(n), -1);
        std::vector<int64_t> filled(size_t(n), 0);
        const auto each_left = [&](int64_t k, const auto& visit) {  // entries left of the diagonal
            for (int64_t e = indptr[order[size_t(k)]]; e < indptr[order[size_t(k)] + 1]; ++e)
                if (place[size_t(indices[e])] <= k) visit(place[size_t(indices[e])], data[e]);
        };
        for (int64_t k = 0; k < n; ++k) {
            mark[size_t(k)] = int32_t(k);
            each_left(k, [&](int32_t i, double) {
                for (; mark[size_t(i)] != k; i = parent[size_t(i)]) {
                    if (parent[size_t(i)] < 0) parent[size_t(i)] = int32_t(k);
                    ++filled[size_t(i)];
                    mark[size_t(i)] = int32_t(k);
                }
            });
        }
        for (int64_t k = 0; k < n; ++k)
            starts_[size_t(k) + 1] = starts_[size_t(k)] + filled[size_t(k)];
        rows_.resize(size_t(starts_[size_t(n)]));
        values_.resize(rows_.size());
        // Row k of L: a triangular system whose unknowns are the descendants of k in the tree.
        std::vector<double> y(size_t(n), 0.0);
        std::vector<int32_t> path(static_cast<size_t>(n)), stack(static_cast<size_t>(n));
        std::fill(filled.begin(), filled.end(), 0);
        std::fill(mark.begin(), mark.end(), -1);
        for (int64_t k = 0; k < n; ++k) {
            int64_t top = n;
            mark[size_t(k)] = int32_t(k);
            each_left(k, [&](int32_t i, double value) {
                y[size_t(i)] += value;
                int64_t length = 0;
                for (; mark[size_t(i)] != k; i = parent[size_t(i)]) {
                    path[size_t(length++)] = i;
                    mark[size_t(i)] = int32_t(k);
                }
                while (length > 0) stack[size_t(--top)] = path[size_t(--length)];
            });
            double pivot = y[size_t(k)];
            y[size_t(k)] = 0;
            for (; top < n; ++top) {
                const auto i = size_t(stack[size_t(top)]);
                const double value = y[i], share = value / diagonal_[i];
                y[i] = 0;
                const auto end = size_t(starts_[i] + filled[i]);
                for (auto p = size_t(starts_[i]); p < end; ++p)
                    y[size_t(rows_[p])] -= values_[p] * value;
                pivot -= share * value;
                rows_[end] = int32_t(k);
                values_[end] = share;
                ++filled[i];
            }
            diagonal_[size_t(k)] = pivot;
            positive_ = positive_ && pivot > 0;
        }
    }

    int64_t n() const { return n_; }
    bool positive() const { return positive_; }

    // The solutions of A x = v for the `width` columns of v, row-major.
    void solve(const double* v, int64_t width, double* x) const {
        std::vector<double> z(size_t(n_ * width));
        const auto row = [&](int64_t k) { return z.data() + k * width; };
        for (int64_t k = 0; k < n_; ++k)
            for (int64_t c = 0; c < width; ++c) row(k)[c] = v[order_[size_t(k)] * width + c];
        for (int64_t k = 0; k < n_; ++k)
            for (auto p = size_t(starts_[size_t(k)]); p < size_t(starts_[size_t(k) + 1]); ++p)
                for (int64_t c = 0; c < width; ++c) row(rows_[p])[c] -= values_[p] * row(k)[c];
        for (int64_t k = n_ - 1; k >= 0; --k) {
            for (int64_t c = 0; c < width; ++c) row(k)[c] /= diagonal_[size_t(k)];
            for (auto p = size_t(starts_[size_t(k)]); p < size_t(starts_[size_t(k) + 1]); ++p)
                for (int64_t c = 0; c < width; ++c) row(k)[c] -= values_[p] * row(rows_[p])[c];
            for (int64_t c = 0; c < width; ++c) x[order_[size_t(k)] * width + c] = row(k)[c];
        }
    }

  private:
    int64_t n_;
    std::vector<int32_t> order_;
    std::vector<int64_t> starts_;  // L by columns, without the ones of its diagonal
    std::vector<int32_t> rows_;
    std::vector<double> values_, diagonal_;
    bool positive_ = true;
};

}  // namespace lowdim
