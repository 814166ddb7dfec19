// Divergences between the neighbourhoods of the data and of a map.
#include "lowdim/divergence.hpp"

#include <nanobind/stl/pair.h>

#include "checks.hpp"

namespace lowdim {
namespace {

template <class T>
Mixture mixture_of(const In2<T>& precisions, double trade_off) {
    const size_t scales = precisions.shape(1);
    expect(scales >= 1 && scales <= size_t(kMaxScales), "there must be one to 48 scales");
    for (size_t k = 0; k < precisions.size(); ++k) {
        const T value = precisions.data()[k];
        const T before = k % scales > 0 ? precisions.data()[k - 1] : T(0);
        expect(value >= before, "precisions must be positive and ascend");
    }
    return {int(scales), trade_off};
}

template <class T>
void bind(nb::module_& m) {
    m.def(
        "divergence_gradient",
        [](In2<T> costs, In2<double> precisions, double trade_off, In2<double> transposed,
           Out2<double> gradient, int n_threads) {
            const size_t n = gradient.shape(0), dim = gradient.shape(1);
            expect(n >= 2 && has_shape(costs, n, n - 1) && precisions.shape(0) == n &&
                       has_shape(transposed, dim, n),
                   "costs must be (n, n - 1), precisions (n, scales), transposed (dim, n) and "
                   "gradient (n, dim)");
            const Mixture mixture = mixture_of(precisions, trade_off);
            return unlocked([&] {
                double sums[2];
                divergence_gradient<T>(costs.data(), precisions.data(), transposed.data(),
                                       int64_t(n), int(dim), mixture, n_threads, gradient.data(),
                                       sums);
                return std::pair(sums[0], sums[1]);
            });
        },
        "costs"_array, "precisions"_array, "trade_off"_a, "transposed"_array, "gradient"_array,
        "n_threads"_a);
    m.def(
        "mixture_costs",
        [](In1<int64_t> indptr, In1<T> squared, In1<T> weights, In2<T> precisions, Out1<T> costs,
           int n_threads) {
            const int64_t n = check_indptr(indptr, int64_t(squared.shape(0)));
            expect(same_shape(squared, costs) && same_shape(squared, weights) &&
                       int64_t(precisions.shape(0)) == n,
                   "squared, weights and costs must have indptr[-1] entries, precisions n rows");
            const Mixture mixture = mixture_of(precisions, 1.0);
            const Released released;
            mixture_costs<T>(indptr.data(), n, squared.data(), weights.data(), precisions.data(),
                             mixture.n_scales, n_threads, costs.data());
        },
        "indptr"_array, "squared"_array, "weights"_array, "precisions"_array, "costs"_array,
        "n_threads"_a);
    m.def(
        "listed_divergence_gradient",
        [](In1<int64_t> indptr, In1<int32_t> indices, In1<T> costs, In1<T> weights,
           In2<T> precisions, double trade_off, In2<double> y, Out2<double> gradient,
           int n_threads) {
            const int64_t n = check_indptr(indptr, int64_t(indices.shape(0)));
            expect(same_shape(indices, costs) && same_shape(indices, weights) &&
                       int64_t(precisions.shape(0)) == n && int64_t(y.shape(0)) == n &&
                       same_shape(y, gradient),
                   "indices, costs and weights must have indptr[-1] entries; precisions, y and "
                   "gradient n rows");
            expect_range(indices, 0, n, "indices must be in [0, n)", n_threads);
            const Mixture mixture = mixture_of(precisions, trade_off);
            return unlocked([&] {
                double sums[2];
                listed_divergence_gradient<T>(
                    indptr.data(), indices.data(), costs.data(), weights.data(), precisions.data(),
                    y.data(), n, int(y.shape(1)), mixture, n_threads, gradient.data(), sums);
                return std::pair(sums[0], sums[1]);
            });
        },
        "indptr"_array, "indices"_array, "costs"_array, "weights"_array, "precisions"_array,
        "trade_off"_a, "y"_array, "gradient"_array, "n_threads"_a);
    m.def(
        "place_by_divergence",
        [](In2<T> costs, In2<int32_t> indices, In2<T> weights, In2<double> precisions,
           double trade_off, In2<double> transposed, In3<double> starts, Out2<double> y,
           int max_iter, double tol, int n_threads) {
            const size_t n_new = y.shape(0), dim = y.shape(1), n = transposed.shape(1);
            const bool all = indices.shape(0) == 0;
            const size_t width = all ? n : indices.shape(1);
            expect(all || (same_shape(indices, costs) && same_shape(weights, costs)),
                   "indices and weights must have the shape of costs");
            for (size_t k = 0; k < indices.size(); ++k)
                expect(indices.data()[k] >= 0 && size_t(indices.data()[k]) < n,
                       "indices must be in [0, n)");
            expect(n >= 1 && has_shape(costs, n_new, width) && precisions.shape(0) == n_new &&
                       transposed.shape(0) == dim && starts.shape(1) >= 1 &&
                       has_shape(starts, n_new, starts.shape(1), dim),
                   "costs must be (new, others), precisions (new, scales), transposed (dim, n), "
                   "starts "
                   "(new, starts, dim) and y (new, dim)");
            const Mixture mixture = mixture_of(precisions, trade_off);
            const Released released;
            place_by_divergence<T>(costs.data(), data_or_null(indices), data_or_null(weights),
                                   int64_t(width), precisions.data(), int64_t(n_new),
                                   transposed.data(), int64_t(n), int(dim), mixture, starts.data(),
                                   int64_t(starts.shape(1)), max_iter, tol, n_threads, y.data());
        },
        "costs"_array, "indices"_array, "weights"_array, "precisions"_array, "trade_off"_a,
        "transposed"_array, "starts"_array, "y"_array, "max_iter"_a, "tol"_a, "n_threads"_a);
}

}  // namespace

void bind_divergence(nb::module_& m) {
    bind<float>(m);
    bind<double>(m);
}

}  // namespace lowdim
