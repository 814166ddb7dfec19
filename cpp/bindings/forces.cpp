// Attraction along edges, and repulsion between all points, exactly or by a tree.
#include "lowdim/forces.hpp"

#include <nanobind/stl/string.h>

#include <string>

#include "checks.hpp"
#include "lowdim/tree.hpp"

namespace lowdim {
namespace {

Similarity similarity_of(const std::string& name, double dof) {
    expect(dof > 0, "dof must be positive");
    if (name == "gaussian") return {SimilarityKind::kGaussian, dof};
    expect(name == "student", "the similarity must be 'gaussian' or 'student'");
    return {dof == 1 ? SimilarityKind::kCauchy : SimilarityKind::kStudent, dof};
}

template <class T>
Buffer<T> copied(const In1<T>& values, int n_threads) {
    Buffer<T> out(values.shape(0));
    parallel_ranges(int64_t(out.size()), 65536, n_threads, [&](int64_t begin, int64_t end, int) {
        std::copy(values.data() + begin, values.data() + end, out.begin() + begin);
    });
    return out;
}

// The edges of a graph, checked and copied once, since a descent uses them in every iteration.
template <class T>
struct Edges {
    Csr<T> csr;

    Edges(In1<int64_t> indptr, In1<int32_t> indices, In1<T> p, int n_threads) {
        checked_graph(indptr, indices, p, n_threads);
        csr = {copied(indptr, n_threads), copied(indices, n_threads), copied(p, n_threads)};
    }
    int64_t n() const { return int64_t(csr.indptr.size()) - 1; }
};

template <class T>
void bind_edges(nb::module_& m, const char* name) {
    nb::class_<Edges<T>>(m, name)
        .def(nb::init<In1<int64_t>, In1<int32_t>, In1<T>, int>(), "indptr"_array, "indices"_array,
             "p"_array, "n_threads"_a)
        .def(
            "attraction",
            [](const Edges<T>& edges, In2<T> y, const std::string& similarity, double dof,
               bool loss, Out2<T> force, int n_threads) {
                const Similarity kernel = similarity_of(similarity, dof);
                expect(int64_t(y.shape(0)) == edges.n() && same_shape(y, force),
                       "y and force must be (n, dim)");
                const Released released;
                return attraction<T>(edges.csr.indptr.data(), edges.csr.indices.data(),
                                     edges.csr.data.data(), y.data(), edges.n(), int(y.shape(1)),
                                     kernel, loss, n_threads, force.data());
            },
            "y"_array, "similarity"_a, "dof"_a, "loss"_a, "force"_array, "n_threads"_a)
        .def(
            "renumber",
            [](Edges<T>& edges, In1<int32_t> order, int n_threads) {
                expect_permutation(order, edges.n(), "order must name every vertex once");
                const Released released;
                edges.csr = renumbered(edges.csr, order.data(), n_threads);
            },
            "order"_array, "n_threads"_a);
}

template <class T>
void bind_repulsion(nb::module_& m) {
    m.def(
        "repulsion",
        [](In2<T> y, In2<T> transposed, In1<T> mass, const std::string& similarity, double dof,
           Out2<T> force, Out1<T> z, int n_threads) {
            const size_t n_others = transposed.shape(1);
            expect(transposed.shape(0) == y.shape(1) && same_shape(y, force) &&
                       has_shape(z, y.shape(0)) &&
                       (has_shape(mass, 0) || has_shape(mass, n_others)),
                   "y and force must be (n, dim), transposed (dim, m), z of n and mass of m");
            const Similarity kernel = similarity_of(similarity, dof);
            const Released released;
            repulsion<T>(y.data(), int64_t(y.shape(0)), transposed.data(), data_or_null(mass),
                         int64_t(n_others), int(y.shape(1)), kernel, n_threads, force.data(),
                         z.data());
        },
        "y"_array, "transposed"_array, "mass"_array, "similarity"_a, "dof"_a, "force"_array,
        "z"_array, "n_threads"_a);
    m.def(
        "tree_repulsion",
        [](In2<T> y, In1<T> mass, const std::string& similarity, double dof, double angle,
           Out2<T> force, Out1<T> z, int n_threads) {
            const size_t n = y.shape(0), dim = y.shape(1);
            expect(dim >= 1 && dim <= 3, "a tree has one to three dimensions");
            expect(same_shape(y, force) && has_shape(z, n) &&
                       (has_shape(mass, 0) || has_shape(mass, n)),
                   "y and force must be (n, dim), z and mass of n");
            expect_finite(y, n_threads);
            const Similarity kernel = similarity_of(similarity, dof);
            const Released released;
            Tree<T>(y.data(), data_or_null(mass), int64_t(n), int(dim), n_threads)
                .repel(kernel, angle, n_threads, force.data(), z.data());
        },
        "y"_array, "mass"_array, "similarity"_a, "dof"_a, "angle"_a, "force"_array, "z"_array,
        "n_threads"_a);
    m.def(
        "curve_order",
        [](In2<T> y, int n_threads) {
            expect(y.shape(1) >= 1 && y.shape(1) <= 3, "the curve fills up to three dimensions");
            expect_finite(y, n_threads);
            return to_numpy(unlocked([&] {
                return curve_order<T>(y.data(), int64_t(y.shape(0)), int(y.shape(1)), n_threads)
                    .order;
            }));
        },
        "y"_array, "n_threads"_a);
}

}  // namespace

void bind_forces(nb::module_& m) {
    bind_edges<float>(m, "Edges32");
    bind_edges<double>(m, "Edges64");
    bind_repulsion<float>(m);
    bind_repulsion<double>(m);
}

}  // namespace lowdim
