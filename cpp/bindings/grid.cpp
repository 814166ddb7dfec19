// Points to the nodes of a grid and back.
#include "lowdim/grid.hpp"

#include "checks.hpp"
#include "lowdim/bounds.hpp"

namespace lowdim {
namespace {

// The grid under a field: n nodes on its one axis, or (rows, stride) of which `columns` count.
template <class T>
Grid grid_of(const Out2<T>& field, int dim, int64_t columns, const In1<double>& origin,
             double step) {
    const auto rows = int64_t(field.shape(0)), stride = int64_t(field.shape(1));
    expect((dim == 1 && stride == 1) || dim == 2, "a grid has one or two axes");
    expect(rows >= 2 * kSplineWidth && (dim == 1 || columns >= 2 * kSplineWidth),
           "the grid is too small");
    expect(columns <= stride, "columns must be at most those of the field");
    expect(has_shape(origin, dim) && step > 0, "origin must have one entry per axis");
    return {dim, rows, columns, stride, {origin.data()[0], dim > 1 ? origin.data()[1] : 0.0}, step};
}

template <class T>
void bind(nb::module_& m) {
    m.def(
        "spread",
        [](In2<T> y, In1<T> charge, In1<double> origin, double step, int64_t columns, Out2<T> field,
           int n_threads) {
            const Grid grid = grid_of<T>(field, int(y.shape(1)), columns, origin, step);
            expect(has_shape(charge, 0) || has_shape(charge, y.shape(0)),
                   "charge must have one entry per point");
            expect_finite(y, n_threads);
            const Released released;
            spread<T>(y.data(), data_or_null(charge), int64_t(y.shape(0)), grid, n_threads,
                      field.data());
        },
        "y"_array, "charge"_array, "origin"_array, "step"_a, "columns"_a, "field"_array,
        "n_threads"_a);
    m.def(
        "gather",
        [](Out2<T> field, In1<double> origin, double step, int64_t columns, In2<T> y, double offset,
           double scale, Out1<T> value, Out2<T> gradient, int n_threads) {
            const Grid grid = grid_of<T>(field, int(y.shape(1)), columns, origin, step);
            expect(has_shape(value, y.shape(0)) && same_shape(y, gradient),
                   "y and gradient must be (n, dim), value of n");
            expect_finite(y, n_threads);
            const Released released;
            gather<T>(field.data(), grid, y.data(), int64_t(y.shape(0)), T(offset), T(scale),
                      n_threads, value.data(), gradient.data());
        },
        "field"_array, "origin"_array, "step"_a, "columns"_a, "y"_array, "offset"_a, "scale"_a,
        "value"_array, "gradient"_array, "n_threads"_a);
    m.def(
        "bounds",
        [](In2<T> y, Out1<double> low, Out1<double> high, int n_threads) {
            expect(has_shape(low, y.shape(1)) && has_shape(high, y.shape(1)) && y.shape(0) > 0,
                   "low and high must have one entry per column");
            const Released released;
            bounds<T>(y.data(), int64_t(y.shape(0)), int(y.shape(1)), n_threads, low.data(),
                      high.data());
        },
        "y"_array, "low"_array, "high"_array, "n_threads"_a);
    m.def(
        "extremes",
        [](In1<T> values, Out1<double> out, int n_threads) {
            expect(values.shape(0) > 0 && has_shape(out, 2), "values must not be empty, out of 2");
            const Released released;
            extremes<T>(values.data(), int64_t(values.shape(0)), n_threads, out.data(),
                        out.data() + 1);
        },
        "values"_array, "out"_array, "n_threads"_a);
}

}  // namespace

void bind_grid(nb::module_& m) {
    bind<float>(m);
    bind<double>(m);
}

}  // namespace lowdim
