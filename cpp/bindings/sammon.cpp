// Sammon's stress.
#include "lowdim/sammon.hpp"

#include "checks.hpp"

namespace lowdim {
namespace {

template <class T>
void bind(nb::module_& m) {
    m.def(
        "sammon_gradient",
        [](In2<T> dissimilarities, In2<double> transposed, In1<double> mass, Out2<double> gradient,
           double floor, double epsilon, int n_threads) {
            const size_t n = mass.shape(0), dim = transposed.shape(0);
            expect(has_shape(dissimilarities, n, n) && has_shape(transposed, dim, n) &&
                       has_shape(gradient, n, dim),
                   "dissimilarities must be (n, n), transposed (dim, n) and gradient (n, dim)");
            const Released released;
            return sammon_gradient<T>(dissimilarities.data(), transposed.data(), mass.data(),
                                      int64_t(n), int(dim), floor, epsilon, n_threads,
                                      gradient.data());
        },
        "dissimilarities"_array, "transposed"_array, "mass"_array, "gradient"_array, "floor"_a,
        "epsilon"_a, "n_threads"_a);
}

}  // namespace

void bind_sammon(nb::module_& m) {
    bind<float>(m);
    bind<double>(m);
}

}  // namespace lowdim
