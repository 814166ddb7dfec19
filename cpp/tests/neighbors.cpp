#include "lowdim/neighbors.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "lowdim/graph.hpp"
#include "testing.hpp"

using namespace lowdim;
using namespace testing;

namespace {

constexpr int32_t kNoId = std::numeric_limits<int32_t>::max();

template <class T>
using Ranked = std::vector<std::pair<T, int32_t>>;

template <class T>
struct Heaps {
    Heaps(int n, int k)
        : values(size_t(n) * size_t(k), kInf<T>), ids(size_t(n) * size_t(k), kNoId), k_(k) {}
    Heap<T> at(int first) { return {values.data() + first * k_, ids.data() + first * k_, k_}; }
    Ranked<T> sorted(int i) const {
        Ranked<T> found;
        for (int c = i * k_; c < (i + 1) * k_; ++c)
            found.emplace_back(values[size_t(c)], ids[size_t(c)]);
        std::sort(found.begin(), found.end());
        return found;
    }
    std::vector<T> values;
    std::vector<int32_t> ids;
    int k_;
};

template <class T>
Ranked<T> best(Ranked<T> all, int k) {
    all.insert(all.end(), size_t(k), {kInf<T>, kNoId});
    std::sort(all.begin(), all.end());
    all.resize(size_t(k));
    return all;
}

// All pairs of n objects from the tiles on and above the diagonal, as the library does it.
template <class T>
void check_offers_symmetric(int n, int side, int k, bool ties, bool backwards) {
    const Case here("n", n, "side", side, "k", k, "ties", ties, "backwards", backwards);
    Random random(uint32_t(n * 1000 + side * 10 + k));
    std::vector<T> scores(size_t(n) * size_t(n));
    for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j)
            scores[size_t(i * n + j)] = scores[size_t(j * n + i)] =
                ties ? T(random.whole(0, 3)) : T(random.real());
    const std::vector<T> offset = random.wholes<T>(n, 0, 2);
    Heaps<T> heaps(n, k);
    std::vector<T> bounds(static_cast<size_t>(n));
    std::vector<std::pair<int, int>> tiles;
    for (int i = 0; i < n; i += side)
        for (int j = i; j < n; j += side) tiles.emplace_back(i, j);
    if (backwards) std::reverse(tiles.begin(), tiles.end());
    for (auto [i, j] : tiles) {
        const Tile<T> tile{scores.data() + size_t(i) * size_t(n) + j,
                           size_t(n),
                           std::min(side, n - i),
                           std::min(side, n - j),
                           i,
                           j,
                           T(-2)};
        kernels<T>().offer_to_rows(tile, offset.data() + j, 0, tile.rows, heaps.at(i));
        if (i != j)
            kernels<T>().offer_to_columns(tile, offset.data() + i, 0, tile.cols, heaps.at(j),
                                          bounds.data());
    }
    for (int i = 0; i < n; ++i) {
        Ranked<T> all;
        for (int j = 0; j < n; ++j)
            if (j != i) all.emplace_back(T(-2) * scores[size_t(i * n + j)] + offset[size_t(j)], j);
        CHECK_EQUAL(heaps.sorted(i), best(all, k));
    }
}

