// Convolution of a field on a grid.
#include "lowdim/convolution.hpp"

#include "checks.hpp"

namespace lowdim {
namespace {

template <class T>
void bind(nb::module_& m, const char* name) {
    nb::class_<Convolution<T>>(m, name)
        .def(
            "__init__",
            [](Convolution<T>* self, In2<T> transform, int64_t rows, int64_t columns,
               int n_threads) {
                expect(has_shape(transform, rows / 2 + 1, columns / 2 + 1) && rows % 2 == 0 &&
                           columns % 2 == 0,
                       "transform must be (rows / 2 + 1, columns / 2 + 1), rows and columns even");
                new (self) Convolution<T>(rows, columns, transform.data(), n_threads);
            },
            "transform"_array, "rows"_a, "columns"_a, "n_threads"_a)
        .def(
            "apply",
            [](Convolution<T>& self, Out2<T> field, int n_threads) {
                expect(2 * int64_t(field.shape(0)) <= self.rows() &&
                           2 * int64_t(field.shape(1)) <= self.columns(),
                       "the field may fill half of the padded lengths");
                const Released released;
                self.apply(field.data(), int64_t(field.shape(0)), int64_t(field.shape(1)),
                           n_threads);
            },
            "field"_array, "n_threads"_a);
}

}  // namespace

void bind_convolution(nb::module_& m) {
    m.def(
        "even_transform",
        [](Out2<double> values, int n_threads) {
            expect(values.shape(0) > 1 && values.shape(1) > 1, "values must be at least (2, 2)");
            const Released released;
            even_transform(values.data(), int64_t(values.shape(0)), int64_t(values.shape(1)),
                           n_threads);
        },
        "values"_array, "n_threads"_a);
    bind<float>(m, "Convolution32");
    bind<double>(m, "Convolution64");
}

}  // namespace lowdim
