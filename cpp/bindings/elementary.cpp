// Exponentials, logarithms, powers, cosines and normal random numbers of arrays.
#include "lowdim/elementary.hpp"

#include "checks.hpp"

namespace lowdim {
namespace {

template <class T, class Function>
void map_entries(In1<T> x, Out1<T> out, int n_threads, const Function& function) {
    expect(same_shape(x, out), "x and out must have the same length");
    const Released released;
    parallel_ranges(int64_t(x.shape(0)), 16384, n_threads, [&](int64_t begin, int64_t end, int) {
        for (int64_t k = begin; k < end; ++k) out.data()[k] = T(function(double(x.data()[k])));
    });
}

// The point of the circle after so many turns, a finite number.
RootOfUnity turn(double turns) {
    constexpr int64_t kParts = int64_t(1) << 53;
    const double part = (turns - std::floor(turns)) * double(kParts);
    return {part >= 0 && part < double(kParts) ? int64_t(part) : 0, kParts};
}

template <class T>
void bind(nb::module_& m) {
    m.def(
        "exp",
        [](In1<T> x, Out1<T> out, int n_threads) { map_entries(x, out, n_threads, exact_exp); },
        "x"_array, "out"_array, "n_threads"_a);
    m.def(
        "log",
        [](In1<T> x, Out1<T> out, int n_threads) { map_entries(x, out, n_threads, exact_log); },
        "x"_array, "out"_array, "n_threads"_a);
    m.def(
        "power",
        [](In1<T> x, double exponent, Out1<T> out, int n_threads) {
            map_entries(x, out, n_threads, [=](double v) { return exact_power(v, exponent); });
        },
        "x"_array, "exponent"_a, "out"_array, "n_threads"_a);
}

}  // namespace

void bind_elementary(nb::module_& m) {
    bind<float>(m);
    bind<double>(m);
    m.def(
        "cosine_of_turns",
        [](In1<double> turns, Out1<double> out, int n_threads) {
            map_entries(turns, out, n_threads, [](double t) { return turn(t).cos; });
        },
        "turns"_array, "out"_array, "n_threads"_a);
    m.def(
        "normal_numbers",  // from two uniform random numbers each, by Box and Muller (1958)
        [](In1<double> radii, In1<double> angles, Out1<double> out) {
            expect(same_shape(radii, out) && same_shape(angles, out), "lengths must agree");
            for (size_t k = 0; k < out.shape(0); ++k) {
                const double u = radii.data()[k], v = angles.data()[k];
                expect(u >= 0 && u < 1 && v >= 0 && v < 1, "numbers must lie in [0, 1)");
                out.data()[k] = std::sqrt(-2 * exact_log(1 - u)) * turn(v).cos;
            }
        },
        "radii"_array, "angles"_array, "out"_array);
}

}  // namespace lowdim
