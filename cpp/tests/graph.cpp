#include "lowdim/graph.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "graphs.hpp"
#include "testing.hpp"

using namespace lowdim;
using namespace testing;

namespace {

// The transpose by its definition, for graphs with more rows than a chunk and more columns than a
// bucket; arcs that occur twice stay in order.
TEST_FLOATS(transpose_of_large_graphs) {
    for (int n : {255, 256, 257, 1500}) {
        const Case here("n", n);
        const Csr<T> csr = random_graph<T>(n, 6 * n, Lengths::kReal, true, uint32_t(n));
        std::vector<std::vector<std::pair<int32_t, T>>> wanted(static_cast<size_t>(n));
        for (int32_t i = 0; i < n; ++i)
            for (int64_t e = csr.indptr[size_t(i)]; e < csr.indptr[size_t(i) + 1]; ++e)
                wanted[size_t(csr.indices[size_t(e)])].emplace_back(i, csr.data[size_t(e)]);
        for (int n_threads : {1, 3}) {
            const Csr<T> found = transpose<T>(n, csr.indptr.data(), csr.indices.data(),
                                              csr.data.data(), 0, n, n_threads);
            CHECK_EQUAL(found.indptr[size_t(n)], csr.indptr[size_t(n)]);
            size_t place = 0;
            for (size_t j = 0; j < size_t(n); ++j) {
                CHECK_EQUAL(found.indptr[j], int64_t(place));
                for (const auto& [i, value] : wanted[j]) {
                    CHECK_EQUAL(found.indices[place], i);
                    CHECK_EQUAL(found.data[place], value);
                    ++place;
                }
            }
        }
    }
}

TEST_FLOATS(transpose_and_symmetrize) {
    for (int n : {0, 1, 2, 30}) {
        Random random(uint32_t(n) + 5);
        std::vector<Arc<T>> arcs;
        const size_t cells = size_t(n) * size_t(n);
        std::vector<char> known(cells, 0);
        std::vector<T> value(cells, T(0));
        for (int trial = 0; trial < 5 * n; ++trial) {  // no arc twice, loops and zeros among them
            const int i = random.whole(0, n - 1), j = random.whole(0, n - 1);
            if (known[size_t(i * n + j)]) continue;
            known[size_t(i * n + j)] = 1;
            value[size_t(i * n + j)] = T(random.whole(0, 3));
            arcs.push_back({i, j, value[size_t(i * n + j)]});
        }
        const Csr<T> csr = from_arcs(n, arcs);
        const Csr<T> flipped =
            transpose<T>(n, csr.indptr.data(), csr.indices.data(), csr.data.data(), 0, n, 3);
        CHECK_EQUAL(flipped.indices.size(), arcs.size());
        for (int i = 0; i < n; ++i) {
            size_t place = size_t(flipped.indptr[size_t(i)]);
            for (int j = 0; j < n; ++j)
                if (known[size_t(j * n + i)]) {
                    CHECK_EQUAL(flipped.indices[place], j);
                    CHECK_EQUAL(flipped.data[place], value[size_t(j * n + i)]);
                    ++place;
                }
            CHECK_EQUAL(place, size_t(flipped.indptr[size_t(i) + 1]));
        }

        for (Symmetry how :
             {Symmetry::kUnion, Symmetry::kMutual, Symmetry::kMean, Symmetry::kHalfSum}) {
            const Csr<T> out =
                symmetrize<T>(n, csr.indptr.data(), csr.indices.data(), csr.data.data(), how, 2);
            Csr<T> naive;
            naive.indptr.push_back(0);
            for (int i = 0; i < n; ++i) {
                for (int j = 0; j < n; ++j) {
                    const bool there = known[size_t(i * n + j)], back = known[size_t(j * n + i)];
                    if (how == Symmetry::kMutual ? !(there && back) : !(there || back)) continue;
                    const T a = value[size_t(i * n + j)], b = value[size_t(j * n + i)];
                    const T one = there ? a : b;
                    T result = one;
                    if (there && back)
                        result = how == Symmetry::kUnion || how == Symmetry::kMutual
                                     ? std::min(a, b)
                                     : (a + b) / 2;
                    else if (how == Symmetry::kHalfSum)
                        result = one / 2;
                    naive.indices.push_back(j);
                    naive.data.push_back(result);
                }
                naive.indptr.push_back(int64_t(naive.indices.size()));
            }
            CHECK_EQUAL(out.indptr, naive.indptr);
            CHECK_EQUAL(out.indices, naive.indices);
            CHECK_SAME_BITS(out.data, naive.data);
        }
    }
    Csr<T> ring;  // more rows than a chunk holds
    const int32_t n = 9000;
    Random random(6);
    for (int32_t i = 0; i < n; ++i) {
        ring.indptr.push_back(2 * i);
        ring.indices.insert(ring.indices.end(), {(i + 17) % n, (i + 1) % n});
        ring.data.insert(ring.data.end(), {T(random.real()), T(random.real())});
    }
    ring.indptr.push_back(2 * n);
    const Graph<T> g = view(ring);
    const Csr<T> one = symmetrize<T>(n, g.indptr, g.indices, g.weights, Symmetry::kMean, 1);
    const Csr<T> three = symmetrize<T>(n, g.indptr, g.indices, g.weights, Symmetry::kMean, 3);
    CHECK_EQUAL(one.indices.size(), size_t(4 * n));
    CHECK_EQUAL(one.indptr, three.indptr);
    CHECK_EQUAL(one.indices, three.indices);
    CHECK_SAME_BITS(one.data, three.data);
}

// Combined some rows at a time, a graph has the same bits.
TEST_FLOATS(combination_in_slabs) {
    for (int n : {1, 7, 700}) {
        const Case here("n", n);
        const Csr<T> csr = random_graph<T>(n, 40 * n, Lengths::kReal, true, uint32_t(n));
        const auto sum = [](const T* a, const T* b, T& out) {
            out = (a ? *a : T(0)) + 2 * (b ? *b : T(0));
            return out > T(0.1);
        };
        const auto combined = [&](int n_threads, int64_t slab_arcs) {
            return combine_with_transpose<T>(n, csr.indptr.data(), csr.indices.data(),
                                             csr.data.data(), n_threads, sum, slab_arcs);
        };
        const Csr<T> whole = combined(1, 1 << 30);
        for (int64_t slab_arcs : {1, 100, 9000})
            for (int n_threads : {1, 3}) {
                const Csr<T> found = combined(n_threads, slab_arcs);
                CHECK_EQUAL(found.indptr, whole.indptr);
                CHECK_EQUAL(found.indices, whole.indices);
                CHECK_SAME_BITS(found.data, whole.data);
            }
    }
}

TEST(components_of_graphs) {
    using Labels = std::vector<int32_t>;
    const auto found = [](int64_t n, const std::vector<Arc<float>>& arcs) {
        const Csr<float> csr = from_arcs(n, arcs);
        Labels labels(static_cast<size_t>(n), -1);
        const int64_t count =
            components(n, csr.indptr.data(), csr.indices.data(), 2, labels.data());
        return std::pair(count, labels);
    };
    CHECK_EQUAL(found(0, {}).first, int64_t(0));
    CHECK_EQUAL(found(3, {}).second, (Labels{0, 1, 2}));
    CHECK_EQUAL(found(5, {{4, 1, 1}, {2, 4, 1}}).second, (Labels{0, 1, 1, 2, 1}));  // one direction
    CHECK_EQUAL(found(5, {{0, 4, 0}, {1, 3, 1}, {3, 1, 1}}).second, (Labels{0, 1, 2, 1, 0}));
    std::vector<Arc<float>> ring;  // a long path of merges, and its two halves
    for (int32_t i = 0; i < 1000; ++i) ring.push_back({999 - i, (1001 - i) % 1000, 1});
    CHECK_EQUAL(found(1000, ring).first, int64_t(2));
    ring.push_back({10, 11, 1});
    CHECK_EQUAL(found(1000, ring).first, int64_t(1));
}

using Levels = std::pair<int64_t, int64_t>;

Levels levels(int64_t n, const std::vector<std::pair<int32_t, int32_t>>& edges,
              int64_t limit = 1000) {
    std::vector<Arc<float>> arcs;
    for (auto [a, b] : edges) {
        arcs.push_back({a, b, 1});
        arcs.push_back({b, a, 1});
    }
    const Csr<float> csr = from_arcs(n, arcs);
    std::vector<int32_t> order;
    return level_structure(n, csr.indptr.data(), csr.indices.data(), limit, order);
}

TEST(level_structures) {
    std::vector<std::pair<int32_t, int32_t>> path, star, grid, complete;
    for (int32_t i = 0; i < 9; ++i) path.emplace_back(i, i + 1);
    for (int32_t i = 1; i < 10; ++i) star.emplace_back(0, i);
    for (int32_t i = 0; i < 4; ++i)
        for (int32_t j = 0; j < 7; ++j) {
            if (i < 3) grid.emplace_back(i * 7 + j, i * 7 + j + 7);
            if (j < 6) grid.emplace_back(i * 7 + j, i * 7 + j + 1);
        }
    for (int32_t i = 0; i < 6; ++i)
        for (int32_t j = 0; j < i; ++j) complete.emplace_back(i, j);
    CHECK_EQUAL(levels(0, {}), Levels(0, 0));
    CHECK_EQUAL(levels(1, {}), Levels(1, 1));
    CHECK_EQUAL(levels(10, path), Levels(10, 1));
    CHECK_EQUAL(levels(10, {{5, 4}, {4, 0}, {0, 1}, {1, 2}}), Levels(5, 1));
    CHECK_EQUAL(levels(10, star), Levels(3, 8));
    CHECK_EQUAL(levels(28, grid), Levels(10, 4));
    CHECK_EQUAL(levels(6, complete), Levels(2, 5));
    CHECK_EQUAL(levels(28, grid, 4), Levels(10, 4));
    CHECK_EQUAL(levels(28, grid, 3), Levels(4, 4));  // from a corner
    CHECK_EQUAL(levels(28, grid, 0), Levels(1, 1));  // the first sweep ends already
    CHECK_EQUAL(levels(10, star, 1), Levels(2, 9));  // from the middle, more than eight
    CHECK_EQUAL(levels(10, star, 2), Levels(3, 8));  // from a leaf
}

TEST(components_are_numbered_by_their_first_nodes) {
    const int n = 3000;
    Random random(7);
    for (int n_arcs : {0, 10, 1000, 1600, 9000}) {
        const Case here("arcs", n_arcs);
        std::vector<Arc<float>> arcs;  // each in one direction only
        for (int k = 0; k < n_arcs; ++k)
            arcs.push_back({int32_t(random.real() * n), int32_t(random.real() * n), 1});
        const Csr<float> csr = from_arcs(n, arcs);
        std::vector<int32_t> expected(n, -1);  // by repeated passes over the arcs
        int64_t count = 0;
        for (int i = 0; i < n; ++i) {
            if (expected[size_t(i)] >= 0) continue;
            expected[size_t(i)] = int32_t(count);
            for (bool changed = true; changed;) {
                changed = false;
                for (const auto& arc : arcs) {
                    int32_t &a = expected[size_t(arc.from)], &b = expected[size_t(arc.to)];
                    if ((a == count) == (b == count)) continue;
                    a = b = int32_t(count);
                    changed = true;
                }
            }
            ++count;
        }
        for (int threads : {1, 4}) {
            std::vector<int32_t> labels(n);
            CHECK_EQUAL(
                components(n, csr.indptr.data(), csr.indices.data(), threads, labels.data()),
                count);
            CHECK_EQUAL(labels, expected);
        }
    }
}

}  // namespace
