// Bregman projections of a Mahalanobis matrix.
#include "lowdim/bregman.hpp"

#include "checks.hpp"

namespace lowdim {

void bind_bregman(nb::module_& m) {
    m.def(
        "bregman_projections",
        [](In2<double> gaps, In1<double> signs, double slack, Out1<double> multipliers,
           Out1<double> targets, Out2<double> matrix) {
            const auto count = int64_t(gaps.shape(0)), dim = int64_t(gaps.shape(1));
            expect(has_shape(signs, count) && has_shape(multipliers, count) &&
                       has_shape(targets, count),
                   "signs, multipliers and targets must have one entry per row of gaps");
            expect(has_shape(matrix, dim, dim), "matrix must be (dim, dim)");
            const Released released;
            bregman_projections(gaps.data(), signs.data(), count, dim, slack, multipliers.data(),
                                targets.data(), matrix.data());
        },
        "gaps"_array, "signs"_array, "slack"_a, "multipliers"_array, "targets"_array,
        "matrix"_array);
}

}  // namespace lowdim
