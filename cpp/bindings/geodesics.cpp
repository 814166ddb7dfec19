// Shortest paths on graphs.
#include "lowdim/geodesics.hpp"

#include "checks.hpp"

namespace lowdim {
namespace {

template <class T>
void bind(nb::module_& m) {
    m.def(
        "group_sources",
        [](In1<int64_t> indptr, In1<int32_t> indices, In1<T> weights, In1<int32_t> sources,
           Out1<int32_t> order) {
            const Graph<T> g = checked_graph<T>(indptr, indices, weights);
            expect_range(sources, 0, g.n, "source out of range");
            expect(order.shape(0) == sources.shape(0), "order must have an entry for each source");
            const Released released;
            const auto found = group_sources<T>(g, sources.data(), int64_t(sources.shape(0)));
            std::copy(found.begin(), found.end(), order.data());
        },
        "indptr"_array, "indices"_array, "weights"_array, "sources"_array, "order"_array);
    m.def(
        "shortest_paths",
        [](In1<int64_t> indptr, In1<int32_t> indices, In1<T> weights, In1<int32_t> sources,
           In1<int32_t> rows, Out2<T> out, int n_threads) {
            const Graph<T> g = checked_graph<T>(indptr, indices, weights);
            for (size_t e = 0; e < weights.shape(0); ++e)
                expect(weights.data()[e] >= 0 && std::isfinite(weights.data()[e]),
                       "arc lengths must be finite and not negative");
            expect_range(sources, 0, g.n, "source out of range");
            expect(rows.shape(0) == sources.shape(0), "one row for each source");
            expect(int64_t(out.shape(1)) == g.n, "out must have a column for each node");
            expect_range(rows, 0, int64_t(out.shape(0)), "row out of range");
            const Released released;
            shortest_paths<T>(g, sources.data(), rows.data(), int64_t(sources.shape(0)), n_threads,
                              out.data());
        },
        "indptr"_array, "indices"_array, "weights"_array, "sources"_array, "rows"_array,
        "out"_array, "n_threads"_a);
    m.def(
        "keep_smaller",
        [](Out2<T> matrix, int n_threads) {
            expect(matrix.shape(0) == matrix.shape(1), "matrix must be square");
            const Released released;
            keep_smaller<T>(matrix.data(), int64_t(matrix.shape(0)), n_threads);
        },
        "matrix"_array, "n_threads"_a);
    m.def(
        "floyd_warshall",
        [](Out2<T> lengths, int n_threads) {
            expect(lengths.shape(0) == lengths.shape(1), "lengths must be square");
            const Released released;
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
