// What the methods take from NumPy in Python: matrices, sums in the same order, the same random
// numbers. So the same bits come out.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "lowdim/dense.hpp"
#include "lowdim/elementary.hpp"

namespace lowdim::wasm {

template <class T>
struct Matrix {  // row by row
    int64_t rows = 0, cols = 0;
    std::vector<T> data;

    Matrix() = default;
    Matrix(int64_t n, int64_t k) : rows(n), cols(k), data(size_t(n * k)) {}
    Matrix(const T* from, int64_t n, int64_t k) : rows(n), cols(k), data(from, from + n * k) {}
    template <class U>
    explicit Matrix(const Matrix<U>& other)
        : rows(other.rows), cols(other.cols), data(other.data.begin(), other.data.end()) {}

    T& operator()(int64_t i, int64_t j) { return data[size_t(i * cols + j)]; }
    const T& operator()(int64_t i, int64_t j) const { return data[size_t(i * cols + j)]; }
    T* row(int64_t i) { return data.data() + i * cols; }
    const T* row(int64_t i) const { return data.data() + i * cols; }
    Strided<T> strided() const { return {data.data(), cols, 1}; }
    Strided<T> transposed() const { return {data.data(), 1, cols}; }
};

template <class T>
Matrix<T> transpose(const Matrix<T>& A) {
    Matrix<T> out(A.cols, A.rows);
    for (int64_t i = 0; i < A.rows; ++i)
        for (int64_t j = 0; j < A.cols; ++j) out(j, i) = A(i, j);
    return out;
}

// A B, A' B and A B'.
inline Matrix<double> multiply(const Matrix<double>& A, const Matrix<double>& B) {
    Matrix<double> out(A.rows, B.cols);
    dense_product(A.strided(), A.rows, B.transposed(), B.cols, A.cols, false, 1, out.data.data());
    return out;
}
inline Matrix<double> inner(const Matrix<double>& A, const Matrix<double>& B) {
    Matrix<double> out(A.cols, B.cols);
    dense_product(A.transposed(), A.cols, B.transposed(), B.cols, A.rows, false, 1,
                  out.data.data());
    return out;
}
inline Matrix<double> multiply_transposed(const Matrix<double>& A, const Matrix<double>& B) {
    Matrix<double> out(A.rows, B.rows);
    dense_product(A.strided(), A.rows, B.strided(), B.rows, A.cols, false, 1, out.data.data());
    return out;
}

// Some columns, in the given order.
template <class T>
Matrix<T> take_columns(const Matrix<T>& A, const std::vector<int64_t>& chosen) {
    Matrix<T> out(A.rows, int64_t(chosen.size()));
    for (int64_t i = 0; i < out.rows; ++i)
        for (int64_t j = 0; j < out.cols; ++j) out(i, j) = A(i, chosen[size_t(j)]);
    return out;
}
template <class T>
Matrix<T> first_columns(const Matrix<T>& A, int64_t count) {
    std::vector<int64_t> chosen(static_cast<size_t>(count));
    std::iota(chosen.begin(), chosen.end(), 0);
    return take_columns(A, chosen);
}

template <class T>
Matrix<T> subtract(Matrix<T> A, const Matrix<T>& B) {
    for (size_t e = 0; e < A.data.size(); ++e) A.data[e] -= B.data[e];
    return A;
}
inline Matrix<double> subtract_row(Matrix<double> A, const std::vector<double>& row) {
    for (int64_t i = 0; i < A.rows; ++i)
        for (int64_t j = 0; j < A.cols; ++j) A(i, j) -= row[size_t(j)];
    return A;
}

// The sum of term(0), ..., term(n - 1) as `numpy.sum` adds a vector: in halves, and blocks of
// eight lanes.
template <class T, class Term>
T pairwise_sum(int64_t begin, int64_t n, const Term& term) {
    T sum = 0;
    if (n < 8) {
        for (int64_t k = 0; k < n; ++k) sum += term(begin + k);
        return sum;
    }
    if (n > 128) {
        const int64_t half = n / 2 - n / 2 % 8;
        sum = pairwise_sum<T>(begin, half, term);
        return sum + pairwise_sum<T>(begin + half, n - half, term);
    }
    T lanes[8];
    for (int64_t l = 0; l < 8; ++l) lanes[l] = term(begin + l);
    int64_t k = 8;
    for (; k < n - n % 8; k += 8)
        for (int64_t l = 0; l < 8; ++l) lanes[l] += term(begin + k + l);
    sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
          ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
    for (; k < n; ++k) sum += term(begin + k);
    return sum;
}
template <class Term>
double sum(int64_t n, const Term& term) {
    return pairwise_sum<double>(0, n, term);
}

// The sums of term(i, j) over rows i, for each of the columns j.
template <class Term>
std::vector<double> column_sums(int64_t begin, int64_t end, int64_t cols, const Term& term) {
    std::vector<double> sums(size_t(cols), 0.0);
    for (int64_t i = begin; i < end; ++i)
        for (int64_t j = 0; j < cols; ++j) sums[size_t(j)] += term(i, j);
    return sums;
}
inline std::vector<double> means(const Matrix<double>& A, int64_t rows) {
    auto out = column_sums(0, rows, A.cols, [&](int64_t i, int64_t j) { return A(i, j); });
    for (double& value : out) value /= double(rows);
    return out;
}

template <class T>
T median(std::vector<T> values) {
    std::sort(values.begin(), values.end());
    const size_t half = values.size() / 2;
    return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

template <class T>
double largest_size(const std::vector<T>& values) {
    double largest = 0;
    for (const T value : values) largest = std::max(largest, std::abs(double(value)));
    return largest;
}

// The range of each column.
template <class T>
std::vector<T> extents(const Matrix<T>& A) {
    std::vector<T> out;
    for (int64_t j = 0; j < A.cols; ++j) {
        T low = A(0, j), high = low;
        for (int64_t i = 0; i < A.rows; ++i) {
            low = std::min(low, A(i, j));
            high = std::max(high, A(i, j));
        }
        out.push_back(high - low);
    }
    return out;
}

// `numpy.random.RandomState`.
class Random {
  public:
    explicit Random(uint32_t seed) : engine_(seed) {}

    double uniform() {  // in [0, 1)
        const double high = engine_() >> 5, low = engine_() >> 6;
        return (high * 67108864.0 + low) / 9007199254740992.0;
    }
    uint32_t seed() {  // randint(2**31 - 1)
        for (;;)
            if (const uint32_t drawn = engine_() & 0x7fffffffu; drawn < 0x7fffffffu) return drawn;
    }
    template <class T>
    Matrix<T> centered(int64_t n, int64_t k) {  // uniform in [-1, 1)
        Matrix<T> out(n, k);
        for (T& value : out.data) value = T(-1 + 2 * uniform());
        return out;
    }
    Matrix<double> normal(int64_t n, int64_t k) {
        Matrix<double> out(n, k);
        for (double& radius : out.data) radius = uniform();
        for (double& value : out.data)
            value = std::sqrt(-2 * exact_log(1 - value)) * cosine_of_turns(uniform());
        return out;
    }

    static double cosine_of_turns(double turns) {
        constexpr int64_t kParts = int64_t(1) << 53;
        return RootOfUnity(int64_t((turns - std::floor(turns)) * double(kParts)), kParts).cos;
    }

  private:
    std::mt19937 engine_;
};

}  // namespace lowdim::wasm
