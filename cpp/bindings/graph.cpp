// Undirected graphs from directed ones, connected components, and the breadth of a graph.
#include "lowdim/graph.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <string>

#include "checks.hpp"

namespace lowdim {
namespace {

Symmetry symmetry_of(const std::string& how) {
    if (how == "union") return Symmetry::kUnion;
    if (how == "mutual") return Symmetry::kMutual;
    if (how == "mean") return Symmetry::kMean;
    expect(how == "half-sum", "how must be union, mutual, mean or half-sum");
    return Symmetry::kHalfSum;
}

template <class T>
void bind_symmetrize(nb::module_& m) {
    m.def(
        "symmetrize",
        [](In1<int64_t> indptr, In1<int32_t> indices, In1<T> data, const std::string& how,
           int n_threads) {
            const Graph<T> g = checked_graph<T>(indptr, indices, data, n_threads);
            const Symmetry symmetry = symmetry_of(how);
            return to_numpy(unlocked([&] {
                return symmetrize<T>(g.n, g.indptr, g.indices, g.weights, symmetry, n_threads);
            }));
        },
        "indptr"_array, "indices"_array, "data"_array, "how"_a, "n_threads"_a);
}

}  // namespace

void bind_graph(nb::module_& m) {
    bind_symmetrize<float>(m);
    bind_symmetrize<double>(m);
    m.def(
        "level_structure",
        [](In1<int64_t> indptr, In1<int32_t> indices, int64_t limit, int n_threads) {
            const int64_t n =
                check_structure(indptr, indices, int64_t(indptr.shape(0)) - 1, n_threads);
            const Released released;
            std::vector<int32_t> order;
            return level_structure(n, indptr.data(), indices.data(), limit, order);
        },
        "indptr"_array, "indices"_array, "limit"_a, "n_threads"_a);
    m.def(
        "components",
        [](In1<int64_t> indptr, In1<int32_t> indices, Out1<int32_t> labels, int n_threads) {
            const int64_t n =
                check_structure(indptr, indices, int64_t(indptr.shape(0)) - 1, n_threads);
            expect(has_shape(labels, n), "labels must have one entry per node");
            const Released released;
            return components(n, indptr.data(), indices.data(), n_threads, labels.data());
        },
        "indptr"_array, "indices"_array, "labels"_array, "n_threads"_a);
}

}  // namespace lowdim
