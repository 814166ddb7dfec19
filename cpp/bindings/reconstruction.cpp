// Barycentric weights.
#include "lowdim/reconstruction.hpp"

#include "checks.hpp"

namespace lowdim {
namespace {

template <class T>
void bind(nb::module_& m) {
    m.def(
        "barycentric_weights",
        [](In3<T> grams, double reg, Out2<T> weights, int n_threads) {
            const size_t n = grams.shape(0), k = grams.shape(1);
            expect(grams.shape(2) == k && has_shape(weights, n, k),
                   "grams must be (n, k, k) and weights (n, k)");
            const Released released;
            barycentric_weights<T>(grams.data(), int64_t(n), int(k), reg, n_threads,
                                   weights.data());
        },
        "grams"_array, "reg"_a, "weights"_array, "n_threads"_a);
}

}  // namespace

void bind_reconstruction(nb::module_& m) {
    bind<float>(m);
    bind<double>(m);
}

}  // namespace lowdim
