// The bounding box of points.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lowdim/parallel.hpp"

namespace lowdim {

// The least and the greatest coordinate of n > 0 points along every axis.
template <class T>
void bounds(const T* y, int64_t n, int dim, int n_threads, double* low, double* high) {
    constexpr int64_t kChunk = 8192;
    std::vector<T> parts(static_cast<size_t>((n + kChunk - 1) / kChunk * 2 * dim));
    parallel_ranges(n, kChunk, n_threads, [&](int64_t begin, int64_t end, int) {
        T* least = parts.data() + begin / kChunk * 2 * dim;
        T* greatest = least + dim;
        for (int c = 0; c < dim; ++c) least[c] = greatest[c] = y[begin * dim + c];
        for (int64_t i = begin; i < end; ++i)
            for (int c = 0; c < dim; ++c) {
                const T v = y[i * dim + c];
                least[c] = v < least[c] ? v : least[c];
                greatest[c] = v > greatest[c] ? v : greatest[c];
            }
    });
    for (int c = 0; c < dim; ++c) {
        low[c] = high[c] = double(y[c]);
        for (auto part = size_t(c); part < parts.size(); part += size_t(2 * dim)) {
            low[c] = std::min(low[c], double(parts[part]));
            high[c] = std::max(high[c], double(parts[part + size_t(dim)]));
        }
    }
}

}  // namespace lowdim
