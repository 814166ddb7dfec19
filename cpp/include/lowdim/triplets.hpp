// The loss of triplets and its gradient (Amid and Warmuth 2019).
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "lowdim/descent.hpp"
#include "lowdim/kernels.hpp"
#include "lowdim/parallel.hpp"

namespace lowdim {

inline constexpr int64_t kTripletParts = 16;  // of the vertices, each with its own sums
inline constexpr int64_t kTripletRows = 256;  // of vertices, of which a part has a multiple

// What `triplet_gradient` writes to on its way, kept from one call to the next.
template <class T>
struct TripletSums {
    std::vector<T> parts, coordinates;
};

// The loss of the triplets at the map y; writes its gradient. A triplet moves three points: each
// part of the vertices adds the forces of its triplets, in their order, to a gradient of its own,
// and these are added in the order of the parts, so that the sums have the same order for any
// number of threads.
template <class T>
double triplet_gradient(const std::vector<Triplets<T>>& kinds, const T* y, int64_t n, int dim,
                        T* gradient, TripletSums<T>& memory, int n_threads) {
    const int64_t least = kTripletParts * kTripletRows;
    const int64_t rows = (n + least - 1) / least * kTripletRows;
    const int64_t n_parts = (n + rows - 1) / rows, size = n * dim;
    std::vector<T>&sums = memory.parts, &at = memory.coordinates;
    sums.resize(size_t(n_parts * size));
    at.resize(size_t(size));
    std::vector<double> losses(size_t(n_parts), 0.0);
    for (int64_t i = 0; i < n; ++i)
        for (int c = 0; c < dim; ++c) at[size_t(c * n + i)] = y[i * dim + c];
    parallel_chunks(n_parts, n_threads, [&](int64_t part, int) {
        std::vector<T> scratch(size_t(4 * dim * kGroupSize));
        std::fill_n(sums.begin() + part * size, size, T(0));
        for (const Triplets<T>& triplets : kinds)
            losses[size_t(part)] += kernels<T>().triplet_rows(
                triplets, at.data(), dim, part * rows, std::min(n, (part + 1) * rows),
                sums.data() + part * size, scratch.data());
    });
    parallel_ranges(n, 4096, n_threads, [&](int64_t begin, int64_t end, int) {
        for (int c = 0; c < dim; ++c) {
            T* total = at.data() + c * n;  // no longer needed
            std::copy(sums.begin() + c * n + begin, sums.begin() + c * n + end, total + begin);
            for (int64_t part = 1; part < n_parts; ++part)
                for (int64_t i = begin; i < end; ++i)
                    total[i] += sums[size_t(part * size + c * n + i)];
            for (int64_t i = begin; i < end; ++i) gradient[i * dim + c] = total[i];
        }
    });
    return std::accumulate(losses.begin(), losses.end(), 0.0);
}

// Epochs of gradient descent with gains, of which each has a momentum; y, velocity and gains are
// updated. Returns the loss before the last epoch.
template <class T>
double triplet_epochs(const std::vector<Triplets<T>>& kinds, Step step, const double* momenta,
                      int64_t n_epochs, T* y, T* velocity, T* gains, int64_t n, int dim,
                      int n_threads) {
    std::vector<T> gradient(size_t(n * dim));
    TripletSums<T> memory;
    double loss = 0;
    for (int64_t epoch = 0; epoch < n_epochs; ++epoch) {
        loss = triplet_gradient(kinds, y, n, dim, gradient.data(), memory, n_threads);
        step.momentum = momenta[epoch];
        momentum_step(gradient.data(), n, dim, step, n_threads, y, velocity, gains);
    }
    return loss;
}

}  // namespace lowdim
