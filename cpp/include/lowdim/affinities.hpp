// Gaussian affinities whose entropy is given: the perplexity of stochastic neighbour embedding.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lowdim/elementary.hpp"
#include "lowdim/kernels.hpp"
#include "lowdim/parallel.hpp"

namespace lowdim {

// p_j proportional to exp(-beta d_j), summing to one, with entropy log(perplexity); returns beta.
// Newton's method for log beta within a shrinking bracket. Where no beta has that entropy, because
// there are too few distances or too many that are least, the nearest entropy is taken. A distance
// stands for as many equal ones as its weight, and its p is theirs together; weights may be null.
template <class T>
double perplexity_row(const T* d, const T* weight, int64_t n, double perplexity, T* scaled, T* p) {
    if (n == 0) return 0;
    const T least = *std::min_element(d, d + n);
    double spread = 0;
    for (int64_t j = 0; j < n; ++j) spread += static_cast<double>(d[j] - least);
    spread /= static_cast<double>(n);
    double count = weight != nullptr ? 0.0 : double(n);
    for (int64_t j = 0; weight != nullptr && j < n; ++j) count += double(weight[j]);
    if (count <= perplexity || !(spread > 0)) {
        for (int64_t j = 0; j < n; ++j)
            p[j] = (weight != nullptr ? weight[j] : T(1)) / static_cast<T>(count);
        return 0;
    }
    for (int64_t j = 0; j < n; ++j) scaled[j] = static_cast<T>((d[j] - least) / spread);
    constexpr double kTolerance = sizeof(T) == 4 ? 1e-5 : 1e-10, kBound = 60;
    const double wanted = exact_log(perplexity);
    double low = -kBound, high = kBound, at = 0, sums[3];
    for (int step = 0; step < 200; ++step) {
        const double beta = exact_exp(at);
        kernels<T>().gaussian_moments(scaled, weight, n, static_cast<T>(beta), p, sums);
        const double mean = sums[1] / sums[0];
        const double gap = exact_log(sums[0]) + beta * mean - wanted;
        if (std::abs(gap) < kTolerance) break;
        (gap > 0 ? low : high) = at;
        if (high - low < kTolerance) break;
        const double slope = beta * beta * (sums[2] / sums[0] - mean * mean);
        double next = slope > 0 ? at + std::clamp(gap / slope, -4.0, 4.0) : (low + high) / 2;
        if (!(next > low && next < high)) next = (low + high) / 2;
        at = next;
    }
    const T scale = static_cast<T>(1 / sums[0]);
    for (int64_t j = 0; j < n; ++j) p[j] *= scale;
    return exact_exp(at) / spread;
}

template <class T>
void perplexity_affinities(const int64_t* indptr, int64_t n, const T* squared, const T* weights,
                           double perplexity, int n_threads, T* p, double* beta) {
    parallel_ranges(n, 256, n_threads, [&](int64_t begin, int64_t end, int) {
        std::vector<T> scaled;
        for (int64_t i = begin; i < end; ++i) {
            const int64_t first = indptr[i], count = indptr[i + 1] - first;
            scaled.resize(static_cast<size_t>(count));
            beta[i] = perplexity_row(squared + first, weights ? weights + first : nullptr, count,
                                     perplexity, scaled.data(), p + first);
        }
    });
}

}  // namespace lowdim
