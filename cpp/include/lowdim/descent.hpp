// One step of gradient descent with momentum and a gain for every coordinate (Jacobs 1988), and the
// arithmetic of gradients.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lowdim/parallel.hpp"

namespace lowdim {

struct Step {
    double rate, momentum, min_gain, max_step;
};

// A gain grows by 0.2 while the velocity points down the gradient, and shrinks by a factor of 0.8
// where the velocity points up, after an overshoot. No point moves farther than `max_step` at once.
// Returns the squared norm of the gradient.
template <class T>
double momentum_step(const T* gradient, int64_t n, int dim, const Step& step, int n_threads, T* y,
                     T* velocity, T* gains) {
    constexpr int64_t kRows = 1024;
    std::vector<double> parts(static_cast<size_t>((n + kRows - 1) / kRows), 0.0);
    const T rate = static_cast<T>(step.rate), momentum = static_cast<T>(step.momentum);
    const T least = static_cast<T>(step.min_gain), max_step = static_cast<T>(step.max_step);
    parallel_ranges(n, kRows, n_threads, [&](int64_t begin, int64_t end, int) {
        double sum = 0;
        for (int64_t i = begin; i < end; ++i) {
            T length = 0;
            for (int64_t k = i * dim; k < (i + 1) * dim; ++k) {
                const T g = gradient[k];
                sum += double(g) * double(g);
                const T grown = velocity[k] * g < 0 ? gains[k] + T(0.2) : gains[k] * T(0.8);
                gains[k] = std::max(grown, least);
                velocity[k] = momentum * velocity[k] - rate * gains[k] * g;
                length += velocity[k] * velocity[k];
            }
            length = std::sqrt(length);
            const T scale = length > max_step ? max_step / length : T(1);
            for (int64_t k = i * dim; k < (i + 1) * dim; ++k) {
                velocity[k] *= scale;
                y[k] += velocity[k];
            }
        }
        parts[static_cast<size_t>(begin / kRows)] = sum;
    });
    double total = 0;
    for (double part : parts) total += part;
    return total;
}

// first = a first - b second.
template <class T>
void subtract_scaled(T* first, double a, const T* second, double b, int64_t n, int n_threads) {
    const T of_first = static_cast<T>(a), of_second = static_cast<T>(b);
    parallel_ranges(n, 4096, n_threads, [&](int64_t begin, int64_t end, int) {
        for (int64_t k = begin; k < end; ++k)
            first[k] = of_first * first[k] - of_second * second[k];
    });
}

// The sum, in double precision.
template <class T>
double sum_of(const T* values, int64_t n, int n_threads) {
    constexpr int64_t kValues = 4096, kSums = 8;
    std::vector<double> parts(static_cast<size_t>((n + kValues - 1) / kValues), 0.0);
    parallel_ranges(n, kValues, n_threads, [&](int64_t begin, int64_t end, int) {
        double lanes[kSums] = {};  // independent sums, which the compiler can vectorize
        int64_t k = begin;
        for (; k + kSums <= end; k += kSums)
            for (int64_t l = 0; l < kSums; ++l) lanes[l] += double(values[k + l]);
        for (; k < end; ++k) lanes[0] += double(values[k]);
        double total = 0;
        for (double lane : lanes) total += lane;
        parts[static_cast<size_t>(begin / kValues)] = total;
    });
    double total = 0;
    for (double part : parts) total += part;
    return total;
}

}  // namespace lowdim
