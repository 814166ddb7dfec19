// A small test framework for the kernels. A failed check prints its expression, the values, the
// place, the test and the case; the program then goes on, and fails in the end.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace testing {

struct Test {
    const char* name;
    void (*run)();
};
std::vector<Test>& tests();

// Registers a test before main begins.
struct Registered {
    Registered(const char* name, void (*run)()) { tests().push_back({name, run}); }
};

// Names the parameters of the checks in a scope: Case here("n", n, "dim", dim).
class Case {
  public:
    template <class... Parts>
    explicit Case(const Parts&... parts) {
        std::ostringstream text;
        int position = 0;
        ((text << (position++ % 2 == 0 ? " " : "=") << parts), ...);
        current() += text.str();
        length_ = text.str().size();
    }
    ~Case() { current().resize(current().size() - length_); }
    Case(const Case&) = delete;
    Case& operator=(const Case&) = delete;
    static std::string& current();

  private:
    size_t length_;
};

struct Place {
    const char* file;
    int line;
};

// Counts a check, and prints it if it failed.
void record(bool passed, const char* expression, const std::string& values, Place place);

template <class V>
std::string shown(const V& value) {
    std::ostringstream text;
    text.precision(17);
    text << value;
    return text.str();
}
template <class A, class B>
std::string shown(const std::pair<A, B>& value) {
    return "(" + shown(value.first) + ", " + shown(value.second) + ")";
}
inline std::string shown(bool value) { return value ? "true" : "false"; }

// "3 != 4", or of vectors the first entries that differ.
template <class A, class B, class Equal>
std::string difference(const A& a, const B& b, Equal&&) {
    return shown(a) + " and " + shown(b);
}
template <class A, class M, class B, class N, class Equal>
std::string difference(const std::vector<A, M>& a, const std::vector<B, N>& b, Equal&& equal) {
    if (a.size() != b.size()) return "sizes " + shown(a.size()) + " and " + shown(b.size());
    size_t k = 0;
    while (k < a.size() && equal(a[k], b[k])) ++k;
    if (k == a.size()) return "no entry differs";
    return shown(a[k]) + " and " + shown(b[k]) + " at index " + shown(k);
}

// |a - b| <= tolerance; equal infinities are close.
inline bool near(double a, double b, double tolerance) {
    return a == b || std::abs(a - b) <= tolerance;
}

// A few roundings of the greater of `scale` and |b|.
template <class T>
double rounding(double b, double scale) {
    return 200 * double(std::numeric_limits<T>::epsilon()) * std::max(scale, std::abs(b));
}

template <class A, class B>
void check_equal(const A& a, const B& b, const char* expression, Place place) {
    const bool passed = a == b;
    record(passed, expression,
           passed ? "" : difference(a, b, [](const auto& x, const auto& y) { return x == y; }),
           place);
}

template <class T, class M>
void check_same_bits(const std::vector<T, M>& a, const std::vector<T, M>& b, const char* expression,
                     Place place) {
    const auto same = [](const T& x, const T& y) { return std::memcmp(&x, &y, sizeof(T)) == 0; };
    const bool passed = a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), same);
    record(passed, expression, passed ? "" : difference(a, b, same), place);
}

inline void check_close(double a, double b, double tolerance, const char* expression, Place place) {
    const bool passed = near(a, b, tolerance);
    record(passed, expression, passed ? "" : difference(a, b, 0) + " within " + shown(tolerance),
           place);
}

template <class T>
void check_rounded(T a, double b, double scale, const char* expression, Place place) {
    check_close(double(a), b, rounding<T>(b, scale), expression, place);
}
template <class T>
void check_rounded(const std::vector<T>& a, const std::vector<double>& b, double scale,
                   const char* expression, Place place) {
    const auto agree = [&](T x, double y) { return near(double(x), y, rounding<T>(y, scale)); };
    const bool passed = a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), agree);
    record(passed, expression, passed ? "" : difference(a, b, agree), place);
}

// Random inputs. Small whole numbers make the arithmetic, hence the expected result, exact.
class Random {
  public:
    explicit Random(uint32_t seed) : engine_(seed) {}
    int whole(int low, int high) {  // in [low, high]
        return low + int(engine_() % uint32_t(high - low + 1));
    }
    double real() { return double(engine_()) / 4294967296.0; }  // in [0, 1)
    template <class T>
    std::vector<T> wholes(int64_t n, int low, int high) {
        std::vector<T> values(static_cast<size_t>(n));
        for (T& v : values) v = T(whole(low, high));
        return values;
    }
    template <class T>
    std::vector<T> reals(int64_t n) {  // in [-1, 1)
        std::vector<T> values(static_cast<size_t>(n));
        for (T& v : values) v = T(2 * real() - 1);
        return values;
    }

  private:
    std::mt19937 engine_;
};

template <class T>
inline constexpr T kInf = std::numeric_limits<T>::infinity();

}  // namespace testing

#define CHECK_AT \
    testing::Place { __FILE__, __LINE__ }
#define CHECK(condition) testing::record(bool(condition), #condition, "false", CHECK_AT)
#define CHECK_EQUAL(a, b) testing::check_equal(a, b, #a " == " #b, CHECK_AT)
// The entries of two vectors are equal, bit by bit.
#define CHECK_SAME_BITS(a, b) testing::check_same_bits(a, b, #a " has the bits of " #b, CHECK_AT)
// Two numbers differ by `tolerance` at most.
#define CHECK_CLOSE(a, b, tolerance) \
    testing::check_close(double(a), double(b), double(tolerance), #a " ~ " #b, CHECK_AT)
// A number, or each entry of a vector, is right up to a few roundings of its type.
#define CHECK_ROUNDED(a, b, scale) \
    testing::check_rounded(a, b, double(scale), #a " ~ " #b, CHECK_AT)

// TEST(name) { ... }, and TEST_FLOATS(name) { ... } with T = float and T = double.
#define TEST(name)                                            \
    void name();                                              \
    const testing::Registered registered_##name(#name, name); \
    void name()
#define TEST_FLOATS(name)                                                          \
    template <class T>                                                             \
    void name();                                                                   \
    const testing::Registered registered32_##name(#name "<float>", name<float>);   \
    const testing::Registered registered64_##name(#name "<double>", name<double>); \
    template <class T>                                                             \
    void name()
