// The loss of triplets and its gradient (Amid and Warmuth 2019).
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "lowdim/kernels.hpp"
#include "lowdim/parallel.hpp"

namespace lowdim {

inline constexpr int64_t kTripletParts = 16;  // of the vertices, each with its own sums
inline constexpr int64_t kTripletRows = 256;  // the fewest vertices of a part

// The loss of the triplets at the map y; writes its gradient. A triplet moves three points: each
// part of the vertices adds the forces of its triplets, in their order, to a gradient of its own,
// and these are added in the order of the parts, so that the sums have the same order for any
// number of threads.
template <class T>
double triplet_gradient(const Triplets<T>& triplets, const T* y, int64_t n, int dim, T* gradient,
                        int n_threads) {
    const int64_t rows = std::max((n + kTripletParts - 1) / kTripletParts, kTripletRows);
    const int64_t n_parts = (n + rows - 1) / rows, size = n * dim;
    std::vector<T> sums(size_t(n_parts * size));
    std::vector<double> losses(size_t(n_parts), 0.0);
    parallel_chunks(n_parts, n_threads, [&](int64_t part, int) {
        std::vector<T> scratch(size_t(3 * dim * kGroupSize));
        losses[size_t(part)] =
            kernels<T>().triplet_rows(triplets, y, dim, part * rows, std::min(n, (part + 1) * rows),
                                      sums.data() + part * size, scratch.data());
    });
    parallel_ranges(size, 8192, n_threads, [&](int64_t begin, int64_t end, int) {
        std::copy(sums.begin() + begin, sums.begin() + end, gradient + begin);
        for (int64_t part = 1; part < n_parts; ++part)
            for (int64_t k = begin; k < end; ++k) gradient[k] += sums[size_t(part * size + k)];
    });
    return std::accumulate(losses.begin(), losses.end(), 0.0);
}

}  // namespace lowdim
