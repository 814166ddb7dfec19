// Fuzzy sets of neighbours (McInnes, Healy and Melville 2018).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "lowdim/elementary.hpp"
#include "lowdim/graph.hpp"
#include "lowdim/parallel.hpp"

namespace lowdim {

// sigma with sum_j exp(-max(d_j - rho, 0) / sigma) = target. The sum grows with sigma from the
// number of d_j <= rho to that of all d_j: without a root between them the answer is 0 or infinity.
inline double smooth_width(const std::vector<double>& excess, double target) {
    double largest = 0;
    int64_t near = 0;
    for (double e : excess) {
        near += e <= 0;
        largest = std::max(largest, e);
    }
    if (double(near) >= target) return 0;
    if (double(excess.size()) <= target) return std::numeric_limits<double>::infinity();
    // Newton's steps on log sigma, kept inside a bracket that every step narrows.
    double low = 0, high = std::numeric_limits<double>::infinity(), sigma = largest / 2;
    for (int step = 0; step < 100; ++step) {
        double sum = 0, slope = 0;
        for (double e : excess) {
            const double x = std::max(e, 0.0) / sigma, term = exact_exp(-x);
            sum += term;
            slope += x * term;
        }
        const double error = sum - target;
        if (std::abs(error) <= 1e-9 * target) break;
        (error > 0 ? high : low) = sigma;
        const double newton = slope > 0 ? sigma * exact_exp(-error / slope) : 0;
        const bool inside = newton > low && newton < high;
        if (inside)
            sigma = newton;
        else
            sigma = std::isinf(high) ? 2 * sigma : (low + high) / 2;
        if (std::isfinite(high) && high - low <= 1e-12 * high) break;
    }
    return sigma;
}

// For every row of neighbours, nearest first: rho, the distance up to which the membership is
// 1 (between the connectivity-th and the next of the positive distances), the width sigma of the
// decay beyond it, and the memberships. Infinite distances have membership 0.
template <class T>
void memberships(int64_t n, const int64_t* indptr, const T* distances, double target,
                 double connectivity, int n_threads, T* rho, T* sigma, T* out) {
    constexpr double kLeast = 1e-3;  // sigma is no less than this share of the mean distance
    constexpr int64_t kChunk = 256;
    std::vector<double> sums(size_t((n + kChunk - 1) / kChunk), 0.0);
    std::vector<int64_t> counts(sums.size(), 0);
    parallel_ranges(n, kChunk, n_threads, [&](int64_t begin, int64_t end, int) {
        double sum = 0;  // on the stack: chunks share cache lines of `sums`
        int64_t finite = 0;
        for (int64_t e = indptr[begin]; e < indptr[end]; ++e)
            if (std::isfinite(distances[e])) {
                sum += double(distances[e]);
                ++finite;
            }
        sums[size_t(begin / kChunk)] = sum;
        counts[size_t(begin / kChunk)] = finite;
    });
    double total = 0, count = double(n);  // every object is at distance 0 from itself
    for (size_t c = 0; c < sums.size(); ++c) {
        total += sums[c];
        count += double(counts[c]);
    }
    const double mean = count > 0 ? total / count : 0;
    parallel_ranges(n, kChunk, n_threads, [&](int64_t begin, int64_t end, int) {
        std::vector<double> positive, excess;
        for (int64_t i = begin; i < end; ++i) {
            positive.clear();
            excess.clear();
            double sum = 0;
            for (int64_t e = indptr[i]; e < indptr[i + 1]; ++e) {
                const auto d = double(distances[e]);
                if (!std::isfinite(d)) continue;
                excess.push_back(d);
                sum += d;
                if (d > 0) positive.push_back(d);
            }
            double near = 0;
            const auto whole = int64_t(connectivity);
            const double part = connectivity - double(whole);
            if (double(positive.size()) < connectivity) {
                if (!positive.empty()) near = positive.back();
            } else if (whole == 0) {
                if (!positive.empty()) near = part * positive[0];
            } else {
                near = positive[size_t(whole) - 1];
                if (part > 1e-5) near += part * (positive[size_t(whole)] - near);
            }
            const double local = sum / double(excess.size() + 1);
            for (double& d : excess) d -= near;
            const double width =
                std::max(smooth_width(excess, target), kLeast * (near > 0 ? local : mean));
            rho[i] = T(near);
            sigma[i] = T(std::min(width, double(std::numeric_limits<T>::max())));
            for (int64_t e = indptr[i]; e < indptr[i + 1]; ++e) {
                const double beyond = double(distances[e]) - near;
                out[e] = !(double(distances[e]) < std::numeric_limits<double>::infinity()) ? T(0)
                         : beyond <= 0 || width <= 0 ? T(1)
                                                     : T(exact_exp(-beyond / width));
            }
        }
    });
}

// A fuzzy graph combined with its transpose: mix (a + b - a b) + (1 - mix) a b, a mixture
// of the fuzzy union and intersection. Edges of membership 0 are dropped.
template <class T>
Csr<T> fuzzy_union(int64_t n, const int64_t* indptr, const int32_t* indices, const T* data, T mix,
                   int n_threads) {
    return combine_with_transpose<T>(n, indptr, indices, data, n_threads,
                                     [mix](const T* a, const T* b, T& out) {
                                         const T left = a ? *a : T(0), right = b ? *b : T(0);
                                         const T both = left * right;
                                         out = mix * (left + right - both) + (1 - mix) * both;
                                         return out > 0;
                                     });
}

}  // namespace lowdim
