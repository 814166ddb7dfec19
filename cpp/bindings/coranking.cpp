// Exact distances between points, and the ranks of one set of distances in another.
#include "lowdim/coranking.hpp"

#include "checks.hpp"

namespace lowdim {
namespace {

template <class T>
void bind(nb::module_& m) {
    m.def(
        "squared_distances",
        [](In2<T> queries, In2<T> points, Out2<T> out, int n_threads) {
            expect(queries.shape(1) == points.shape(1), "queries and points must have equal width");
            expect(has_shape(out, queries.shape(0), points.shape(0)),
                   "out must be (queries, points)");
            const Released released;
            squared_distances<T>(queries.data(), int64_t(queries.shape(0)), points.data(),
                                 int64_t(points.shape(0)), int64_t(points.shape(1)), n_threads,
                                 out.data());
        },
        "queries"_array, "points"_array, "out"_array, "n_threads"_a);
    m.def(
        "compare_orders",
        [](In2<T> first, In2<T> second, In1<int32_t> own, In1<int32_t> grid,
           Out2<int32_t> first_ids, Out2<int32_t> first_ranks, Out2<int32_t> second_ids,
           Out2<int32_t> second_ranks, Out2<int32_t> shared, int n_threads) {
            const auto rows = first.shape(0), n = first.shape(1), k = first_ids.shape(1);
            expect(same_shape(first, second) && has_shape(own, rows),
                   "first and second must be (rows, n), and own has one entry per row");
            for (const auto* ids : {&first_ids, &first_ranks, &second_ids, &second_ranks})
                expect(has_shape(*ids, rows, k), "ids must be (rows, k)");
            expect(k < n && has_shape(shared, rows, grid.shape(0)),
                   "k must be less than n, and shared (rows, grid)");
            expect_range(own, 0, int64_t(n), "own must lie in [0, n)");
            for (size_t g = 1; g < grid.shape(0); ++g)
                expect(grid.data()[g - 1] < grid.data()[g], "grid must ascend");
            const Compared out{int(k),
                               first_ids.data(),
                               first_ranks.data(),
                               second_ids.data(),
                               second_ranks.data(),
                               int(grid.shape(0)),
                               grid.data(),
                               shared.data()};
            const Released released;
            compare_orders<T>(first.data(), second.data(), int64_t(rows), int64_t(n), own.data(),
                              out, n_threads);
        },
        "first"_array, "second"_array, "own"_array, "grid"_array, "first_ids"_array,
        "first_ranks"_array, "second_ids"_array, "second_ranks"_array, "shared"_array,
        "n_threads"_a);
}

}  // namespace

void bind_coranking(nb::module_& m) {
    bind<float>(m);
    bind<double>(m);
}

}  // namespace lowdim