// One tile with padding and a diagonal running through it, offered by parts.
template <class T>
void check_offers_rectangle(int rows, int cols, int k) {
    const Case here("rows", rows, "cols", cols, "k", k);
    Random random(uint32_t(rows + 100 * cols + k));
    const int stride = cols + 3, first_row = 40, first_col = 30;
    const std::vector<T> data = random.wholes<T>(int64_t(rows) * stride, 0, 4);
    const std::vector<T> by_col = random.wholes<T>(cols, 0, 2),
                         by_row = random.wholes<T>(rows, 0, 2);
    const Tile<T> tile{data.data(), size_t(stride), rows, cols, first_row, first_col, T(3)};
    auto score = [&](int i, int j) { return T(3) * data[size_t(i * stride + j)]; };

    Heaps<T> of_rows(rows, k), untouched(1, k);
    const int skip = rows > 2 ? 1 : 0;  // the last row is not offered
    kernels<T>().offer_to_rows(tile, by_col.data(), 0, rows / 2, of_rows.at(0));
    kernels<T>().offer_to_rows(tile, by_col.data(), rows / 2, rows - skip, of_rows.at(0));
    if (skip > 0) CHECK_EQUAL(of_rows.sorted(rows - 1), untouched.sorted(0));
    for (int i = 0; i < rows - skip; ++i) {
        Ranked<T> all;
        for (int j = 0; j < cols; ++j)
            if (first_col + j != first_row + i)
                all.emplace_back(score(i, j) + by_col[size_t(j)], first_col + j);
        CHECK_EQUAL(of_rows.sorted(i), best(all, k));
    }

    Heaps<T> of_cols(cols, k);
    std::vector<T> bounds(static_cast<size_t>(cols));
    const int last = cols > 2 ? 1 : 0;
    kernels<T>().offer_to_columns(tile, by_row.data(), 0, cols / 2, of_cols.at(0), bounds.data());
    kernels<T>().offer_to_columns(tile, by_row.data(), cols / 2, cols - last, of_cols.at(0),
                                  bounds.data());
    if (last > 0) CHECK_EQUAL(of_cols.sorted(cols - 1), untouched.sorted(0));
    for (int j = 0; j < cols - last; ++j) {
        Ranked<T> all;
        for (int i = 0; i < rows; ++i)
            if (first_col + j != first_row + i)
                all.emplace_back(score(i, j) + by_row[size_t(i)], first_row + i);
        CHECK_EQUAL(of_cols.sorted(j), best(all, k));
    }
}

TEST_FLOATS(offers_find_the_k_best) {
    for (int n : {1, 2, 33, 64, 131})
        for (int side : {32, 50, 200})
            for (int k : {1, 2, 7, 40})
                for (bool ties : {true, false})
                    for (bool backwards : {true, false})
                        check_offers_symmetric<T>(n, side, k, ties, backwards);
    for (int rows : {1, 5, 37, 64})
        for (int cols : {1, 31, 32, 33, 90})
            for (int k : {1, 5}) check_offers_rectangle<T>(rows, cols, k);
}

template <class T>
void check_rerank(PairMetric metric) {
    const Case here("metric", int(metric));
    const bool cosine = metric == PairMetric::cosine;
    Random random(cosine ? 2 : 3);
    const int64_t n_points = 60, n_queries = 600, dim = 5;
    const int most = metric == PairMetric::canberra ? 1 : 2;  // whose shares are then whole numbers
    std::vector<T> points = random.wholes<T>(n_points * dim, -most, most);
    std::vector<T> queries = random.wholes<T>(n_queries * dim, -most, most);
    if (cosine)  // unit vectors along the axes, and zero vectors: exact, and full of ties
        for (auto* vectors : {&points, &queries}) {
            std::fill(vectors->begin(), vectors->end(), T(0));
            for (size_t row = 0; row < vectors->size(); row += size_t(dim)) {
                const int axis = random.whole(0, int(dim));
                if (axis < dim) (*vectors)[row + size_t(axis)] = T(2 * random.whole(0, 1) - 1);
            }
        }
    for (int m : {1, 4, 20}) {
        std::vector<int32_t> candidates;
        for (int64_t q = 0; q < n_queries; ++q) {
            std::vector<int32_t> all;
            for (int32_t p = 0; p < n_points; ++p) all.push_back(p);
            for (int c = 0; c < m; ++c) {  // no candidate twice, some missing
                std::swap(all[size_t(c)], all[size_t(random.whole(c, int(n_points) - 1))]);
                candidates.push_back(random.whole(0, 9) == 0 ? -1 : all[size_t(c)]);
            }
        }
        for (int k = 1; k <= m; k += 3) {
            std::vector<int32_t> ids(size_t(n_queries * k)), again(ids.size());
            std::vector<T> distances(ids.size()), distances_again(ids.size());
            rerank<T>(queries.data(), points.data(), n_queries, dim, candidates.data(), m, k,
                      metric, 3.0, 1, ids.data(), distances.data());
            rerank<T>(queries.data(), points.data(), n_queries, dim, candidates.data(), m, k,
                      metric, 3.0, 3, again.data(), distances_again.data());
            CHECK_EQUAL(ids, again);
            CHECK_SAME_BITS(distances, distances_again);
            for (int64_t q = 0; q < n_queries; ++q) {
                Ranked<T> all;
                for (int c = 0; c < m; ++c) {
                    const int32_t id = candidates[size_t(q * m + c)];
                    T dot = 0, squares = 0, gaps = 0, largest = 0, shares = 0, sizes = 0, cubes = 0;
                    for (int64_t d = 0; d < dim && id >= 0; ++d) {
                        const T a = queries[size_t(q * dim + d)], b = points[size_t(id * dim + d)];
                        const T gap = std::abs(a - b), size = std::abs(a) + std::abs(b);
                        dot += a * b;
                        squares += gap * gap;
                        cubes += gap * gap * gap;
                        gaps += gap;
                        largest = std::max(largest, gap);
                        shares += size > 0 ? gap / size : 0;
                        sizes += std::abs(a + b);
                    }
                    const T values[] = {std::sqrt(squares),
                                        1 - dot,
                                        gaps,
                                        largest,
                                        shares,
                                        gaps > 0 ? gaps / sizes : 0,
                                        T(exact_power(double(cubes), 1 / 3.0))};
                    all.emplace_back(id < 0 ? kInf<T> : values[int(metric)], id);
                }
                std::sort(all.begin(), all.end());
                for (int c = 0; c < k; ++c) {
                    CHECK_EQUAL(ids[size_t(q * k + c)], all[size_t(c)].second);
                    CHECK_EQUAL(distances[size_t(q * k + c)], all[size_t(c)].first);
                }
            }
        }
    }
}

