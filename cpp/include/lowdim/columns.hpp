// Matrices of many rows and a few columns, stored row by row.
#pragma once
#include <cstdint>
#include <vector>

#include "lowdim/parallel.hpp"

namespace lowdim {

// v' w in double precision, for v (n, p) and w (n, q): sums of fixed blocks of rows, added in
// order.
template <class T>
void gram(const T* v, int64_t p, const T* w, int64_t q, int64_t n, int n_threads, double* out) {
    constexpr int64_t kRows = 1024;
    const int64_t size = p * q;
    std::vector<double> parts(static_cast<size_t>((n + kRows - 1) / kRows * size), 0.0);
    parallel_ranges(n, kRows, n_threads, [&](int64_t begin, int64_t end, int) {
        double* sums = parts.data() + begin / kRows * size;
        for (int64_t i = begin; i < end; ++i)
            for (int64_t a = 0; a < p; ++a) {
                const auto left = double(v[i * p + a]);
                const T* right = w + i * q;
                double* sum = sums + a * q;
                for (int64_t b = 0; b < q; ++b) sum[b] += left * double(right[b]);
            }
    });
    for (int64_t k = 0; k < size; ++k) {
        out[k] = 0;
        for (auto part = size_t(k); part < parts.size(); part += size_t(size))
            out[k] += parts[part];
    }
}

// out (n, q) = v s, for v (n, p) and s (p, q).
template <class T>
void times(const T* v, int64_t n, int64_t p, const T* s, int64_t q, int n_threads, T* out) {
    parallel_ranges(n, 1024, n_threads, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) {
            T* row = out + i * q;
            for (int64_t b = 0; b < q; ++b) row[b] = 0;
            for (int64_t a = 0; a < p; ++a) {
                const T left = v[i * p + a];
                for (int64_t b = 0; b < q; ++b) row[b] += left * s[a * q + b];
            }
        }
    });
}

}  // namespace lowdim
