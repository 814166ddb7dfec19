#include "lowdim/shared.hpp"

#include <vector>

#include "testing.hpp"

using namespace lowdim;
using namespace testing;

namespace {

TEST_FLOATS(sums_over_shared_columns) {
    const int64_t m = 9, n = 7, d = 12;
    Random random(4);
    std::vector<T> a = random.wholes<T>(int(m * d), 0, 3), b = random.wholes<T>(int(n * d), 0, 3);
    // A by rows and B by columns, without zeros.
    std::vector<int64_t> a_ptr{0}, b_ptr{0};
    std::vector<int32_t> a_ids, b_ids;
    std::vector<T> a_data, b_data;
    for (int64_t i = 0; i < m; ++i) {
        for (int64_t c = 0; c < d; ++c)
            if (const T v = a[size_t(i * d + c)]; v != 0)
                a_ids.push_back(int32_t(c)), a_data.push_back(v);
        a_ptr.push_back(int64_t(a_ids.size()));
    }
    for (int64_t c = 0; c < d; ++c) {
        for (int64_t j = 0; j < n; ++j)
            if (const T v = b[size_t(j * d + c)]; v != 0)
                b_ids.push_back(int32_t(j)), b_data.push_back(v);
        b_ptr.push_back(int64_t(b_ids.size()));
    }
    const SparseRows<T> rows{a_ptr.data(), a_ids.data(), a_data.data()};
    const SparseRows<T> columns{b_ptr.data(), b_ids.data(), b_data.data()};
    for (SharedTerm term :
         {SharedTerm::kCount, SharedTerm::kEqual, SharedTerm::kProduct, SharedTerm::kRoot,
          SharedTerm::kOverlap, SharedTerm::kOpposite, SharedTerm::kRatio}) {
        Case here("term", int(term));
        std::vector<double> found(size_t(m * n), -1), expected(size_t(m * n), 0);
        sum_shared(term, rows, m, columns, n, found.data());
        for (int64_t i = 0; i < m; ++i)
            for (int64_t j = 0; j < n; ++j)
                for (int64_t c = 0; c < d; ++c) {
                    const auto x = double(a[size_t(i * d + c)]), y = double(b[size_t(j * d + c)]);
                    if (x != 0 && y != 0) expected[size_t(i * n + j)] += shared_term(term, x, y);
                }
        CHECK(found == expected);
    }
}

}  // namespace
