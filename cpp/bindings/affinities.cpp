// Gaussian affinities of a given perplexity.
#include "lowdim/affinities.hpp"

#include "checks.hpp"

namespace lowdim {
namespace {

template <class T>
void bind(nb::module_& m) {
    m.def(
        "perplexity_affinities",
        [](In1<int64_t> indptr, In1<T> squared, In1<T> weights, double perplexity, Out1<T> p,
           Out1<double> beta, int n_threads) {
            const int64_t n = check_indptr(indptr, int64_t(squared.shape(0)));
            expect(same_shape(squared, p) && has_shape(beta, n) &&
                       (weights.shape(0) == 0 || same_shape(weights, p)),
                   "squared, p and weights must have indptr[-1] entries, beta one per row");
            const Released released;
            perplexity_affinities<T>(indptr.data(), n, squared.data(), data_or_null(weights),
                                     perplexity, n_threads, p.data(), beta.data());
        },
        "indptr"_array, "squared"_array, "weights"_array, "perplexity"_a, "p"_array, "beta"_array,
        "n_threads"_a);
}

}  // namespace

void bind_affinities(nb::module_& m) {
    bind<float>(m);
    bind<double>(m);
}

}  // namespace lowdim
