// Shortest paths on graphs.
#include "lowdim/geodesics.hpp"

#include "checks.hpp"

namespace lowdim {
namespace {

template <class T>
void bind(nb::module_& m) {
    m.def(
        "shortest_paths",
        [](In1<int64_t> indptr, In1<int32_t> indices, In1<T> weights, In1<int32_t> sources,
           Out2<T> out, int n_threads) {
            const Graph<T> g = checked_graph<T>(indptr, indices, weights);
            for (size_t e = 0; e < weights.shape(0); ++e)
                expect(weights.data()[e] >= 0 && std::isfinite(weights.data()[e]),
                       "arc lengths must be finite and not negative");
            expect_range(sources, 0, g.n, "source out of range");
            expect(has_shape(out, sources.shape(0), g.n), "out must be (sources, n)");
            nb::gil_scoped_release released;
            shortest_paths<T>(g, sources.data(), int64_t(sources.shape(0)), n_threads, out.data());
        },
        "indptr"_array, "indices"_array, "weights"_array, "sources"_array, "out"_array,
        "n_threads"_a);
    m.def(
        "floyd_warshall",
        [](Out2<T> lengths, int n_threads) {
            expect(lengths.shape(0) == lengths.shape(1), "lengths must be square");
            nb::gil_scoped_release released;
            floyd_warshall<T>(lengths.data(), int64_t(lengths.shape(0)), n_threads);
        },
        "lengths"_array, "n_threads"_a);
}

}  // namespace

void bind_geodesics(nb::module_& m) {
    bind<float>(m);
    bind<double>(m);
}

}  // namespace lowdim
