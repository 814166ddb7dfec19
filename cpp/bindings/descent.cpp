// Steps of descents, and the arithmetic of gradients.
#include "lowdim/descent.hpp"

#include "checks.hpp"
#include "lowdim/quasi_newton.hpp"

namespace lowdim {
namespace {

template <class T>
void bind(nb::module_& m) {
    m.def(
        "momentum_step",
        [](In2<T> gradient, Out2<T> y, Out2<T> velocity, Out2<T> gains, double rate,
           double momentum, double min_gain, double max_step, int n_threads) {
            expect(same_shape(y, gradient) && same_shape(velocity, gradient) &&
                       same_shape(gains, gradient),
                   "gradient, y, velocity and gains must be (n, dim)");
            const Released released;
            return momentum_step<T>(gradient.data(), int64_t(gradient.shape(0)),
                                    int(gradient.shape(1)), {rate, momentum, min_gain, max_step},
                                    n_threads, y.data(), velocity.data(), gains.data());
        },
        "gradient"_array, "y"_array, "velocity"_array, "gains"_array, "rate"_a, "momentum"_a,
        "min_gain"_a, "max_step"_a, "n_threads"_a);
    m.def(
        "subtract_scaled",
        [](Out2<T> first, double a, In2<T> second, double b, int n_threads) {
            expect(same_shape(first, second), "first and second must have the same shape");
            const Released released;
            subtract_scaled<T>(first.data(), a, second.data(), b, int64_t(first.size()), n_threads);
        },
        "first"_array, "a"_a, "second"_array, "b"_a, "n_threads"_a);
    m.def(
        "sum",
        [](In1<T> values, int n_threads) {
            const Released released;
            return sum_of<T>(values.data(), int64_t(values.shape(0)), n_threads);
        },
        "values"_array, "n_threads"_a);
}

}  // namespace

void bind_descent(nb::module_& m) {
    bind<float>(m);
    bind<double>(m);
    m.def(
        "quasi_newton_direction",
        [](In1<double> gradient, In2<double> steps, In2<double> changes, Out1<double> direction) {
            const size_t count = steps.shape(0), n = gradient.shape(0);
            expect(steps.shape(1) == n && same_shape(steps, changes) && has_shape(direction, n),
                   "gradient and direction must be (n,), and steps and changes (m, n)");
            const Released released;
            quasi_newton_direction(gradient.data(), steps.data(), changes.data(), int64_t(count),
                                   int64_t(n), direction.data());
        },
        "gradient"_array, "steps"_array, "changes"_array, "direction"_array);
}

}  // namespace lowdim
