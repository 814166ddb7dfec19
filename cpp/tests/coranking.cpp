#include "lowdim/coranking.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "testing.hpp"

using namespace lowdim;
using namespace testing;

namespace {

template <class T>
std::vector<int32_t> naive_ranks(const T* distances, int n, int own) {
    std::vector<int32_t> order, ranks(static_cast<size_t>(n), 0);
    for (int j = 0; j < n; ++j)
        if (j != own) order.push_back(j);
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return distances[a] < distances[b]; });
    for (size_t i = 0; i < order.size(); ++i) ranks[size_t(order[i])] = int32_t(i) + 1;
    return ranks;
}

template <class T>
void check_compare_orders(int n, int kinds, std::vector<int32_t> grid) {
    const Case here("n", n, "kinds", kinds);
    Random random(uint32_t(n * 31 + kinds));
    const int rows = 5, k = std::min(n - 1, 4), size = int(grid.size());
    std::vector<T> a, b;
    if (kinds > 0) {
        a = random.wholes<T>(rows * n, 0, kinds), b = random.wholes<T>(rows * n, 0, kinds);
    } else {
        a = random.reals<T>(rows * n), b = random.reals<T>(rows * n);
        for (T& v : a) v = std::exp(30 * v);  // many octaves
        for (T& v : b) v = 1000 + v;          // hardly one
    }
    std::vector<int32_t> own = random.wholes<int32_t>(rows, 0, n - 1);
    struct Out {
        std::vector<int32_t> ids[4], shared;
    };
    auto compute = [&](int n_threads) {
        Out out;
        for (auto& ids : out.ids) ids.assign(size_t(rows * k), -1);
        out.shared.assign(size_t(rows * size), -1);
        const Compared into{
            k,    out.ids[0].data(), out.ids[1].data(), out.ids[2].data(), out.ids[3].data(),
            size, grid.data(),       out.shared.data()};
        compare_orders<T>(a.data(), b.data(), rows, n, own.data(), into, n_threads);
        return out;
    };
    const Out one = compute(1), three = compute(3);
    for (int r = 0; r < rows; ++r) {
        const auto first = naive_ranks(&a[size_t(r * n)], n, own[size_t(r)]);
        const auto second = naive_ranks(&b[size_t(r * n)], n, own[size_t(r)]);
        for (int i = 0; i < k; ++i) {
            const size_t at = size_t(r * k + i);
            CHECK_EQUAL(first[size_t(one.ids[0][at])], i + 1);
            CHECK_EQUAL(second[size_t(one.ids[0][at])], one.ids[1][at]);
            CHECK_EQUAL(second[size_t(one.ids[2][at])], i + 1);
            CHECK_EQUAL(first[size_t(one.ids[2][at])], one.ids[3][at]);
        }
        for (int g = 0; g < size; ++g) {
            int32_t count = 0;
            for (int j = 0; j < n; ++j)
                if (j != own[size_t(r)])
                    count += std::max(first[size_t(j)], second[size_t(j)]) <= grid[size_t(g)];
            CHECK_EQUAL(count, one.shared[size_t(r * size + g)]);
        }
    }
    CHECK_SAME_BITS(one.shared, three.shared);
    for (int i = 0; i < 4; ++i) CHECK_SAME_BITS(one.ids[i], three.ids[i]);
}

TEST_FLOATS(orders_are_compared_by_rank) {
    for (int n : {2, 3, 40, 700, 5000})
        for (int kinds : {0, 1, 30}) {
            std::vector<int32_t> all;
            for (int K = 1; K < n; ++K) all.push_back(K);
            if (n <= 700) check_compare_orders<T>(n, kinds, all);
            check_compare_orders<T>(n, kinds, {1, 2, 5, 17, 60, 400, 2000});
            check_compare_orders<T>(n, kinds, {});
        }
}

TEST_FLOATS(squared_distances_of_whole_numbers_are_exact) {
    Random random(5);
    for (int dim : {1, 2, 31, 32, 33, 100})
        for (int n : {1, 63, 64, 2100}) {
            const auto queries = random.wholes<T>(3 * dim, -9, 9);
            const auto points = random.wholes<T>(n * dim, -9, 9);
            std::vector<T> one(size_t(3 * n)), three(size_t(3 * n)), naive(size_t(3 * n), 0);
            for (int q = 0; q < 3; ++q)
                for (int j = 0; j < n; ++j)
                    for (int c = 0; c < dim; ++c) {
                        const T d = queries[size_t(q * dim + c)] - points[size_t(j * dim + c)];
                        naive[size_t(q * n + j)] += d * d;
                    }
            squared_distances<T>(queries.data(), 3, points.data(), n, dim, 1, one.data());
            squared_distances<T>(queries.data(), 3, points.data(), n, dim, 3, three.data());
            CHECK_SAME_BITS(one, naive);
            CHECK_SAME_BITS(one, three);
        }
}

}  // namespace
