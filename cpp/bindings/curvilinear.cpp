// Curvilinear component analysis.
#include "lowdim/curvilinear.hpp"

#include "checks.hpp"

namespace lowdim {
namespace {

template <class T>
void bind(nb::module_& m) {
    m.def(
        "curvilinear_sweep",
        [](In2<T> distances, In1<int32_t> rows, In1<int32_t> pins, Out2<double> y, double unit,
           double alpha, double reach, bool step, int n_threads) {
            const auto n = int64_t(y.shape(1));
            expect(int64_t(distances.shape(1)) == n && same_shape(rows, pins),
                   "distances must be (rows, n), y (dim, n), and each pin needs a row");
            constexpr auto* message = "pins must lie in [0, n) and rows in [0, rows of distances)";
            expect_range(pins, 0, n, message);
            expect_range(rows, 0, int64_t(distances.shape(0)), message);
            const Pins<T> all{int64_t(pins.shape(0)), pins.data(), rows.data(), distances.data()};
            const Released released;
            return curvilinear_sweep<T>(all, {unit, alpha, reach, step}, y.data(), n,
                                        int(y.shape(0)), n_threads);
        },
        "distances"_array, "rows"_array, "pins"_array, "y"_array, "unit"_a, "alpha"_a, "reach"_a,
        "step"_a, "n_threads"_a);
}

}  // namespace

void bind_curvilinear(nb::module_& m) {
    bind<float>(m);
    bind<double>(m);
}

}  // namespace lowdim
