// The direction of descent of the limited-memory BFGS method.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lowdim/kernels.hpp"

namespace lowdim {

// The negative gradient times the approximation of the inverse Hessian that follows from m steps,
// the oldest one first, and the changes of the gradient over them, by the recursion of two loops
// (Nocedal 1980). Steps and changes have a positive product.
inline void quasi_newton_direction(const double* gradient, const double* steps,
                                   const double* changes, int64_t m, int64_t n, double* direction) {
    const auto length = static_cast<size_t>(n);
    const auto dot = kernels<double>().dot;
    auto add = [&](double factor, const double* vector) {
        for (int64_t k = 0; k < n; ++k) direction[k] += factor * vector[k];
    };
    std::vector<double> curvatures(static_cast<size_t>(m)), shares(static_cast<size_t>(m));
    for (int64_t k = 0; k < n; ++k) direction[k] = -gradient[k];
    for (int64_t r = m - 1; r >= 0; --r) {
        const double *step = steps + r * n, *change = changes + r * n;
        curvatures[size_t(r)] = dot(step, change, length);
        shares[size_t(r)] = dot(step, direction, length) / curvatures[size_t(r)];
        add(-shares[size_t(r)], change);
    }
    if (m > 0) {
        const double* last = changes + (m - 1) * n;
        const double scale = curvatures.back() / dot(last, last, length);
        for (int64_t k = 0; k < n; ++k) direction[k] *= scale;
    }
    for (int64_t r = 0; r < m; ++r) {
        const double share = dot(changes + r * n, direction, length) / curvatures[size_t(r)];
        add(shares[size_t(r)] - share, steps + r * n);
    }
}

}  // namespace lowdim