template <class T>
void check_rerank_sparse(bool cosine) {
    const Case here("cosine", cosine);
    Random random(cosine ? 12 : 13);
    const int64_t n_points = 40, n_queries = 150, dim = 30;
    const int m = 12, k = 5;
    auto sparse = [&](int64_t n, std::vector<T>& dense) {
        Csr<T> csr;
        csr.indptr.push_back(0);
        dense.assign(size_t(n * dim), T(0));
        for (int64_t i = 0; i < n; ++i) {
            for (int32_t j = 0; j < dim; ++j)
                if (random.whole(0, 3) == 0) {
                    csr.indices.push_back(j);
                    csr.data.push_back(T(random.whole(-2, 2)) / T(cosine ? 8 : 1));
                    dense[size_t(i * dim + j)] = csr.data.back();
                }
            csr.indptr.push_back(int64_t(csr.indices.size()));
        }
        return csr;
    };
    std::vector<T> dense_points, dense_queries;
    const Csr<T> points = sparse(n_points, dense_points);
    const Csr<T> queries = sparse(n_queries, dense_queries);
    const SparseRows<T> p{points.indptr.data(), points.indices.data(), points.data.data()};
    const SparseRows<T> q{queries.indptr.data(), queries.indices.data(), queries.data.data()};
    std::vector<int32_t> candidates;
    for (int64_t i = 0; i < n_queries * m; ++i)
        candidates.push_back(random.whole(0, 9) == 0 ? -1 : int32_t((i * 3 + i / m) % n_points));
    std::vector<int32_t> ids(size_t(n_queries * k)), again(ids), expected(ids);
    std::vector<T> distances(ids.size()), distances_again(ids.size()), right(ids.size());
    rerank_sparse<T>(q, p, n_queries, dim, candidates.data(), m, k, cosine, 1, ids.data(),
                     distances.data());
    rerank_sparse<T>(q, p, n_queries, dim, candidates.data(), m, k, cosine, 3, again.data(),
                     distances_again.data());
    rerank<T>(dense_queries.data(), dense_points.data(), n_queries, dim, candidates.data(), m, k,
              cosine ? PairMetric::cosine : PairMetric::euclidean, 0.0, 1, expected.data(),
              right.data());
    CHECK_EQUAL(ids, again);
    CHECK_SAME_BITS(distances, distances_again);
    CHECK_EQUAL(ids, expected);
    CHECK_SAME_BITS(distances, right);
}

TEST_FLOATS(rerank_orders_by_distance_and_id) {
    for (PairMetric metric :
         {PairMetric::euclidean, PairMetric::cosine, PairMetric::cityblock, PairMetric::chebyshev,
          PairMetric::canberra, PairMetric::braycurtis, PairMetric::minkowski})
        check_rerank<T>(metric);
}

TEST_FLOATS(rerank_of_sparse_rows_agrees_with_dense_ones) {
    for (bool cosine : {false, true}) check_rerank_sparse<T>(cosine);
}

}  // namespace
