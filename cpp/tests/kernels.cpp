#include "lowdim/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "graphs.hpp"
#include "testing.hpp"

using namespace lowdim;
using namespace testing;

namespace {

TEST_FLOATS(inner_products) {
    Random random(1);
    for (int n = 0; n <= 70; ++n) {
        const std::vector<T> a = random.wholes<T>(n, -9, 9), b = random.wholes<T>(n, -9, 9);
        const std::vector<T> x = random.reals<T>(n), y = random.reals<T>(n);
        int dot = 0, squares = 0;
        double real_dot = 0, real_squares = 0;
        for (size_t i = 0; i < size_t(n); ++i) {
            dot += int(a[i]) * int(b[i]);
            squares += int(a[i] - b[i]) * int(a[i] - b[i]);
            real_dot += double(x[i]) * double(y[i]);
            real_squares += std::pow(double(x[i]) - double(y[i]), 2);
        }
        CHECK_EQUAL(kernels<T>().dot(a.data(), b.data(), a.size()), T(dot));
        CHECK_EQUAL(kernels<T>().squared_distance(a.data(), b.data(), a.size()), T(squares));
        CHECK_ROUNDED(kernels<T>().dot(x.data(), y.data(), x.size()), real_dot, n);
        CHECK_ROUNDED(kernels<T>().squared_distance(x.data(), y.data(), x.size()), real_squares, n);
    }
}

template <class T>
void check_spmm(int width) {
    const Case here("width", width);
    const int n = 23;
    const Csr<T> a = random_graph<T>(n, 40, Lengths::kWhole, true, uint32_t(40 + width));
    Random random(uint32_t(width) + 20);
    const std::vector<T> x = random.wholes<T>(n * width, -5, 5);
    std::vector<T> y(size_t(n * width), T(-1)), naive(size_t(n * width), T(0));
    for (int i = 0; i < n; ++i)
        for (int64_t e = a.indptr[size_t(i)]; e < a.indptr[size_t(i) + 1]; ++e)
            for (int c = 0; c < width; ++c)
                naive[size_t(i * width + c)] +=
                    a.data[size_t(e)] * x[size_t(a.indices[size_t(e)] * width + c)];
    auto rows = [&](int begin, int end) {
        kernels<T>().spmm(a.indptr.data(), a.indices.data(), a.data.data(), x.data(), {}, y.data(),
                          begin, end, width);
    };
    rows(0, 7);
    CHECK(std::all_of(y.begin() + 7 * width, y.end(), [](T v) { return v == -1; }));
    rows(7, n);
    CHECK_EQUAL(y, naive);

    const std::vector<T> before = random.wholes<T>(n * width, -5, 5);
    for (const T* less : {before.data(), static_cast<const T*>(nullptr)}) {
        std::vector<T> expected(naive.size());
        for (size_t k = 0; k < naive.size(); ++k)
            expected[k] = T(2) * naive[k] - T(3) * x[k] - (less != nullptr ? less[k] : T(0));
        kernels<T>().spmm(a.indptr.data(), a.indices.data(), a.data.data(), x.data(),
                          {T(2), T(-3), less, false}, y.data(), 0, n, width);
        CHECK_EQUAL(y, expected);
    }
}

template <class T>
void check_narrow_matmul(int width, bool squared) {
    const Case here("width", width, "squared", squared);
    Random random(uint32_t(width) + 60);
    const auto kernel = squared ? kernels<T>().squared_matmul : kernels<T>().matmul;
    for (int n_cols : {0, 1, 19, 75, 1100}) {  // 1100: more columns than a block holds
        const int n = 11;
        const std::vector<T> a = random.wholes<T>(n * n_cols, 0, 6);
        const std::vector<T> x = random.wholes<T>(width * n_cols, -5, 5);  // x[c * n_cols + j]
        std::vector<T> y(size_t(n * width), T(-1)), naive(size_t(n * width), T(0));
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n_cols; ++j)
                for (int c = 0; c < width; ++c) {
                    const T v = a[size_t(i * n_cols + j)];
                    naive[size_t(i * width + c)] +=
                        (squared ? v * v : v) * x[size_t(c * n_cols + j)];
                }
        kernel(a.data(), n_cols, x.data(), y.data(), 0, 5, width);
        CHECK(std::all_of(y.begin() + 5 * width, y.end(), [](T v) { return v == -1; }));
        kernel(a.data(), n_cols, x.data(), y.data(), 5, n, width);
        CHECK_EQUAL(y, naive);
    }
}

TEST_FLOATS(products_with_a_few_columns) {
    for (int width = 1; width <= 17; ++width) {
        check_spmm<T>(width);
        check_narrow_matmul<T>(width, false);
        check_narrow_matmul<T>(width, true);
    }
}

}  // namespace
