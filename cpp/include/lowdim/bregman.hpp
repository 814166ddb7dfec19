// Cyclic Bregman projections of a Mahalanobis matrix onto bounds of squared lengths.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lowdim {

// Projects the symmetric (dim, dim) matrix onto the bound of each of `count` differences in turn
// (algorithm 1 of Davis et al. 2007): signs are 1 for upper and -1 for lower bounds, targets are
// the bounds with the slack used so far. Each projection needs the matrix that the one before it
// has left, so there is one thread.
inline void bregman_projections(const double* gaps, const double* signs, int64_t count, int64_t dim,
                                double slack, double* multipliers, double* targets,
                                double* matrix) {
    std::vector<double> product(static_cast<size_t>(dim));
    double* v = product.data();
    for (int64_t c = 0; c < count; ++c) {
        const double* z = gaps + c * dim;
        std::fill(v, v + dim, 0.0);
        for (int64_t i = 0; i < dim; ++i) {  // by rows, which are also the columns
            const double* row = matrix + i * dim;
            const double factor = z[i];
            for (int64_t j = 0; j < dim; ++j) v[j] += factor * row[j];
        }
        double length = 0;
        for (int64_t j = 0; j < dim; ++j) length += z[j] * v[j];
        if (!(length > 0)) continue;  // two equal objects
        const double sign = signs[c], target = targets[c];
        const double step =
            std::min(multipliers[c], sign * slack / (slack + 1) * (1 / length - 1 / target));
        if (step == 0) continue;
        multipliers[c] -= step;
        targets[c] = slack * target / (slack + sign * step * target);
        const double beta = sign * step / (1 - sign * step * length);
        for (int64_t i = 0; i < dim; ++i) {
            double* row = matrix + i * dim;
            const double factor = beta * v[i];
            for (int64_t j = 0; j < dim; ++j) row[j] += factor * v[j];
        }
    }
}

}  // namespace lowdim
