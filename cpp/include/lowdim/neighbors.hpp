// Nearest neighbours from tiles of inner products, and the exact distances of the winners.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "lowdim/elementary.hpp"
#include "lowdim/kernels.hpp"
#include "lowdim/parallel.hpp"

namespace lowdim {

// The positions of the keys in ascending order (-1 last), by counting digits.
inline void order_by_key(const int32_t* keys, size_t count, std::vector<uint32_t>& order,
                         std::vector<uint32_t>& spare) {
    constexpr int kBits = 11;
    uint32_t all = 0;
    for (size_t e = 0; e < count; ++e) {
        order[e] = uint32_t(e);
        if (keys[e] >= 0) all |= uint32_t(keys[e]);
    }
    for (int shift = 0; shift < 32 && (all >> shift) != 0; shift += kBits) {
        size_t starts[(1 << kBits) + 1] = {};
        const auto digit = [&](uint32_t e) {
            return size_t(uint32_t(keys[e]) >> shift) & ((1U << kBits) - 1);
        };
        for (size_t e = 0; e < count; ++e) ++starts[digit(uint32_t(e)) + 1];
        for (size_t b = 0; b < (1U << kBits); ++b) starts[b + 1] += starts[b];
        for (const uint32_t e : order) spare[starts[digit(e)]++] = e;
        order.swap(spare);
    }
}

// Write the k first of (distance, id) among the m found for a query, in that order.
template <class T>
void write_nearest(std::pair<T, int32_t>* found, int m, int k, int32_t* ids, T* distances) {
    if (k < m) std::nth_element(found, found + k, found + m);
    std::sort(found, found + k);
    for (int c = 0; c < k; ++c) {
        distances[c] = found[c].first;
        ids[c] = found[c].second;
    }
}

// The metrics by which candidates can be ranked.
enum class PairMetric { euclidean, cosine, cityblock, chebyshev, canberra, braycurtis, minkowski };

// The sum of term(0) ... term(n - 1) in four partial sums, which do not wait for each other.
template <class T, class Term>
T sum_of(size_t n, const Term& term) {
    T sums[4] = {};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t l = 0; l < 4; ++l) sums[l] += term(i + l);
    for (; i < n; ++i) sums[0] += term(i);
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// (sum |x_i - y_i|^power)^(1 / power) in double precision, because powers leave the range of float.
// Whole powers by multiplication, which is ten times faster than std::pow.
template <class T>
T minkowski_distance(const T* x, const T* y, size_t dim, double power) {
    constexpr double kMostFactors = 8;
    const int whole = power == std::floor(power) && power <= kMostFactors ? int(power) : 0;
    const double sum = sum_of<double>(dim, [=](size_t i) {
        const double gap = std::abs(double(x[i]) - double(y[i]));
        double product = gap;
        for (int factor = 1; factor < whole; ++factor) product *= gap;
        return whole > 0 ? product : exact_power(gap, power);
    });
    return T(exact_power(sum, 1 / power));
}

// The distance of two vectors. From cityblock on they are not in the table of kernels: candidates
// lie anywhere in memory, whose speed limits these loops. Vectors without any entry have distance
// zero. `power` is that of minkowski.
template <class T>
T pair_distance(PairMetric metric, double power, const Kernels<T>& kernel, const T* x, const T* y,
                size_t dim) {
    const auto gap = [=](size_t i) { return std::abs(x[i] - y[i]); };
    switch (metric) {
        case PairMetric::euclidean:
            return std::sqrt(kernel.squared_distance(x, y, dim));
        case PairMetric::cosine:
            return std::max(T(0), 1 - kernel.dot(x, y, dim));
        case PairMetric::cityblock:
            return sum_of<T>(dim, gap);
        case PairMetric::chebyshev: {
            T largest = 0;
            for (size_t i = 0; i < dim; ++i) largest = std::max(largest, gap(i));
            return largest;
        }
        case PairMetric::canberra:
            return sum_of<T>(dim, [=](size_t i) {
                const T size = std::abs(x[i]) + std::abs(y[i]);
                return size > 0 ? gap(i) / size : T(0);
            });
        case PairMetric::braycurtis: {
            const T gaps = sum_of<T>(dim, gap);
            const T size = sum_of<T>(dim, [=](size_t i) { return std::abs(x[i] + y[i]); });
            return gaps > 0 ? gaps / size : T(0);
        }
        case PairMetric::minkowski:
            return minkowski_distance(x, y, dim, power);
    }
    return 0;
}

// Distances of each query to its m candidates, computed anew from the vectors (the tiles lose
// digits to cancellation), and the k nearest in the order (distance, id). A candidate of -1 is
// none. cosine: the vectors have unit length (or are zero), the distance is 1 - <x, y>.
template <class T>
void rerank(const T* queries, const T* points, int64_t n_queries, int64_t dim,
            const int32_t* candidates, int m, int k, PairMetric metric, double power, int n_threads,
            int32_t* ids, T* distances) {
    constexpr int64_t kChunk = 256;
    const Kernels<T>& kernel = kernels<T>();
    struct Scratch {  // kept from chunk to chunk
        std::vector<std::pair<T, int32_t>> found;
        std::vector<uint32_t> order, spare;
    };
    std::vector<Scratch> scratches(size_t(std::max(n_threads, 1)));
    parallel_ranges(n_queries, kChunk, n_threads, [&](int64_t begin, int64_t end, int thread) {
        // Pairs in the order of the candidates: queries near each other share them, and a vector
        // is read from memory once.
        const size_t count = size_t(end - begin) * size_t(m);
        auto& [found, order, spare] = scratches[size_t(thread)];
        found.resize(count);
        order.resize(count);
        spare.resize(count);
        order_by_key(candidates + begin * m, count, order, spare);
        for (const uint32_t e : order) {
            const int32_t id = candidates[begin * m + e];
            const T* x = queries + (begin + e / uint32_t(m)) * dim;
            T value = std::numeric_limits<T>::infinity();
            if (id >= 0)
                value = pair_distance(metric, power, kernel, x, points + int64_t(id) * dim,
                                      size_t(dim));
            found[e] = {value, id};
        }
        for (int64_t q = begin; q < end; ++q)
            write_nearest(&found[size_t(q - begin) * size_t(m)], m, k, ids + q * k,
                          distances + q * k);
    });
}

// Rows of a CSR matrix, no column twice in a row.
template <class T>
struct SparseRows {
    const int64_t* indptr;
    const int32_t* indices;
    const T* data;
};

// As rerank, for sparse vectors; sums in double precision.
template <class T>
void rerank_sparse(const SparseRows<T>& queries, const SparseRows<T>& points, int64_t n_queries,
                   int64_t dim, const int32_t* candidates, int m, int k, bool cosine, int n_threads,
                   int32_t* ids, T* distances) {
    struct Scratch {                // kept from chunk to chunk
        std::vector<T> dense;       // the query
        std::vector<int64_t> seen;  // which candidate last had an entry in this column
        std::vector<std::pair<T, int32_t>> found;
        int64_t candidate = 0;
    };
    std::vector<Scratch> scratches(size_t(std::max(n_threads, 1)));
    parallel_ranges(n_queries, 64, n_threads, [&](int64_t begin, int64_t end, int thread) {
        Scratch& own = scratches[size_t(thread)];
        own.dense.resize(size_t(dim));
        own.seen.resize(size_t(dim));
        own.found.resize(size_t(m));
        for (int64_t q = begin; q < end; ++q) {
            const int64_t first = queries.indptr[q], last = queries.indptr[q + 1];
            for (int64_t e = first; e < last; ++e)
                own.dense[size_t(queries.indices[e])] = queries.data[e];
            for (int c = 0; c < m; ++c) {
                const int32_t id = candidates[q * m + c];
                if (id < 0) {
                    own.found[size_t(c)] = {std::numeric_limits<T>::infinity(), id};
                    continue;
                }
                ++own.candidate;
                double sum = 0;
                for (int64_t e = points.indptr[id]; e < points.indptr[id + 1]; ++e) {
                    const auto column = size_t(points.indices[e]);
                    const double x = double(own.dense[column]), y = double(points.data[e]);
                    sum += cosine ? x * y : (x - y) * (x - y);
                    own.seen[column] = own.candidate;
                }
                if (!cosine)  // what the query has where the candidate has nothing
                    for (int64_t e = first; e < last; ++e)
                        if (own.seen[size_t(queries.indices[e])] != own.candidate)
                            sum += double(queries.data[e]) * double(queries.data[e]);
                own.found[size_t(c)] = {T(cosine ? std::max(0.0, 1 - sum) : std::sqrt(sum)), id};
            }
            for (int64_t e = first; e < last; ++e) own.dense[size_t(queries.indices[e])] = 0;
            write_nearest(own.found.data(), m, k, ids + q * k, distances + q * k);
        }
    });
}

}  // namespace lowdim
