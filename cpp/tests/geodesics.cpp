#include "lowdim/geodesics.hpp"

#include <algorithm>
#include <vector>

#include "graphs.hpp"
#include "testing.hpp"

using namespace lowdim;
using namespace testing;

namespace {

template <class T>
std::vector<T> dense_lengths(const Graph<T>& g) {
    std::vector<T> lengths(size_t(g.n * g.n), kInf<T>);
    for (int64_t i = 0; i < g.n; ++i) {
        for (int64_t e = g.indptr[i]; e < g.indptr[i + 1]; ++e) {
            T& cell = lengths[size_t(i * g.n + g.indices[e])];
            cell = std::min(cell, g.weights[e]);
        }
        lengths[size_t(i * g.n + i)] = 0;
    }
    return lengths;
}

template <class T>
void naive_floyd_warshall(std::vector<T>& d, int64_t n) {
    for (int64_t k = 0; k < n; ++k)
        for (int64_t i = 0; i < n; ++i)
            for (int64_t j = 0; j < n; ++j)
                d[size_t(i * n + j)] =
                    std::min(d[size_t(i * n + j)], d[size_t(i * n + k)] + d[size_t(k * n + j)]);
}

// Bellman and Ford: sums lengths from the source outwards, so it rounds as the kernel does.
template <class T>
std::vector<T> naive_paths(const Graph<T>& g, int32_t source) {
    std::vector<T> d(size_t(g.n), kInf<T>);
    d[size_t(source)] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (int64_t u = 0; u < g.n; ++u)
            for (int64_t e = g.indptr[u]; e < g.indptr[u + 1]; ++e) {
                const T through = d[size_t(u)] + g.weights[e];
                if (through < d[size_t(g.indices[e])]) {
                    d[size_t(g.indices[e])] = through;
                    changed = true;
                }
            }
    }
    return d;
}

// The paths from sources that are grouped first, with one row of the result for each.
template <class T>
std::vector<T> grouped_paths(const Graph<T>& g, const std::vector<int32_t>& sources,
                             int n_threads) {
    const auto n_sources = int64_t(sources.size());
    const std::vector<int32_t> rows = group_sources(g, sources.data(), n_sources);
    std::vector<int32_t> grouped;
    for (const int32_t row : rows) grouped.push_back(sources[size_t(row)]);
    std::vector<T> out(size_t(n_sources * g.n), T(-1));
    shortest_paths(g, grouped.data(), rows.data(), n_sources, n_threads, out.data());
    return out;
}

template <class T>
void check_paths(const Csr<T>& csr, const std::vector<int32_t>& sources, bool whole) {
    const Case here("n", csr.indptr.size() - 1, "sources", sources.size());
    const Graph<T> g = view(csr);
    const auto n_sources = int64_t(sources.size());
    const std::vector<T> one = grouped_paths(g, sources, 1);
    CHECK_SAME_BITS(one, grouped_paths(g, sources, 3));
    std::vector<T> all = dense_lengths(g);
    naive_floyd_warshall(all, g.n);
    for (int64_t s = 0; s < n_sources; ++s) {
        const std::vector<T> row(one.begin() + s * g.n, one.begin() + (s + 1) * g.n);
        const int32_t source = sources[size_t(s)];
        CHECK_SAME_BITS(row, naive_paths(g, source));
        for (int64_t v = 0; v < g.n; ++v) {
            const T expected = all[size_t(source * g.n + v)];
            if (whole)
                CHECK_EQUAL(row[size_t(v)], expected);
            else
                CHECK_ROUNDED(row[size_t(v)], double(expected), 1e-30);
        }
    }
}

