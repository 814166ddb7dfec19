// Nearest neighbours from tiles of scores, and their exact distances.
#include "lowdim/neighbors.hpp"

#include <string_view>

#include "checks.hpp"

namespace lowdim {
namespace {

template <class T>
Tile<T> tile_of(const In2<T>& scores, int32_t first_row, int32_t first_col, T scale) {
    return {scores.data(),
            scores.shape(1),
            int(scores.shape(0)),
            int(scores.shape(1)),
            first_row,
            first_col,
            scale};
}

// The heaps of a tile: one for each of its n rows, or columns.
template <class T>
Heap<T> heaps_of(const Out2<T>& values, const Out2<int32_t>& ids, size_t n) {
    expect(values.shape(0) == n && same_shape(values, ids) && values.shape(1) >= 1,
           "values and ids must be (rows or columns of the tile, k)");
    return {values.data(), ids.data(), int(values.shape(1))};
}

PairMetric pair_metric(std::string_view name) {
    if (name == "euclidean") return PairMetric::euclidean;
    if (name == "cosine") return PairMetric::cosine;
    if (name == "cityblock") return PairMetric::cityblock;
    if (name == "chebyshev") return PairMetric::chebyshev;
    if (name == "canberra") return PairMetric::canberra;
    if (name == "braycurtis") return PairMetric::braycurtis;
    expect(name == "minkowski", "candidates cannot be ranked by this metric");
    return PairMetric::minkowski;
}

// Every query has candidates and results, and there are as many candidates as results at least.
template <class T>
void check_candidates(const In2<int32_t>& candidates, const Out2<int32_t>& ids,
                      const Out2<T>& distances, int64_t n_queries, int64_t n_points) {
    expect(int64_t(candidates.shape(0)) == n_queries && int64_t(ids.shape(0)) == n_queries &&
               same_shape(ids, distances) && ids.shape(1) <= candidates.shape(1),
           "candidates, ids and distances must have one row per query, and k <= candidates");
    for (size_t i = 0; i < candidates.size(); ++i)
        expect(candidates.data()[i] < n_points, "candidate out of range");
}

template <class T>
void bind(nb::module_& m) {
    m.def(
        "offer_to_rows",
        [](In2<T> tile, In1<T> offset, int32_t first_row, int32_t first_col, T scale,
           Out2<T> values, Out2<int32_t> ids, int n_threads) {
            expect(has_shape(offset, tile.shape(1)), "offset must have one entry per column");
            const Tile<T> t = tile_of<T>(tile, first_row, first_col, scale);
            const Heap<T> heap = heaps_of<T>(values, ids, tile.shape(0));
            const Released released;
            parallel_ranges(t.rows, 64, n_threads, [&](int64_t begin, int64_t end, int) {
                kernels<T>().offer_to_rows(t, offset.data(), int(begin), int(end), heap);
            });
        },
        "tile"_array, "offset"_array, "first_row"_a, "first_col"_a, "scale"_a, "values"_array,
        "ids"_array, "n_threads"_a);
    m.def(
        "offer_to_columns",
        [](In2<T> tile, In1<T> offset, int32_t first_row, int32_t first_col, T scale,
           Out2<T> values, Out2<int32_t> ids, int n_threads) {
            expect(has_shape(offset, tile.shape(0)), "offset must have one entry per row");
            const Tile<T> t = tile_of<T>(tile, first_row, first_col, scale);
            const Heap<T> heap = heaps_of<T>(values, ids, tile.shape(1));
            const Released released;
            std::vector<T> bounds(size_t(t.cols));
            parallel_ranges(t.cols, 512, n_threads, [&](int64_t begin, int64_t end, int) {
                kernels<T>().offer_to_columns(t, offset.data(), int(begin), int(end), heap,
                                              bounds.data());
            });
        },
        "tile"_array, "offset"_array, "first_row"_a, "first_col"_a, "scale"_a, "values"_array,
        "ids"_array, "n_threads"_a);
    m.def(
        "rerank",
        [](In2<T> queries, In2<T> points, In2<int32_t> candidates, const char* metric, double power,
           Out2<int32_t> ids, Out2<T> distances, int n_threads) {
            expect(queries.shape(1) == points.shape(1), "queries and points must have equal width");
            const PairMetric kind = pair_metric(metric);
            expect(kind != PairMetric::minkowski || power > 0, "power must be positive");
            const auto n_queries = int64_t(queries.shape(0));
            check_candidates(candidates, ids, distances, n_queries, int64_t(points.shape(0)));
            const Released released;
            rerank<T>(queries.data(), points.data(), n_queries, int64_t(queries.shape(1)),
                      candidates.data(), int(candidates.shape(1)), int(ids.shape(1)), kind, power,
                      n_threads, ids.data(), distances.data());
        },
        "queries"_array, "points"_array, "candidates"_array, "metric"_a, "power"_a, "ids"_array,
        "distances"_array, "n_threads"_a);
    m.def(
        "rerank_sparse",
        [](In1<int64_t> query_indptr, In1<int32_t> query_indices, In1<T> query_data,
           In1<int64_t> point_indptr, In1<int32_t> point_indices, In1<T> point_data, int64_t dim,
           In2<int32_t> candidates, bool cosine, Out2<int32_t> ids, Out2<T> distances,
           int n_threads) {
            const int64_t n_queries = check_csr(query_indptr, query_indices, query_data, dim);
            const int64_t n_points = check_csr(point_indptr, point_indices, point_data, dim);
            check_candidates(candidates, ids, distances, n_queries, n_points);
            const SparseRows<T> queries{query_indptr.data(), query_indices.data(),
                                        query_data.data()};
            const SparseRows<T> points{point_indptr.data(), point_indices.data(),
                                       point_data.data()};
            const Released released;
            rerank_sparse<T>(queries, points, n_queries, dim, candidates.data(),
                             int(candidates.shape(1)), int(ids.shape(1)), cosine, n_threads,
                             ids.data(), distances.data());
        },
        "query_indptr"_array, "query_indices"_array, "query_data"_array, "point_indptr"_array,
        "point_indices"_array, "point_data"_array, "dim"_a, "candidates"_array, "cosine"_a,
        "ids"_array, "distances"_array, "n_threads"_a);
}

}  // namespace

void bind_neighbors(nb::module_& m) {
    bind<float>(m);
    bind<double>(m);
}

}  // namespace lowdim
