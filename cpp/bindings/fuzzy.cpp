// Fuzzy graphs of neighbours.
#include "lowdim/fuzzy.hpp"

#include "checks.hpp"

namespace lowdim {
namespace {

template <class T>
void bind(nb::module_& m) {
    m.def(
        "memberships",
        [](In1<int64_t> indptr, In1<T> distances, double target, double connectivity, Out1<T> rho,
           Out1<T> sigma, Out1<T> out, int n_threads) {
            const int64_t n = check_indptr(indptr, int64_t(distances.shape(0)));
            expect(same_shape(distances, out) && has_shape(rho, n) && has_shape(sigma, n),
                   "distances and out must have one entry per arc, rho and sigma one per row");
            expect(connectivity >= 0, "connectivity must not be negative");
            const Released released;
            memberships<T>(n, indptr.data(), distances.data(), target, connectivity, n_threads,
                           rho.data(), sigma.data(), out.data());
        },
        "indptr"_array, "distances"_array, "target"_a, "connectivity"_a, "rho"_array, "sigma"_array,
        "out"_array, "n_threads"_a);
    m.def(
        "fuzzy_union",
        [](In1<int64_t> indptr, In1<int32_t> indices, In1<T> data, double mix, int n_threads) {
            const Graph<T> g = checked_graph<T>(indptr, indices, data);
            return to_numpy(unlocked([&] {
                return fuzzy_union<T>(g.n, g.indptr, g.indices, g.weights, T(mix), n_threads);
            }));
        },
        "indptr"_array, "indices"_array, "data"_array, "mix"_a, "n_threads"_a);
}

}  // namespace

void bind_fuzzy(nb::module_& m) {
    bind<float>(m);
    bind<double>(m);
}

}  // namespace lowdim
