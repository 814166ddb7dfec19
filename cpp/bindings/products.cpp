// Products of a matrix with a few columns, and of matrices of a few columns.
#include "checks.hpp"
#include "lowdim/columns.hpp"
#include "lowdim/kernels.hpp"
#include "lowdim/parallel.hpp"

namespace lowdim {
namespace {

template <class T>
void bind(nb::module_& m) {
    m.def(
        "spmm",
        [](In1<int64_t> indptr, In1<int32_t> indices, In1<T> data, In2<T> x, double scale,
           double shift, In2<T> before, Out2<T> y, int n_threads) {
            const int64_t n = check_csr(indptr, indices, data, int64_t(x.shape(0)), n_threads);
            expect(has_shape(y, n, x.shape(1)), "x and y must match");
            const AffineStep<T> step{T(scale), T(shift), data_or_null(before),
                                     scale == 1 && shift == 0 && before.shape(0) == 0};
            expect(step.plain || int64_t(x.shape(0)) == n,
                   "with a scale or shift A must be square");
            expect(step.before == nullptr || same_shape(before, y), "before and y must match");
            const Released released;
            parallel_ranges(n, 512, n_threads, [&](int64_t begin, int64_t end, int) {
                kernels<T>().spmm(indptr.data(), indices.data(), data.data(), x.data(), step,
                                  y.data(), begin, end, int(x.shape(1)));
            });
        },
        "indptr"_array, "indices"_array, "data"_array, "x"_array, "scale"_a, "shift"_a,
        "before"_array, "y"_array, "n_threads"_a);
    m.def(
        "narrow_matmul",
        [](In2<T> a, In2<T> x, Out2<T> y, bool squared, int n_threads) {
            expect(a.shape(1) == x.shape(1) && has_shape(y, a.shape(0), x.shape(0)),
                   "a must be (n, m), x (width, m) and y (n, width)");
            const auto kernel = squared ? kernels<T>().squared_matmul : kernels<T>().matmul;
            const Released released;
            parallel_ranges(int64_t(a.shape(0)), 64, n_threads,
                            [&](int64_t begin, int64_t end, int) {
                                kernel(a.data(), int64_t(a.shape(1)), x.data(), y.data(), begin,
                                       end, int(x.shape(0)));
                            });
        },
        "a"_array, "x"_array, "y"_array, "squared"_a, "n_threads"_a);
    m.def(
        "gram",
        [](In2<T> v, In2<T> w, Out2<double> out, int n_threads) {
            expect(v.shape(0) == w.shape(0) && has_shape(out, v.shape(1), w.shape(1)),
                   "v must be (n, p), w (n, q) and out (p, q)");
            const Released released;
            gram<T>(v.data(), int64_t(v.shape(1)), w.data(), int64_t(w.shape(1)),
                    int64_t(v.shape(0)), n_threads, out.data());
        },
        "v"_array, "w"_array, "out"_array, "n_threads"_a);
    m.def(
        "times",
        [](In2<T> v, In2<T> s, Out2<T> out, int n_threads) {
            expect(v.shape(1) == s.shape(0) && has_shape(out, v.shape(0), s.shape(1)),
                   "v must be (n, p), s (p, q) and out (n, q)");
            const Released released;
            times<T>(v.data(), int64_t(v.shape(0)), int64_t(v.shape(1)), s.data(),
                     int64_t(s.shape(1)), n_threads, out.data());
        },
        "v"_array, "s"_array, "out"_array, "n_threads"_a);
}

}  // namespace

void bind_products(nb::module_& m) {
    bind<float>(m);
    bind<double>(m);
}

}  // namespace lowdim
