// Sammon's stress and its gradient, in one pass over the rows of the matrix.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lowdim/kernels.hpp"
#include "lowdim/parallel.hpp"

namespace lowdim {

// gradient_i = sum_j w_ij (1 - delta_ij / d_ij) (x_i - x_j), and the sum of w_ij (delta_ij -
// d_ij)^2 over all ordered pairs, with w_ij = mass_i mass_j / max(delta_ij, epsilon); pairs up to
// `floor` are left out unless epsilon > 0. x is stored dimension by dimension, the gradient point
// by point. Coordinates are double for either type of matrix, since differences of close points
// matter.
template <class T>
double sammon_gradient(const T* dissimilarities, const double* x, const double* mass, int64_t n,
                       int dim, double floor, double epsilon, int n_threads, double* gradient) {
    constexpr int64_t kRows = 16;
    std::vector<double> stress(static_cast<size_t>((n + kRows - 1) / kRows), 0.0);
    const double zero_weight = epsilon > 0 ? 1.0 : 0.0;
    parallel_ranges(n, kRows, n_threads, [&](int64_t begin, int64_t end, int) {
        std::vector<double> delta(static_cast<size_t>(n)), weight(static_cast<size_t>(n));
        std::vector<double> at(static_cast<size_t>(dim));
        double sum = 0;
        for (int64_t i = begin; i < end; ++i) {
            const T* row = dissimilarities + i * n;
            for (int64_t j = 0; j < n; ++j) {
                const double value = static_cast<double>(row[j]);
                const double kept = value > floor ? 1.0 : zero_weight;
                delta[size_t(j)] = value;
                weight[size_t(j)] =
                    kept * mass[j] / std::max(std::max(value, epsilon), kept > 0 ? floor : 1.0);
            }
            for (int c = 0; c < dim; ++c) at[size_t(c)] = x[c * n + i];
            double* own = gradient + i * dim;
            sum += mass[i] * kernels<double>().point_gradient(delta.data(), weight.data(), x, n,
                                                              dim, at.data(), own);
            for (int c = 0; c < dim; ++c) own[c] *= mass[i];
        }
        stress[size_t(begin / kRows)] = sum;
    });
    double total = 0;
    for (double s : stress) total += s;
    return total;
}

}  // namespace lowdim
