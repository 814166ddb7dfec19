// Layouts of pairs of several kinds, each with a law of its own, by Adam; and random pairs.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "lowdim/kernels.hpp"
#include "lowdim/layout.hpp"
#include "lowdim/parallel.hpp"

namespace lowdim {

// Adds the gradient of one kind of arcs; returns its loss.
template <class T>
double add_saturating_gradient(const VertexGroups<T>& graph, const SaturatingLaw& law, const T* at,
                               T* gradient, int dim, int n_threads) {
    std::vector<double> losses(size_t((graph.n_groups + kLayoutChunk - 1) / kLayoutChunk), 0.0);
    parallel_ranges(graph.n_groups, kLayoutChunk, n_threads, [&](int64_t begin, int64_t end, int) {
        std::vector<T> scratch(size_t(3 * dim * kGroupSize));
        losses[size_t(begin / kLayoutChunk)] = kernels<T>().saturating_gradient(
            graph, law, at, gradient, dim, begin, end, scratch.data());
    });
    return std::accumulate(losses.begin(), losses.end(), 0.0);
}

// A step of Adam (Kingma and Ba 2015); the rate has the correction of the bias of both means.
template <class T>
void adam_step(const T* gradient, double rate, T* y, T* mean, T* square, int64_t size,
               int n_threads) {
    constexpr T kMeanRate = T(0.1), kSquareRate = T(0.001), kLeast = T(1e-7);
    parallel_ranges(size, 8192, n_threads, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) {
            mean[i] += kMeanRate * (gradient[i] - mean[i]);
            square[i] += kSquareRate * (gradient[i] * gradient[i] - square[i]);
            y[i] -= T(rate) * mean[i] / (std::sqrt(square[i]) + kLeast);
        }
    });
}

// Epochs of a layout of `kinds`; the laws of an epoch, one a kind, and its rate come one after the
// other. y, mean and square are updated. Returns the loss before the last epoch.
template <class T>
double pair_epochs(const std::vector<VertexGroups<T>>& kinds, const SaturatingLaw* laws,
                   const double* rates, int64_t n_epochs, T* y, T* mean, T* square, int64_t n,
                   int dim, int n_threads) {
    std::vector<T> gradient(size_t(n * dim));
    double loss = 0;
    for (int64_t epoch = 0; epoch < n_epochs; ++epoch) {
        std::fill(gradient.begin(), gradient.end(), T(0));
        loss = 0;
        for (const VertexGroups<T>& arcs : kinds) {
            const SaturatingLaw& law = *laws++;
            if (law.weight == 0) continue;
            loss += add_saturating_gradient(arcs, law, y, gradient.data(), dim, n_threads);
        }
        adam_step(gradient.data(), rates[epoch], y, mean, square, n * dim, n_threads);
    }
    return loss;
}

// Random other vertices of each vertex, `count` distinct ones, none of which is in its row of
// `listed`, nor farther than `reach` from it on the map y. An entry of `drawn` for which
// none was found in kTries draws stays as it was.
template <class T>
void draw_others(int64_t n, const int32_t* listed, int64_t n_listed, uint32_t seed, const T* y,
                 int dim, double reach, int64_t count, int32_t* drawn, int n_threads) {
    constexpr uint32_t kTries = 100;
    const bool everywhere = std::isinf(reach);
    parallel_ranges(n, 512, n_threads, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) {
            const int32_t* known = listed + i * n_listed;
            int32_t* row = drawn + i * count;
            const auto near = [&](int32_t j) {
                double s = 0;
                for (int c = 0; c < dim; ++c) {
                    const double gap = double(y[i * dim + c]) - double(y[j * dim + c]);
                    s += gap * gap;
                }
                return s <= reach * reach;
            };
            for (int64_t k = 0; k < count; ++k) {
                for (uint32_t t = 0; t < kTries; ++t) {
                    const uint32_t draw = uint32_t(k) * kTries + t;
                    const uint64_t h =
                        hashed(hashed(uint32_t(i) * kVertexStride + seed) + draw * 0x85ebca77u);
                    const auto j = int32_t((h * uint64_t(n)) >> 32);
                    if (j == i || std::find(row, row + k, j) != row + k ||
                        std::find(known, known + n_listed, j) != known + n_listed)
                        continue;
                    if (!everywhere && !near(j)) continue;
                    row[k] = j;
                    break;
                }
            }
        }
    });
}

}  // namespace lowdim
