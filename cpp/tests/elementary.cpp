#include "lowdim/elementary.hpp"

#include <cmath>

#include "testing.hpp"

using namespace lowdim;
using namespace testing;

namespace {

// The library's functions are right to a unit in the last place or two, which is all that is asked
// here; the bits are those of this code alone.
constexpr double kLast = 2.3e-16;

TEST(exponentials) {
    Random random(1);
    for (const double u : random.reals<double>(2000)) {
        for (const double scale : {1e-3, 1.0, 40.0, 700.0}) {
            const double x = u * scale;
            CHECK_CLOSE(exact_exp(x) / std::exp(x), 1.0, 2 * kLast);
        }
    }
    CHECK(exact_exp(0.0) == 1);
    CHECK(exact_exp(-1e9) == 0);
    CHECK(std::isinf(exact_exp(1e9)));
    CHECK(std::isnan(exact_exp(std::nan(""))));
    CHECK(exact_exp(-740.0) > 0);  // below the normal numbers
}

TEST(logarithms) {
    Random random(2);
    for (const double u : random.reals<double>(2000)) {
        for (const double scale : {1.0, 1e300, 1e-300, 1e-310}) {
            const double x = scale * (std::abs(u) + 1e-3), wanted = std::log(x);
            CHECK_CLOSE(exact_log(x) / wanted, 1.0, 8 * kLast);
        }
    }
    for (int k = -1070; k < 1023; ++k)
        CHECK_CLOSE(exact_log(std::ldexp(1.0, k)), std::log(std::ldexp(1.0, k)), 2e-13);
    CHECK(exact_log(1.0) == 0);
    CHECK(std::isinf(exact_log(0.0)) && exact_log(0.0) < 0);
    CHECK(std::isnan(exact_log(-1.0)));
}

TEST(powers) {
    CHECK_CLOSE(exact_power(2.5, 3.5), std::pow(2.5, 3.5), 1e-13);
    CHECK_CLOSE(exact_power(1e-3, -0.7), std::pow(1e-3, -0.7), 1e-12);
    CHECK(exact_power(0.0, 2.0) == 0);
    CHECK(exact_power(7.0, 0.0) == 1);
}

TEST(roots_of_unity) {
    const double pi = 3.14159265358979323846;
    for (const int64_t whole : {1, 2, 3, 5, 8, 12, 1000, 4099})
        for (int64_t part = 0; part < whole; ++part) {
            const RootOfUnity root(part, whole);
            const double angle = 2 * pi * double(part) / double(whole);
            CHECK_CLOSE(root.cos, std::cos(angle), 2e-15);
            CHECK_CLOSE(root.sin, std::sin(angle), 2e-15);
        }
    CHECK(RootOfUnity(1, 4).cos == 0 && RootOfUnity(1, 4).sin == 1);
}

}  // namespace
