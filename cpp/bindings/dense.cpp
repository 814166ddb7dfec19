// Products of dense matrices, eigenvectors of small ones, orthonormal bases, sparse factors.
#include "lowdim/dense.hpp"

#include "checks.hpp"
#include "lowdim/factor.hpp"

namespace lowdim {
namespace {

template <class T>
using Strides = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;

template <class T>
Strided<T> strided(const Strides<T>& array) {
    return {array.data(), array.stride(0), array.stride(1)};
}

template <class T, class C>
void bind_product(nb::module_& m) {
    m.def(
        "dense_product",
        [](Strides<T> a, Strides<T> b, bool symmetric, Out2<C> out, int n_threads) {
            expect(a.shape(1) == b.shape(1) && has_shape(out, a.shape(0), b.shape(0)),
                   "a must be (n, depth), b (m, depth) and out (n, m)");
            expect(!symmetric || (a.data() == b.data() && same_shape(a, b)),
                   "a symmetric product needs b = a");
            const Released released;
            dense_product<T, C>(strided(a), int64_t(a.shape(0)), strided(b), int64_t(b.shape(0)),
                                int64_t(a.shape(1)), symmetric, n_threads, out.data());
        },
        "a"_array, "b"_array, "symmetric"_a, "out"_array, "n_threads"_a);
}

template <class T>
void bind(nb::module_& m) {
    m.def(
        "orthonormal_columns",
        [](In2<T> v, Out2<T> q, Out2<double> r) {
            expect(v.shape(1) <= v.shape(0) && same_shape(v, q) &&
                       has_shape(r, v.shape(1), v.shape(1)),
                   "v and q must be (n, p), p at most n, and r (p, p)");
            const Released released;
            orthonormal_columns<T>(v.data(), int64_t(v.shape(0)), int64_t(v.shape(1)), q.data(),
                                   r.data());
        },
        "v"_array, "q"_array, "r"_array);
}

}  // namespace

void bind_dense(nb::module_& m) {
    bind_product<float, float>(m);
    bind_product<float, double>(m);
    bind_product<double, double>(m);
    bind<float>(m);
    bind<double>(m);
    m.def(
        "symmetric_eigen",
        [](In3<double> a, Out2<double> values, Out3<double> vectors) {
            const size_t count = a.shape(0), n = a.shape(1);
            expect(
                has_shape(a, count, n, n) && has_shape(values, count, n) && same_shape(a, vectors),
                "a and vectors must be (count, n, n), and values (count, n)");
            const Released released;
            bool converged = true;
            for (size_t k = 0; k < count; ++k)
                converged = symmetric_eigen(a.data() + k * n * n, int64_t(n), values.data() + k * n,
                                            vectors.data() + k * n * n) &&
                            converged;
            return converged;
        },
        "a"_array, "values"_array, "vectors"_array);
    m.def(
        "cholesky",
        [](nb::ndarray<double, nb::ndim<2>, nb::device::cpu> a) {
            expect(a.shape(0) == a.shape(1) && a.stride(1) == 1, "a must be square, by rows");
            const Released released;
            return cholesky(a.data(), int64_t(a.shape(0)), a.stride(0));
        },
        "a"_array);
    m.def(
        "solve_triangle",
        [](Strides<double> l, bool transposed, In2<double> b, Out2<double> x) {
            expect(l.shape(0) == l.shape(1) && l.stride(1) == 1, "l must be square, by rows");
            expect(b.shape(1) == l.shape(0) && same_shape(b, x), "b and x must be (width, n)");
            const Released released;
            solve_triangle(l.data(), int64_t(l.shape(0)), l.stride(0), transposed, b.data(),
                           int64_t(b.shape(0)), x.data());
        },
        "l"_array, "transposed"_a, "b"_array, "x"_array);
    m.def(
        "small_singular",
        [](In2<double> a, Out2<double> left, Out1<double> values, Out2<double> right) {
            const size_t n = a.shape(0);
            expect(has_shape(a, n, n) && same_shape(a, left) && same_shape(a, right) &&
                       has_shape(values, n),
                   "a, left and right must be (n, n), and values (n)");
            small_singular(a.data(), int64_t(n), left.data(), values.data(), right.data());
        },
        "a"_array, "left"_array, "values"_array, "right"_array);
    m.def(
        "dot",
        [](In1<double> a, In1<double> b) {
            expect(same_shape(a, b), "a and b must have the same length");
            return kernels<double>().dot(a.data(), b.data(), a.shape(0));
        },
        "a"_array, "b"_array);
    nb::class_<SparseFactor>(m, "SparseFactor")
        .def(
            "__init__",
            [](SparseFactor* self, In1<int64_t> indptr, In1<int32_t> indices, In1<double> data) {
                const auto graph = checked_graph(indptr, indices, data);
                const Released released;
                new (self) SparseFactor(graph.n, indptr.data(), indices.data(), data.data());
            },
            "indptr"_array, "indices"_array, "data"_array)
        .def_prop_ro("positive", &SparseFactor::positive)
        .def(
            "solve",
            [](const SparseFactor& self, In2<double> v, Out2<double> x) {
                expect(int64_t(v.shape(0)) == self.n() && same_shape(v, x),
                       "v and x must be (n, width)");
                const Released released;
                self.solve(v.data(), int64_t(v.shape(1)), x.data());
            },
            "v"_array, "x"_array);
}

}  // namespace lowdim
