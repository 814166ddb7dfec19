// Barycentric weights: each point as the affine combination of its neighbours nearest to it,
// from the Gram matrix of the neighbours about the point.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "lowdim/parallel.hpp"

namespace lowdim {

// Solve the symmetric positive definite k x k system a w = 1 in place; false if not definite.
inline bool solve_ones(std::vector<double>& a, int k, double* w) {
    for (int j = 0; j < k; ++j) {
        for (int i = j; i < k; ++i) {
            double sum = a[size_t(i * k + j)];
            for (int l = 0; l < j; ++l) sum -= a[size_t(i * k + l)] * a[size_t(j * k + l)];
            if (i > j)
                a[size_t(i * k + j)] = sum / a[size_t(j * k + j)];
            else if (sum > 0)
                a[size_t(j * k + j)] = std::sqrt(sum);
            else
                return false;
        }
    }
    for (int i = 0; i < k; ++i) {
        double sum = 1;
        for (int l = 0; l < i; ++l) sum -= a[size_t(i * k + l)] * w[l];
        w[i] = sum / a[size_t(i * k + i)];
    }
    for (int i = k - 1; i >= 0; --i) {
        double sum = w[i];
        for (int l = i + 1; l < k; ++l) sum -= a[size_t(l * k + i)] * w[l];
        w[i] = sum / a[size_t(i * k + i)];
    }
    return true;
}

// weights[i, :] solves G_i w = 1 scaled to sum 1, for the n Gram matrices G_i (k x k), each
// regularised by reg times its trace (by reg itself where the trace is zero).
template <class T>
void barycentric_weights(const T* grams, int64_t n, int k, double reg, int n_threads, T* weights) {
    parallel_ranges(n, 256, n_threads, [&](int64_t begin, int64_t end, int) {
        std::vector<double> system(size_t(k) * size_t(k));
        std::vector<double> w(static_cast<size_t>(k));
        for (int64_t i = begin; i < end; ++i) {
            const T* gram = grams + i * k * k;
            double trace = 0;
            for (int a = 0; a < k; ++a) trace += double(gram[a * k + a]);
            bool solved = false;  // the ridge of a singular system is raised until it is definite
            for (double ridge = reg; !solved && ridge < 1e3; ridge = std::max(ridge * 10, 1e-12)) {
                const double shift = ridge * (trace > 0 ? trace : 1.0);
                for (int a = 0; a < k; ++a)
                    for (int b = 0; b < k; ++b)
                        system[size_t(a * k + b)] =
                            double(gram[a * k + b]) + (a == b ? shift : 0.0);
                solved = solve_ones(system, k, w.data());
            }
            if (!solved) std::fill(w.begin(), w.end(), 1.0);
            double sum = 0;
            for (int a = 0; a < k; ++a) sum += w[size_t(a)];
            for (int a = 0; a < k; ++a) weights[i * k + a] = T(w[size_t(a)] / sum);
        }
    });
}

}  // namespace lowdim
