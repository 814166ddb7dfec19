// Exponentials, logarithms, powers and roots of unity by additions, products and divisions alone.
// Those of the C library differ in their last digits between processors and systems.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

namespace lowdim {

namespace detail {
inline constexpr double kLog2High = 0.693147180369123816490, kLog2Low = 1.90821492927058770002e-10;

// 2^k for k in [-1022, 1023].
inline double power_of_two(int64_t k) { return std::bit_cast<double>((k + 1023) << 52); }
}  // namespace detail

// e^x, to two units in the last place.
inline double exact_exp(double x) {
    if (std::isnan(x)) return x;
    if (x > 709.79) return std::numeric_limits<double>::infinity();
    if (x < -745.2) return 0;
    constexpr double kWhole = 6755399441055744.0;  // 1.5 * 2^52: its last place is 1
    const double k = (x * 1.4426950408889634 + kWhole) - kWhole;
    const double r = (x - k * detail::kLog2High) - k * detail::kLog2Low;
    constexpr double c[] = {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
                            1.0 / 40320,     1.0 / 5040,     1.0 / 720,     1.0 / 120,
                            1.0 / 24,        1.0 / 6,        0.5,           1.0};
    double sum = 1.0 / 6227020800;
    for (const double next : c) sum = sum * r + next;
    sum = sum * r + 1.0;
    const auto power = static_cast<int64_t>(k),
               half = power / 2;  // in two steps: 2^k may underflow
    return sum * detail::power_of_two(half) * detail::power_of_two(power - half);
}

// log x, to two units in the last place.
inline double exact_log(double x) {
    if (!(x > 0)) return x == 0 ? -std::numeric_limits<double>::infinity() : std::nan("");
    if (std::isinf(x)) return x;
    const bool tiny = x < std::numeric_limits<double>::min();
    const double normal = tiny ? x * 18014398509481984.0 : x;  // 2^54
    constexpr int64_t kHalf = std::bit_cast<int64_t>(0.70710678118654752);
    const int64_t bits = std::bit_cast<int64_t>(normal) - kHalf;
    const double twos = static_cast<double>((bits >> 52) - (tiny ? 54 : 0));
    const double m = std::bit_cast<double>((bits & ((int64_t(1) << 52) - 1)) + kHalf);
    const double z = (m - 1) / (m + 1), square = z * z;
    double sum = 0;
    for (int k = 12; k > 0; --k) sum = (sum + 1.0 / (2 * k + 1)) * square;
    return (2 * z * sum + twos * detail::kLog2Low) + (2 * z + twos * detail::kLog2High);
}

// x^p of x >= 0. Relative errors of about |p log x| roundings.
inline double exact_power(double x, double p) {
    if (p == 0) return 1;
    if (p == 1) return x;
    if (x == 0) return p > 0 ? 0 : std::numeric_limits<double>::infinity();
    return exact_exp(p * exact_log(x));
}

// cos and sin of 2 pi part / whole, for 0 <= part < whole. By symmetry the series are those of
// angles up to pi / 4.
struct RootOfUnity {
    double cos, sin;

    RootOfUnity(int64_t part, int64_t whole) {
        const int64_t quarter = 4 * part / whole;  // of the circle; what is left: `rest` of it
        const int64_t rest = 4 * part - quarter * whole;
        const bool over = 2 * rest > whole;  // beyond the eighth: mirrored
        const double angle = 1.5707963267948966 * static_cast<double>(over ? whole - rest : rest) /
                             static_cast<double>(whole);
        const double square = angle * angle;
        double c = 0, s = 0;
        for (int k = 18; k > 0; k -= 2) {
            c = (1 - c) * square / (k * (k - 1));
            s = (1 - s) * square / (k * (k + 1));
        }
        c = 1 - c;
        s = angle * (1 - s);
        if (over) std::swap(c, s);
        cos = quarter == 0 ? c : quarter == 1 ? -s : quarter == 2 ? -c : s;
        sin = quarter == 0 ? s : quarter == 1 ? c : quarter == 2 ? -s : -c;
    }
};

}  // namespace lowdim
