// Isotonic regression.
#include "lowdim/isotonic.hpp"

#include "checks.hpp"

namespace lowdim {
namespace {

template <class T>
void bind(nb::module_& m) {
    m.def(
        "isotonic",
        [](In1<T> values, In1<T> weights, In1<int64_t> starts, bool primary, Out1<T> out,
           int n_threads) {
            const auto n = int64_t(values.shape(0));
            expect(same_shape(out, values) && (has_shape(weights, 0) || has_shape(weights, n)),
                   "weights and out must have one entry per value");
            const auto n_ties = int64_t(starts.shape(0)) - 1;  // -1: ties are not given
            if (n_ties >= 0) {
                expect(starts.data()[0] == 0 && starts.data()[n_ties] == n,
                       "starts must go from 0 to the number of values");
                expect(std::is_sorted(starts.data(), starts.data() + n_ties + 1),
                       "starts must not decrease");
            }
            const Released released;
            if (n_ties < 0)
                isotonic<T>(values.data(), data_or_null(weights), n, n_threads, out.data());
            else
                isotonic_with_ties<T>(values.data(), data_or_null(weights), n, starts.data(),
                                      n_ties, primary, n_threads, out.data());
        },
        "values"_array, "weights"_array, "starts"_array, "primary"_a, "out"_array, "n_threads"_a);
}

}  // namespace

void bind_isotonic(nb::module_& m) {
    bind<float>(m);
    bind<double>(m);
}

}  // namespace lowdim
