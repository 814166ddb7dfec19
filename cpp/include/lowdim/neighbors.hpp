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

// The positions of the keys in ascending order (-1 last), by counting digits.
inline void order_by_key(const int32_t* keys, size_t count, std::vector<uint32_t>& order,
                         std::vector<uint32_t>& spare) {
    constexpr int kBits = 11;
    uint32_t all = 0;
    for (size_t e = 0; e < count; ++e) {
        order[e] = uint32_t(e);
        if (keys[e] >= 0) all |= uint32_t(keys[e]);
    }
    for (int shift = 0; shift < 32 && (all >> shift) != 0; shift += kBits) {
        size_t starts[(1 << kBits) + 1] = {};
        const auto digit = [&](uint32_t e) {
            return size_t(uint32_t(keys[e]) >> shift) & ((1U << kBits) - 1);
        };
        for (size_t e = 0; e < count; ++e) ++starts[digit(uint32_t(e)) + 1];
        for (size_t b = 0; b < (1U << kBits); ++b) starts[b + 1] += starts[b];
        for (const uint32_t e : order) spare[starts[digit(e)]++] = e;
        order.swap(spare);
    }
}

// Distances of each query to its m candidates, computed anew from the vectors (the tiles lose
// digits to cancellation), and the k nearest in the order (distance, id). A candidate of -1 is
// none. cosine: the vectors have unit length (or are zero), the distance is 1 - <x, y>.
template <class T>
void rerank(const T* queries, const T* points, int64_t n_queries, int64_t dim,
            const int32_t* candidates, int m, int k, bool cosine, int n_threads, int32_t* ids,
            T* distances) {
    const Kernels<T>& kernel = kernels<T>();
    constexpr int64_t kChunk = 256;
    struct Scratch {  // kept from chunk to chunk
        std::vector<std::pair<T, int32_t>> found;
        std::vector<uint32_t> order, spare;
    };
    std::vector<Scratch> scratches(size_t(std::max(n_threads, 1)));
    parallel_ranges(n_queries, kChunk, n_threads, [&](int64_t begin, int64_t end, int thread) {
        // Pairs in the order of the candidates: queries near each other share them, and a vector
        // is read from memory once.
        const size_t count = size_t(end - begin) * size_t(m);
        auto& [found, order, spare] = scratches[size_t(thread)];
        found.resize(count);
        order.resize(count);
        spare.resize(count);
        order_by_key(candidates + begin * m, count, order, spare);
        for (const uint32_t e : order) {
            const int32_t id = candidates[begin * m + e];
            const T* x = queries + (begin + e / uint32_t(m)) * dim;
            T value = std::numeric_limits<T>::infinity();
            if (id >= 0 && cosine)
                value = std::max(T(0), 1 - kernel.dot(x, points + int64_t(id) * dim, size_t(dim)));
            else if (id >= 0)
                value = kernel.squared_distance(x, points + int64_t(id) * dim, size_t(dim));
            found[e] = {value, id};
        }
        for (int64_t q = begin; q < end; ++q) {
            const auto own = found.begin() + (q - begin) * m;
            if (k < m) std::nth_element(own, own + k, own + m);
            std::sort(own, own + k);
            for (int c = 0; c < k; ++c) {
                ids[q * k + c] = own[c].second;
                distances[q * k + c] = cosine ? own[c].first : std::sqrt(own[c].first);
            }
        }
    });
}

}  // namespace lowdim
