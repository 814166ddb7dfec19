// Curvilinear component analysis: one point is pinned, all others move along the line to it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "lowdim/kernels.hpp"
#include "lowdim/parallel.hpp"

namespace lowdim {

// Points that are pinned one after the other, with their distances to all n points.
template <class T>
struct Pins {
    int64_t count;
    const int32_t* points;  // the pinned points
    const int32_t* rows;    // the rows of their distances
    const T* distances;     // rows of n entries
};

// Applies the pins in their order to n points stored dimension by dimension, and returns the error
// sum_ij F(Y_ij) (X_ij - Y_ij)^2 before each move. A pin moves every point independently of the
// others, so a block of pins can be applied to one chunk of points after the other, once the
// position of each pin at its turn is known; those are computed first, from the pins of the block.
template <class T>
double curvilinear_sweep(const Pins<T>& pins, const PinForce& force, double* y, int64_t n, int dim,
                         int n_threads) {
    constexpr int64_t kBlock = 32, kChunk = 1024, kMinParallel = 8192;
    std::vector<double> moving(size_t(kBlock * dim)), places(size_t(kBlock * dim));
    std::vector<double> errors(size_t((n + kChunk - 1) / kChunk), 0.0);
    std::vector<T> between(size_t(kBlock), T(0));
    const auto pin = kernels<T>().pin;
    for (int64_t first = 0; first < pins.count; first += kBlock) {
        const int64_t size = std::min(kBlock, pins.count - first);
        const int32_t* points = pins.points + first;
        const auto row = [&](int64_t p) {
            return pins.distances + size_t(pins.rows[first + p]) * size_t(n);
        };
        for (int c = 0; c < dim; ++c)
            for (int64_t p = 0; p < size; ++p) moving[size_t(c * size + p)] = y[c * n + points[p]];
        for (int64_t p = 0; p < size; ++p) {
            double* at = places.data() + p * dim;
            for (int c = 0; c < dim; ++c) at[c] = moving[size_t(c * size + p)];
            for (int64_t q = p + 1; q < size; ++q) between[size_t(q)] = row(p)[points[q]];
            pin(between.data(), force, at, moving.data(), size, dim, p + 1, size);
        }
        parallel_ranges(n, kChunk, n >= kMinParallel ? n_threads : 1,
                        [&](int64_t begin, int64_t end, int) {
                            double error = 0;
                            for (int64_t p = 0; p < size; ++p) {
                                const double* at = places.data() + p * dim;
                                if (points[p] >= begin && points[p] < end)  // a pin does not move
                                    for (int c = 0; c < dim; ++c) y[c * n + points[p]] = at[c];
                                error += pin(row(p), force, at, y, n, dim, begin, end);
                            }
                            errors[size_t(begin / kChunk)] += error;
                        });
    }
    double total = 0;
    for (double error : errors) total += error;
    return total;
}

}  // namespace lowdim
