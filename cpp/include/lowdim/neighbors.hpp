// Nearest neighbours from tiles of inner products, and the exact distances of the winners.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "lowdim/kernels.hpp"
#include "lowdim/parallel.hpp"

namespace lowdim {

// Distances of each query to its m candidates, computed anew from the vectors (the tiles lose
// digits to cancellation), and the k nearest in the order (distance, id). A candidate of -1 is
// none. cosine: the vectors have unit length (or are zero), the distance is 1 - <x, y>.
template <class T>
void rerank(const T* queries, const T* points, int64_t n_queries, int64_t dim,
            const int32_t* candidates, int m, int k, bool cosine, int n_threads, int32_t* ids,
            T* distances) {
    const Kernels<T>& kernel = kernels<T>();
    parallel_ranges(n_queries, 256, n_threads, [&](int64_t begin, int64_t end, int) {
        std::vector<std::pair<T, int32_t>> found(static_cast<size_t>(m));
        for (int64_t q = begin; q < end; ++q) {
            const T* x = queries + q * dim;
            for (int c = 0; c < m; ++c) {
                const int32_t id = candidates[q * m + c];
                T value = std::numeric_limits<T>::infinity();
                if (id >= 0 && cosine)
                    value =
                        std::max(T(0), 1 - kernel.dot(x, points + int64_t(id) * dim, size_t(dim)));
                else if (id >= 0)
                    value = kernel.squared_distance(x, points + int64_t(id) * dim, size_t(dim));
                found[size_t(c)] = {value, id};
            }
            std::partial_sort(found.begin(), found.begin() + k, found.end());
            for (int c = 0; c < k; ++c) {
                ids[q * k + c] = found[size_t(c)].second;
                const T value = found[size_t(c)].first;
                distances[q * k + c] = cosine ? value : std::sqrt(value);
            }
        }
    });
}

}  // namespace lowdim
