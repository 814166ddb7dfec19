// Raw stress and its gradient: all pairs of a matrix, a list of pairs, or one new point against
// fixed points. Pairs are cut into parts by their number alone; each part adds up in a buffer
// of its own, and the buffers are added in order, so the bits do not depend on the threads.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lowdim/kernels.hpp"
#include "lowdim/parallel.hpp"

namespace lowdim {

inline constexpr int64_t kMaxParts = 32;

// gradient = sum of the parts' buffers, entry by entry in the order of the parts.
template <class T, class Place>
void add_parts(const std::vector<T>& parts, int64_t size, int64_t count, int n_threads,
               Place&& place) {
    parallel_ranges(size, 4096, n_threads, [&](int64_t begin, int64_t end, int) {
        for (int64_t k = begin; k < end; ++k) {
            T sum = 0;
            for (int64_t p = 0; p < count; ++p) sum += parts[size_t(p * size + k)];
            place(k, sum);
        }
    });
}

// The gradient sum_j (1 - delta_ij / d_ij) (x_i - x_j) (half the derivative of the raw stress, or
// n times the step of the Guttman transform) and the raw stress, reading one half of the matrix.
template <class T>
double stress_gradient(const T* dissimilarities, const T* x, int64_t n, int dim, int n_threads,
                       T* gradient) {
    T largest = 0;
    for (int64_t k = 0; k < n * dim; ++k) largest = std::max(largest, std::abs(x[k]));
    // Coordinates in a unit of their own size, a power of two, so that nothing is rounded.
    const T unit = largest > 0 && std::isfinite(largest)
                       ? std::ldexp(T(1), -std::clamp(std::ilogb(largest), -120, 120))
                       : T(1);
    std::vector<T> scaled(size_t(n * dim));
    for (int64_t i = 0; i < n; ++i)
        for (int c = 0; c < dim; ++c) scaled[size_t(c * n + i)] = unit * x[i * dim + c];
    const int64_t count = std::clamp<int64_t>(n / 64, 1, kMaxParts);
    std::vector<int64_t> bounds(size_t(count) + 1, n);  // parts of about as many pairs each
    for (int64_t p = 0; p < count; ++p)
        bounds[size_t(p)] =
            n - int64_t(std::llround(double(n) * std::sqrt(1 - double(p) / double(count))));
    std::vector<T> parts(size_t(count * n * dim), T(0));
    std::vector<double> stress(size_t(count), 0.0);
    parallel_chunks(count, n_threads, [&](int64_t p, int) {
        stress[size_t(p)] =
            kernels<T>().stress_rows(dissimilarities, scaled.data(), parts.data() + p * n * dim, n,
                                     dim, bounds[size_t(p)], bounds[size_t(p) + 1], unit);
    });
    add_parts(parts, n * dim, count, n_threads,
              [&](int64_t k, T sum) { gradient[(k % n) * dim + k / n] = sum / unit; });
    double total = 0;
    for (double s : stress) total += s;
    return total / double(unit) / double(unit);
}

// The same for listed pairs with targets and weights; x is stored point by point.
template <class T>
double pair_gradient(const int32_t* first, const int32_t* second, const T* distances,
                     const T* targets, const T* weights, int64_t n_pairs, const T* x, int64_t n,
                     int dim, int n_threads, T* gradient) {
    const int64_t least = std::max<int64_t>(8192, n * dim);
    const int64_t count = std::clamp<int64_t>(n_pairs / least, 1, kMaxParts);
    std::vector<T> parts(size_t(count * n * dim), T(0));
    std::vector<double> stress(size_t(count), 0.0);
    parallel_chunks(count, n_threads, [&](int64_t p, int) {
        stress[size_t(p)] = kernels<T>().pair_gradient(
            first, second, distances, targets, weights, x, dim, n_pairs * p / count,
            n_pairs * (p + 1) / count, parts.data() + p * n * dim);
    });
    add_parts(parts, n * dim, count, n_threads, [&](int64_t k, T sum) { gradient[k] = sum; });
    double total = 0;
    for (double s : stress) total += s;
    return total;
}

// One round of pairwise descent (Zheng, Pawar and Goodman 2018): objects are taken in the given
// order, 2 * side at a time; each of the first half is paired with each of the second half, and
// both move along the line between them by min(1, weight * rate) / 2 of the error of their
// distance. Tiles share no object, so the result does not depend on the order in which they run.
template <class T>
double stress_sgd_round(const int32_t* order, int64_t n_tiles, int64_t side, const T* targets,
                        const T* weights, double rate, int dim, int n_threads, T* x) {
    std::vector<double> stress(size_t(n_tiles), 0.0);
    parallel_chunks(n_tiles, n_threads, [&](int64_t tile, int) {
        const int32_t* own = order + tile * 2 * side;
        const int64_t base = tile * side * side;
        double sum = 0;
        for (int64_t a = 0; a < side; ++a)
            for (int64_t b = 0; b < side; ++b) {
                T* p = x + int64_t(own[a]) * dim;
                T* q = x + int64_t(own[side + b]) * dim;
                T square = 0;
                for (int c = 0; c < dim; ++c) square += (p[c] - q[c]) * (p[c] - q[c]);
                const T d = std::sqrt(square), target = targets[base + a * side + b];
                const T w = weights ? weights[base + a * side + b] : T(1);
                sum += double(w) * double(target - d) * double(target - d);
                if (!(d > 0)) continue;
                const T by = T(std::min(1.0, double(w) * rate) / 2) * (target - d) / d;
                for (int c = 0; c < dim; ++c) {
                    const T move = by * (p[c] - q[c]);
                    p[c] += move;
                    q[c] -= move;
                }
            }
        stress[size_t(tile)] = sum;
    });
    double total = 0;
    for (double s : stress) total += s;
    return total;
}

}  // namespace lowdim
