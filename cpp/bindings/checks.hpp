// What every binding shares: array types, checks of arguments, and results as NumPy arrays.
//
// The core trusts its arguments, so a binding checks every shape and index range before it releases
// the interpreter lock. Messages name the arguments of the Python function.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lowdim/geodesics.hpp"
#include "lowdim/graph.hpp"
#include "lowdim/parallel.hpp"
#include "released.hpp"

namespace lowdim {

namespace nb = nanobind;
using namespace nb::literals;

template <class T, size_t N>
using Array = nb::ndarray<T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T>
using In1 = Array<const T, 1>;
template <class T>
using In2 = Array<const T, 2>;
template <class T>
using In3 = Array<const T, 3>;
template <class T>
using Out1 = Array<T, 1>;
template <class T>
using Out2 = Array<T, 2>;
template <class T>
using Out3 = Array<T, 3>;

// An argument that must be an array of exactly the declared type: a converted copy would take the
// results of an output array with it.
inline auto operator""_array(const char* name, size_t) { return nb::arg(name).noconvert(); }

inline void expect(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

template <class A, class... Sizes>
bool has_shape(const A& array, Sizes... sizes) {
    size_t axis = 0;
    return array.ndim() == sizeof...(sizes) &&
           ((int64_t(array.shape(axis++)) == int64_t(sizes)) && ...);
}

template <class A, class B>
bool same_shape(const A& a, const B& b) {
    bool same = a.ndim() == b.ndim();
    for (size_t axis = 0; same && axis < a.ndim(); ++axis) same = a.shape(axis) == b.shape(axis);
    return same;
}

// An optional array is given as an empty one.
template <class A>
auto data_or_null(const A& array) {
    return array.shape(0) > 0 ? array.data() : nullptr;
}

// By a loop that vectorizes with SSE2 too: this is called in every iteration of some solvers.
inline void expect_range(const In1<int32_t>& ids, int64_t begin, int64_t end, const char* message,
                         int n_threads = 1) {
    const auto first = uint32_t(begin), last = uint32_t(std::min(end, int64_t(1) << 31) - 1);
    parallel_ranges(int64_t(ids.shape(0)), 65536, n_threads, [&](int64_t from, int64_t to, int) {
        const int32_t* id = ids.data();
        uint32_t outside = 0;  // an id below `first` or above `last` sets the highest bit
        for (int64_t k = from; k < to; ++k)
            outside |= (uint32_t(id[k]) - first) | (last - uint32_t(id[k]));
        expect(outside >> 31 == 0, message);
    });
}

template <class T>
void expect_finite(const In2<T>& y, int n_threads) {
    parallel_ranges(int64_t(y.size()), 16384, n_threads, [&](int64_t begin, int64_t end, int) {
        T sum = 0;  // v - v is 0, or NaN if v is not finite
        for (int64_t k = begin; k < end; ++k) sum += y.data()[k] - y.data()[k];
        expect(sum == 0, "coordinates must be finite");
    });
}

// The entries lie in [0, n), none of them twice.
inline void expect_distinct(const In1<int32_t>& ids, int64_t n, const char* message) {
    std::vector<char> seen(size_t(n), 0);
    for (size_t k = 0; k < ids.shape(0); ++k) {
        const int32_t id = ids.data()[k];
        expect(id >= 0 && id < n && !seen[size_t(id)], message);
        seen[size_t(id)] = 1;
    }
}

inline void expect_permutation(const In1<int32_t>& ids, int64_t n, const char* message) {
    expect(has_shape(ids, n), message);
    expect_distinct(ids, n, message);
}

// The row pointers of a sparse matrix; returns the number of its rows.
inline int64_t check_indptr(const In1<int64_t>& indptr, int64_t n_entries) {
    expect(indptr.shape(0) >= 1, "indptr must have at least one entry");
    const auto n = int64_t(indptr.shape(0)) - 1;
    expect(indptr.data()[0] == 0, "indptr must start at 0");
    expect(std::is_sorted(indptr.data(), indptr.data() + n + 1), "indptr must not decrease");
    expect(indptr.data()[n] == n_entries, "indices and data must have indptr[-1] entries");
    return n;
}

// The index arrays of a sparse matrix; returns the number of its rows.
inline int64_t check_structure(const In1<int64_t>& indptr, const In1<int32_t>& indices,
                               int64_t n_columns, int n_threads = 1) {
    const int64_t n = check_indptr(indptr, int64_t(indices.shape(0)));
    expect_range(indices, 0, n_columns, "indices must lie in [0, n)", n_threads);
    return n;
}

template <class T>
int64_t check_csr(const In1<int64_t>& indptr, const In1<int32_t>& indices, const In1<T>& data,
                  int64_t n_columns, int n_threads = 1) {
    expect(same_shape(data, indices), "indices and data must have indptr[-1] entries");
    return check_structure(indptr, indices, n_columns, n_threads);
}

// A graph is a square sparse matrix.
template <class T>
Graph<T> checked_graph(const In1<int64_t>& indptr, const In1<int32_t>& indices, const In1<T>& data,
                       int n_threads = 1) {
    const int64_t n = check_csr(indptr, indices, data, int64_t(indptr.shape(0)) - 1, n_threads);
    return {n, indptr.data(), indices.data(), data.data()};
}

// An array that owns its values.
template <class T>
nb::object to_numpy(Buffer<T>&& values) {
    auto* owned = new Buffer<T>(std::move(values));
    nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<Buffer<T>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(owned->data(), {owned->size()}, owner));
}

// (indptr, indices, data).
template <class T>
nb::tuple to_numpy(Csr<T>&& csr) {
    return nb::make_tuple(to_numpy(std::move(csr.indptr)), to_numpy(std::move(csr.indices)),
                          to_numpy(std::move(csr.data)));
}

// Runs `compute` without the interpreter lock, for results that need the lock to become objects.
template <class Compute>
auto unlocked(Compute&& compute) {
    const Released released;
    return compute();
}

}  // namespace lowdim
