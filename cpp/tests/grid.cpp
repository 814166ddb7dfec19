#include "lowdim/grid.hpp"

#include <cmath>
#include <vector>

#include "lowdim/bounds.hpp"
#include "testing.hpp"

using namespace lowdim;
using namespace testing;

namespace {

// What is spread over the nodes sums to the charges, and a linear field is read off exactly.
template <class T>
void check_grid(int dim) {
    const Case here("dim", dim);
    Random random(uint32_t(40 + dim));
    const int n = 500;
    std::vector<T> y = random.reals<T>(n * dim), charge = random.reals<T>(n);
    const Grid grid{dim, 40, dim == 2 ? 44 : 1, dim == 2 ? 44 : 1, {-1.6, -1.7}, 0.08};
    std::vector<T> field(static_cast<size_t>(grid.rows * grid.stride)), again(field);
    spread<T>(y.data(), charge.data(), n, grid, 1, field.data());
    spread<T>(y.data(), charge.data(), n, grid, 3, again.data());
    CHECK_SAME_BITS(field, again);
    double sum = 0, wanted = 0;
    for (T v : field) sum += double(v);
    for (T v : charge) wanted += double(v);
    CHECK_CLOSE(sum, wanted, 1e-3);
    for (int64_t i = 0; i < grid.rows; ++i)
        for (int64_t k = 0; k < grid.columns; ++k)
            field[size_t(i * grid.stride + k)] = T(2 * double(i) - (dim == 2 ? double(k) : 0.0));
    std::vector<T> value(static_cast<size_t>(n)), gradient(y.size());
    gather<T>(field.data(), grid, y.data(), n, T(0), T(1), 3, value.data(), gradient.data());
    for (int i = 0; i < n; ++i) {
        const double row = (double(y[size_t(i * dim)]) + 1.6) / 0.08;
        const double column = dim == 2 ? (double(y[size_t(2 * i + 1)]) + 1.7) / 0.08 : 0.0;
        CHECK_CLOSE(double(value[size_t(i)]), (2 * row - column), 1e-2);
        CHECK_CLOSE(double(gradient[size_t(i * dim)]), 25, 1e-1);
    }
    std::vector<T> moved(value.size()), scaled(gradient.size());
    gather<T>(field.data(), grid, y.data(), n, T(3), T(-2), 1, moved.data(), scaled.data());
    for (size_t i = 0; i < value.size(); ++i) CHECK_EQUAL(moved[i], value[i] + T(3));
    for (size_t k = 0; k < gradient.size(); ++k) CHECK_EQUAL(scaled[k], -2 * gradient[k]);
    const std::vector<T> far(static_cast<size_t>(dim), T(1e30));  // held at the rim
    gather<T>(field.data(), grid, far.data(), 1, T(0), T(1), 1, value.data(), gradient.data());
    spread<T>(far.data(), nullptr, 1, grid, 1, field.data());
    CHECK(std::isfinite(double(value[0])));
}

TEST_FLOATS(points_to_nodes_and_back) {
    for (int dim : {1, 2}) check_grid<T>(dim);
}

// Both ways of spreading, against a sum point by point.
TEST_FLOATS(spreading_many_points) {
    for (int64_t rows : {40, 300}) {  // copies of a small grid, bands of a large one
        for (int dim : {1, 2}) {
            const Case here("rows", rows, "dim", dim);
            const int64_t columns = dim == 2 ? 44 : 1;
            const Grid grid{dim, rows, columns, columns, {-1.1, -1.7}, 2.4 / double(rows)};
            Random random{uint32_t(rows)};
            const int64_t n = 3 * rows * columns + 5;
            std::vector<T> y = random.reals<T>(n * dim), charge = random.reals<T>(n);
            std::vector<T> one(static_cast<size_t>(rows * columns)), three(one), each(one);
            spread<T>(y.data(), charge.data(), n, grid, 1, one.data());
            spread<T>(y.data(), charge.data(), n, grid, 3, three.data());
            for (int64_t i = 0; i < n; ++i)
                kernels<T>().spread(y.data(), charge.data(), nullptr, i, i + 1, grid, each.data());
            CHECK_SAME_BITS(one, three);
            for (size_t g = 0; g < one.size(); ++g) CHECK_CLOSE(one[g], each[g], 1e-4);
        }
    }
}

TEST_FLOATS(bounds_of_every_axis) {
    const std::vector<T> y = {3, -1, 0, 4, -5, 4};
    std::vector<double> low(2), high(2);
    bounds<T>(y.data(), 3, 2, 3, low.data(), high.data());
    CHECK_EQUAL(low, (std::vector<double>{-5, -1}));
    CHECK_EQUAL(high, (std::vector<double>{3, 4}));
    std::vector<T> many(40000, T(1));  // several chunks
    many[0] = -2;
    many[39999] = 7;
    many[20000] = 9;
    bounds<T>(many.data(), 20000, 2, 3, low.data(), high.data());
    CHECK_EQUAL(low, (std::vector<double>{-2, 1}));
    CHECK_EQUAL(high, (std::vector<double>{9, 7}));
}

}  // namespace
