// Stochastic neighbours among points with labels.
#include "lowdim/stochastic.hpp"

#include "checks.hpp"

namespace lowdim {

void bind_stochastic(nb::module_& m) {
    m.def("stochastic_parts", &stochastic_parts, "n"_a);
    m.def(
        "stochastic_neighbor_errors",
        [](In2<double> z, In1<int32_t> classes, double accuracy, Out2<double> gradient,
           int n_threads) {
            const size_t n = z.shape(0), dim = z.shape(1);
            expect(n >= 2 && dim >= 1 && has_shape(classes, n) && same_shape(z, gradient),
                   "z and gradient must be (n, dim) with n of at least 2, and classes (n,)");
            expect(std::is_sorted(classes.data(), classes.data() + n), "classes must ascend");
            return unlocked([&] {
                return stochastic_neighbor_errors(z.data(), classes.data(), int64_t(n), int(dim),
                                                  accuracy, n_threads, gradient.data());
            });
        },
        "z"_array, "classes"_array, "accuracy"_a, "gradient"_array, "n_threads"_a);
}

}  // namespace lowdim