TEST_FLOATS(shortest_paths_from_many_sources) {
    uint32_t seed = 10;
    for (int n : {1, 2, 17, 60})
        for (int degree : {0, 1, 2, 6})
            for (Lengths kind : {Lengths::kWhole, Lengths::kZero, Lengths::kReal, Lengths::kUneven})
                for (bool directed : {true, false}) {
                    const Csr<T> csr = random_graph<T>(n, n * degree / 2, kind, directed, ++seed);
                    std::vector<int32_t> sources(static_cast<size_t>(n));
                    for (int32_t i = 0; i < n; ++i) sources[size_t(i)] = n - 1 - i;
                    check_paths(csr, sources, kind == Lengths::kWhole || kind == Lengths::kZero);
                }
    const Csr<T> csr = random_graph<T>(40, 80, Lengths::kReal, false, 7);
    check_paths(csr, {}, false);
    check_paths(csr, {5}, false);
    check_paths(csr, std::vector<int32_t>(3 * kLanes + 2, 4), false);
    std::vector<int32_t> mixed;
    Random random(8);
    for (int s = 0; s < 5 * kLanes + 3; ++s) mixed.push_back(random.whole(0, 11));
    check_paths(csr, mixed, false);
    std::vector<Arc<T>> chain;  // one long path: many rounds of the ring of buckets
    for (int32_t i = 0; i + 1 < 120; ++i) {
        chain.push_back({i, i + 1, T(i % 3)});
        chain.push_back({i + 1, i, T(i % 3)});
    }
    check_paths(from_arcs<T>(120, chain), {0, 119, 60}, true);
}

TEST_FLOATS(keeping_the_smaller_of_mirrored_entries) {
    for (int n : {0, 1, 5, 64, 65, 200}) {
        const Case here("n", n);
        const std::vector<T> given = Random(uint32_t(n)).wholes<T>(n * n, 0, 99);
        std::vector<T> expected = given, one = given, three = given;
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j)
                expected[size_t(i * n + j)] =
                    std::min(given[size_t(i * n + j)], given[size_t(j * n + i)]);
        keep_smaller(one.data(), n, 1);
        keep_smaller(three.data(), n, 3);
        CHECK_SAME_BITS(one, expected);
        CHECK_SAME_BITS(three, expected);
    }
}

TEST_FLOATS(relaxing_arcs) {
    Random random(20);
    for (int trial = 0; trial < 50; ++trial) {
        const int n = 6, n_arcs = random.whole(0, 8);
        std::vector<T> lanes = random.wholes<T>(n * kLanes, 0, 9);
        for (T& v : lanes)
            if (random.whole(0, 4) == 0) v = kInf<T>;
        const int32_t u = random.whole(0, n - 1);
        std::vector<int32_t> targets, expected_ids;
        std::vector<T> expected_lengths, naive = lanes;
        const std::vector<T> weights = random.wholes<T>(n_arcs, 0, 5);
        for (int e = 0; e < n_arcs; ++e) {
            targets.push_back(random.whole(0, n - 1));
            T greatest = -1;
            for (int l = 0; l < kLanes; ++l) {
                const T through = lanes[size_t(u * kLanes + l)] + weights[size_t(e)];
                T& to = naive[size_t(targets.back() * kLanes + l)];
                if (through < to) {
                    to = through;
                    greatest = std::max(greatest, through);
                }
            }
            if (greatest >= 0) {
                expected_ids.push_back(targets.back());
                expected_lengths.push_back(greatest);
            }
        }
        std::vector<int32_t> shortened(static_cast<size_t>(n_arcs));
        std::vector<T> farthest(static_cast<size_t>(n_arcs));
        const int count = kernels<T>().relax(lanes.data(), u, targets.data(), weights.data(),
                                             n_arcs, shortened.data(), farthest.data());
        shortened.resize(size_t(count));
        farthest.resize(size_t(count));
        CHECK_EQUAL(lanes, naive);
        CHECK_EQUAL(shortened, expected_ids);
        CHECK_EQUAL(farthest, expected_lengths);
    }
}

TEST_FLOATS(all_pairs_of_a_dense_matrix) {
    for (int n : {0, 1, 2, 40, 300}) {  // 300: more rows than a chunk holds
        const Csr<T> csr =
            n == 0 ? from_arcs<T>(0, {}) : random_graph<T>(n, 3 * n / 2, Lengths::kWhole, true, 30);
        std::vector<T> naive = dense_lengths(view(csr));
        std::vector<T> one = naive, three = naive;
        naive_floyd_warshall(naive, n);
        floyd_warshall(one.data(), n, 1);
        floyd_warshall(three.data(), n, 3);
        CHECK_EQUAL(one, naive);
        CHECK_SAME_BITS(one, three);
    }
}

}  // namespace
