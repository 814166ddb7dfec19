// Sums over the columns that two sparse rows share, from which distances between the rows follow.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "lowdim/neighbors.hpp"

namespace lowdim {

// What an entry a of one row and an entry b of another row in the same column contribute.
enum class SharedTerm {
    kCount,     // 1
    kEqual,     // 1 if a = b
    kProduct,   // a b
    kRoot,      // sqrt(a b)
    kOverlap,   // |a| + |b| - |a - b|
    kOpposite,  // |a| + |b| - |a + b|
    kRatio,     // |a - b| / (|a| + |b|)
};

inline double shared_term(SharedTerm term, double a, double b) {
    switch (term) {
        case SharedTerm::kCount:
            return 1;
        case SharedTerm::kEqual:
            return a == b;
        case SharedTerm::kProduct:
            return a * b;
        case SharedTerm::kRoot:
            return std::sqrt(a * b);
        case SharedTerm::kOverlap:
            return std::abs(a) + std::abs(b) - std::abs(a - b);
        case SharedTerm::kOpposite:
            return std::abs(a) + std::abs(b) - std::abs(a + b);
        case SharedTerm::kRatio:
            return std::abs(a - b) / (std::abs(a) + std::abs(b));
    }
    return 0;
}

// out[i, j] = sum of term(a, b) over the columns in which row i of A has an entry a and row j of B
// an entry b. B is given by its columns, so that only shared columns are visited. The terms of a
// pair are added in the order of the entries of A's row.
template <SharedTerm term, class T>
void sum_shared(const SparseRows<T>& rows, int64_t n_rows, const SparseRows<T>& columns,
                int64_t width, double* out) {
    std::fill(out, out + n_rows * width, 0.0);
    for (int64_t i = 0; i < n_rows; ++i) {
        double* sums = out + i * width;
        for (int64_t e = rows.indptr[i]; e < rows.indptr[i + 1]; ++e) {
            const auto a = double(rows.data[e]);
            const int64_t column = rows.indices[e];
            for (int64_t f = columns.indptr[column]; f < columns.indptr[column + 1]; ++f)
                sums[columns.indices[f]] += shared_term(term, a, double(columns.data[f]));
        }
    }
}

template <class T>
void sum_shared(SharedTerm term, const SparseRows<T>& rows, int64_t n_rows,
                const SparseRows<T>& columns, int64_t width, double* out) {
    switch (term) {
        case SharedTerm::kCount:
            return sum_shared<SharedTerm::kCount>(rows, n_rows, columns, width, out);
        case SharedTerm::kEqual:
            return sum_shared<SharedTerm::kEqual>(rows, n_rows, columns, width, out);
        case SharedTerm::kProduct:
            return sum_shared<SharedTerm::kProduct>(rows, n_rows, columns, width, out);
        case SharedTerm::kRoot:
            return sum_shared<SharedTerm::kRoot>(rows, n_rows, columns, width, out);
        case SharedTerm::kOverlap:
            return sum_shared<SharedTerm::kOverlap>(rows, n_rows, columns, width, out);
        case SharedTerm::kOpposite:
            return sum_shared<SharedTerm::kOpposite>(rows, n_rows, columns, width, out);
        case SharedTerm::kRatio:
            return sum_shared<SharedTerm::kRatio>(rows, n_rows, columns, width, out);
    }
}

}  // namespace lowdim
