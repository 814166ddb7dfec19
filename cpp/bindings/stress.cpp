// Raw stress, of all pairs, of listed pairs and of new points.
#include "lowdim/stress.hpp"

#include "checks.hpp"

namespace lowdim {
namespace {

void check_pairs(const In1<int32_t>& first, const In1<int32_t>& second, int64_t n) {
    expect(same_shape(first, second), "first and second must have one entry per pair");
    expect_range(first, 0, n, "first and second must lie in [0, n)");
    expect_range(second, 0, n, "first and second must lie in [0, n)");
}

template <class T>
void bind_gradients(nb::module_& m) {
    m.def(
        "stress_gradient",
        [](In2<T> dissimilarities, In2<T> x, Out2<T> gradient, int n_threads) {
            const auto n = int64_t(x.shape(0));
            expect(has_shape(dissimilarities, n, n) && same_shape(x, gradient),
                   "dissimilarities must be (n, n), x and gradient (n, dim)");
            const Released released;
            return stress_gradient<T>(dissimilarities.data(), x.data(), n, int(x.shape(1)),
                                      n_threads, gradient.data());
        },
        "dissimilarities"_array, "x"_array, "gradient"_array, "n_threads"_a);
    m.def(
        "pair_distances",
        [](In1<int32_t> first, In1<int32_t> second, In2<T> x, Out1<T> distances, int n_threads) {
            check_pairs(first, second, int64_t(x.shape(0)));
            expect(same_shape(distances, first), "distances must have one entry per pair");
            const Released released;
            parallel_ranges(
                int64_t(first.shape(0)), 16384, n_threads, [&](int64_t begin, int64_t end, int) {
                    kernels<T>().pair_distances(first.data(), second.data(), x.data(),
                                                int(x.shape(1)), begin, end, distances.data());
                });
        },
        "first"_array, "second"_array, "x"_array, "distances"_array, "n_threads"_a);
    m.def(
        "pair_gradient",
        [](In1<int32_t> first, In1<int32_t> second, In1<T> distances, In1<T> targets,
           In1<T> weights, In2<T> x, Out2<T> gradient, int n_threads) {
            check_pairs(first, second, int64_t(x.shape(0)));
            expect(same_shape(distances, first) && same_shape(targets, first) &&
                       (has_shape(weights, 0) || same_shape(weights, first)),
                   "distances, targets and weights must have one entry per pair");
            expect(same_shape(x, gradient), "x and gradient must be (n, dim)");
            const Released released;
            return pair_gradient<T>(first.data(), second.data(), distances.data(), targets.data(),
                                    data_or_null(weights), int64_t(first.shape(0)), x.data(),
                                    int64_t(x.shape(0)), int(x.shape(1)), n_threads,
                                    gradient.data());
        },
        "first"_array, "second"_array, "distances"_array, "targets"_array, "weights"_array,
        "x"_array, "gradient"_array, "n_threads"_a);
}

template <class T>
void bind_moves(nb::module_& m) {
    m.def(
        "stress_sgd_round",
        [](In1<int32_t> order, In3<T> targets, In3<T> weights, double rate, Out2<T> x,
           int n_threads) {
            const auto tiles = int64_t(targets.shape(0)), side = int64_t(targets.shape(1));
            expect(
                has_shape(targets, tiles, side, side) &&
                    int64_t(order.shape(0)) >= 2 * side * tiles &&
                    (weights.shape(0) == 0 || same_shape(weights, targets)),
                "targets and weights must be (tiles, side, side), order of 2 side tiles objects");
            expect_distinct(order, int64_t(x.shape(0)), "order must name objects of x, each once");
            const Released released;
            return stress_sgd_round<T>(order.data(), tiles, side, targets.data(),
                                       data_or_null(weights), rate, int(x.shape(1)), n_threads,
                                       x.data());
        },
        "order"_array, "targets"_array, "weights"_array, "rate"_a, "x"_array, "n_threads"_a);
}

}  // namespace

void bind_stress(nb::module_& m) {
    bind_gradients<float>(m);
    bind_gradients<double>(m);
    bind_moves<float>(m);
    bind_moves<double>(m);
}

}  // namespace lowdim
