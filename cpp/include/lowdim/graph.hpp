// Sparse graphs in CSR form: making a directed neighbour graph undirected.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "lowdim/buckets.hpp"
#include "lowdim/parallel.hpp"

namespace lowdim {

enum class Symmetry { kUnion, kMutual, kMean, kHalfSum };

template <class T>
struct Csr {
    Buffer<int64_t> indptr;
    Buffer<int32_t> indices;
    Buffer<T> data;
};

// Rows first, ..., last - 1 of the transpose, sorted by column: a counting sort that visits rows in
// order. Entries go first to buckets of consecutive columns and from there to their places, so that
// both steps write to few places at a time and can be divided among threads.
template <class T>
Csr<T> transpose(int64_t n, const int64_t* indptr, const int32_t* indices, const T* data,
                 int64_t first, int64_t last, int n_threads) {
    constexpr int64_t kRows = 512, kMostBuckets = 256;
    struct Entry {
        int32_t row, column;
        T value;
    };
    const int64_t count = last - first, n_blocks = (n + kRows - 1) / kRows;
    int shift = 8;
    while ((count >> shift) >= kMostBuckets) ++shift;
    const int64_t n_buckets = (count + (int64_t(1) << shift) - 1) >> shift;
    const auto visit = [&](int64_t block, auto&& emit) {
        for (int64_t i = block * kRows; i < std::min(n, (block + 1) * kRows); ++i)
            for (int64_t e = indptr[i]; e < indptr[i + 1]; ++e)
                if (indices[e] >= first && indices[e] < last)
                    emit((indices[e] - first) >> shift, Entry{int32_t(i), indices[e], data[e]});
    };
    int64_t size = indptr[n];
    if (count < n) {  // of the rows that are wanted
        std::vector<int64_t> sizes(size_t(n_blocks), 0);
        parallel_chunks(n_blocks, n_threads, [&](int64_t block, int) {
            visit(block, [&](int64_t, const Entry&) { ++sizes[size_t(block)]; });
        });
        size = std::accumulate(sizes.begin(), sizes.end(), int64_t(0));
    }
    Buffer<Entry> entries(static_cast<size_t>(size));
    const std::vector<int64_t> starts = sort_into_buckets(
        n_blocks, n_buckets, n_threads, visit,
        [&](int64_t place, const Entry& entry) { entries[size_t(place)] = entry; });
    Csr<T> t;
    t.indptr.resize(size_t(count) + 1);
    t.indptr[0] = 0;
    t.indices.resize(entries.size());
    t.data.resize(entries.size());
    parallel_chunks(n_buckets, n_threads, [&](int64_t bucket, int) {
        const int64_t low = bucket << shift, high = std::min(count, (bucket + 1) << shift);
        const auto begin = size_t(starts[size_t(bucket)]), end = size_t(starts[size_t(bucket) + 1]);
        std::vector<int64_t> at(size_t(high - low) + 1, 0);
        for (size_t e = begin; e < end; ++e) ++at[size_t(entries[e].column - first - low) + 1];
        at[0] = int64_t(begin);
        for (int64_t column = low; column < high; ++column) {
            const auto c = size_t(column - low);
            at[c + 1] += at[c];
            t.indptr[size_t(column) + 1] = at[c + 1];
        }
        for (size_t e = begin; e < end; ++e) {
            const auto place = size_t(at[size_t(entries[e].column - first - low)]++);
            t.indices[place] = entries[e].row;
            t.data[place] = entries[e].value;
        }
    });
    return t;
}

// Rows first, ..., last - 1 of a graph, each sorted by column; entries of a column stay in order.
template <class T>
Csr<T> sorted_rows(const int64_t* indptr, const int32_t* indices, const T* data, int64_t first,
                   int64_t last, int n_threads) {
    constexpr int64_t kShort = 32;  // rows that are sorted by insertion, without a buffer
    const int64_t start = indptr[first], size = indptr[last] - start;
    Csr<T> out;
    out.indptr.resize(size_t(last - first) + 1);
    out.indices.resize(size_t(size));
    out.data.resize(size_t(size));
    for (int64_t i = first; i <= last; ++i) out.indptr[size_t(i - first)] = indptr[i] - start;
    parallel_ranges(last - first, 512, n_threads, [&](int64_t begin, int64_t end, int) {
        std::vector<std::pair<int32_t, T>> row;
        for (int64_t i = begin; i < end; ++i) {
            const int64_t from = indptr[first + i], count = indptr[first + i + 1] - from;
            int32_t* columns = out.indices.data() + (from - start);
            T* values = out.data.data() + (from - start);
            if (count <= kShort) {
                for (int64_t e = 0; e < count; ++e) {
                    int64_t at = e;
                    for (; at > 0 && columns[at - 1] > indices[from + e]; --at) {
                        columns[at] = columns[at - 1];
                        values[at] = values[at - 1];
                    }
                    columns[at] = indices[from + e];
                    values[at] = data[from + e];
                }
                continue;
            }
            row.clear();
            for (int64_t e = from; e < from + count; ++e) row.emplace_back(indices[e], data[e]);
            std::stable_sort(row.begin(), row.end(),
                             [](const auto& p, const auto& q) { return p.first < q.first; });
            for (int64_t e = 0; e < count; ++e) {
                columns[e] = row[size_t(e)].first;
                values[e] = row[size_t(e)].second;
            }
        }
    });
    return out;
}

// Rows first, ..., last - 1 of a graph combined with its transpose; see combine_with_transpose.
template <class T, class Combine>
Csr<T> combined_rows(int64_t n, const int64_t* indptr, const int32_t* indices, const T* data,
                     int64_t first, int64_t last, int n_threads, const Combine& combine) {
    const Csr<T> columns = transpose(n, indptr, indices, data, first, last, n_threads);
    const Csr<T> rows = sorted_rows(indptr, indices, data, first, last, n_threads);
    auto merge = [&](int64_t i, auto&& emit) {
        int64_t a = rows.indptr[size_t(i)], b = columns.indptr[size_t(i)];
        const int64_t a_end = rows.indptr[size_t(i) + 1], b_end = columns.indptr[size_t(i) + 1];
        const int32_t *a_ids = rows.indices.data(), *b_ids = columns.indices.data();
        const T *a_values = rows.data.data(), *b_values = columns.data.data();
        while (a < a_end || b < b_end) {
            const int32_t ja = a < a_end ? a_ids[a] : INT32_MAX;
            const int32_t jb = b < b_end ? b_ids[b] : INT32_MAX;
            const T* va = ja <= jb ? a_values + a++ : nullptr;
            const T* vb = jb <= ja ? b_values + b++ : nullptr;
            T value = 0;
            if (combine(va, vb, value)) emit(std::min(ja, jb), value);
        }
    };
    const int64_t count = last - first;
    Csr<T> out;
    out.indptr.assign(size_t(count) + 1, 0);
    parallel_ranges(count, 512, n_threads, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) {
            int64_t kept = 0;
            merge(i, [&](int32_t, T) { ++kept; });
            out.indptr[size_t(i) + 1] = kept;
        }
    });
    for (int64_t i = 0; i < count; ++i) out.indptr[size_t(i) + 1] += out.indptr[size_t(i)];
    out.indices.resize(size_t(out.indptr[size_t(count)]));
    out.data.resize(size_t(out.indptr[size_t(count)]));
    parallel_ranges(count, 512, n_threads, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) {
            int32_t* j_out = out.indices.data() + out.indptr[size_t(i)];
            T* v_out = out.data.data() + out.indptr[size_t(i)];
            merge(i, [&](int32_t j, T v) {
                *j_out++ = j;
                *v_out++ = v;
            });
        }
    });
    return out;
}

// A graph combined with its transpose. combine(a, b, out) gets the value of an edge in the
// graph and in its transpose (null: absent) and returns whether to keep it. Rows of the result are
// sorted by column. Large graphs are combined some rows at a time, which takes less memory: beside
// the graph and the result, about 30 bytes for each of slab_arcs arcs.
template <class T, class Combine>
Csr<T> combine_with_transpose(int64_t n, const int64_t* indptr, const int32_t* indices,
                              const T* data, int n_threads, const Combine& combine,
                              int64_t slab_arcs = int64_t(1) << 23) {
    const int64_t n_slabs = std::max<int64_t>(1, (indptr[n] + slab_arcs - 1) / slab_arcs);
    const int64_t slab = (n + n_slabs - 1) / n_slabs;
    std::vector<Csr<T>> parts;
    int64_t total = 0;
    for (int64_t first = 0; first == 0 || first < n; first += slab) {
        parts.push_back(combined_rows<T>(n, indptr, indices, data, first, std::min(n, first + slab),
                                         n_threads, combine));
        total += parts.back().indptr.back();
        if (slab == 0) break;
    }
    if (parts.size() == 1) return std::move(parts[0]);
    Csr<T> out;
    out.indptr.reserve(size_t(n) + 1);
    out.indptr.push_back(0);
    out.indices.reserve(size_t(total));
    out.data.reserve(size_t(total));
    for (Csr<T>& part : parts) {
        const int64_t before = out.indptr.back();
        for (size_t i = 1; i < part.indptr.size(); ++i)
            out.indptr.push_back(before + part.indptr[i]);
        out.indices.insert(out.indices.end(), part.indices.begin(), part.indices.end());
        out.data.insert(out.data.end(), part.data.begin(), part.data.end());
        part = Csr<T>{};  // frees it
    }
    return out;
}

// Combine a graph with its transpose. An edge in one direction only is kept as it is
// (union, mean), halved (half-sum, (A + A^T) / 2) or dropped (mutual); an edge in both directions
// gets the smaller value (union, mutual) or the average (mean, half-sum). Stored zeros are edges.
template <class T>
Csr<T> symmetrize(int64_t n, const int64_t* indptr, const int32_t* indices, const T* data,
                  Symmetry how, int n_threads) {
    const bool average = how == Symmetry::kMean || how == Symmetry::kHalfSum;
    return combine_with_transpose<T>(n, indptr, indices, data, n_threads,
                                     [how, average](const T* a, const T* b, T& out) {
                                         if (a && b) {
                                             out = average ? (*a + *b) / 2 : (*a < *b ? *a : *b);
                                             return true;
                                         }
                                         const T v = a ? *a : *b;
                                         out = how == Symmetry::kHalfSum ? v / 2 : v;
                                         return how != Symmetry::kMutual;
                                     });
}

// The graph with vertex order[i] renamed to i.
template <class T>
Csr<T> renumbered(const Csr<T>& graph, const int32_t* order, int n_threads) {
    const auto n = int64_t(graph.indptr.size()) - 1;
    std::vector<int32_t> new_id(static_cast<size_t>(n));
    Csr<T> out;
    out.indptr.assign(size_t(n) + 1, 0);
    for (int64_t i = 0; i < n; ++i) {
        new_id[size_t(order[i])] = int32_t(i);
        out.indptr[size_t(i) + 1] = out.indptr[size_t(i)] + graph.indptr[size_t(order[i]) + 1] -
                                    graph.indptr[size_t(order[i])];
    }
    out.indices.resize(graph.indices.size());
    out.data.resize(graph.data.size());
    parallel_ranges(n, 1024, n_threads, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) {
            const int64_t from = graph.indptr[size_t(order[i])];
            const int64_t to = out.indptr[size_t(i)], count = out.indptr[size_t(i) + 1] - to;
            for (int64_t e = 0; e < count; ++e) {
                out.indices[size_t(to + e)] = new_id[size_t(graph.indices[size_t(from + e)])];
                out.data[size_t(to + e)] = graph.data[size_t(from + e)];
            }
        }
    });
    return out;
}

// Connected components of an undirected graph whose edges may be stored in one direction only.
// Writes the component of every node, numbered in the order of their first nodes; returns their
// number. Sets of nodes are trees whose root is their smallest node, so that the result does not
// depend on the order in which threads unite them.
inline int64_t components(int64_t n, const int64_t* indptr, const int32_t* indices, int n_threads,
                          int32_t* labels) {
    constexpr int64_t kNodes = 1024;
    std::vector<std::atomic<int32_t>> parents(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) parents[size_t(i)].store(int32_t(i), std::memory_order_relaxed);
    const auto root = [&](int32_t node) {
        for (;;) {
            int32_t above = parents[size_t(node)].load(std::memory_order_relaxed);
            if (above == node) return node;
            const int32_t higher = parents[size_t(above)].load(std::memory_order_relaxed);
            // Shortens the path; if another thread was faster, that is as good.
            parents[size_t(node)].compare_exchange_weak(above, higher, std::memory_order_relaxed);
            node = higher;
        }
    };
    parallel_ranges(n, kNodes, n_threads, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i)
            for (int64_t e = indptr[i]; e < indptr[i + 1]; ++e) {
                int32_t a = root(int32_t(i)), b = root(indices[e]);
                while (a != b) {
                    if (a < b) std::swap(a, b);
                    int32_t expected = a;
                    if (parents[size_t(a)].compare_exchange_strong(expected, b,
                                                                   std::memory_order_relaxed))
                        break;
                    a = root(a);
                    b = root(b);
                }
            }
    });
    int64_t count = 0;
    std::vector<int32_t> numbers(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i)
        if (parents[size_t(i)].load(std::memory_order_relaxed) == i)
            numbers[size_t(i)] = int32_t(count++);
    parallel_ranges(n, kNodes, n_threads, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) labels[i] = numbers[size_t(root(int32_t(i)))];
    });
    return count;
}

// Breadth-first levels from a peripheral node of the first component: their number, and the number
// of nodes of the widest. Wide levels mean wide separators, hence costly factorisations. The search
// ends early at a level of more than `limit` nodes; in the first sweep, which starts from any node
// and therefore meets wider levels, at one of many more. `queue` gets the nodes level by level.
inline std::pair<int64_t, int64_t> level_structure(int64_t n, const int64_t* indptr,
                                                   const int32_t* indices, int64_t limit,
                                                   std::vector<int32_t>& queue) {
    constexpr int64_t kFirstSweep = 8;  // its levels are at most a few times as wide
    std::vector<char> seen;
    int64_t depth = 0, widest = 0;
    int32_t root = 0;
    for (int sweep = 0; sweep < 2 && n > 0; ++sweep) {
        seen.assign(size_t(n), 0);
        queue.assign(1, root);
        seen[size_t(root)] = 1;
        depth = widest = 0;
        const int64_t most = sweep > 0 || limit > n ? limit : kFirstSweep * limit;
        for (size_t begin = 0; begin < queue.size();) {
            const size_t end = queue.size();
            widest = std::max(widest, int64_t(end - begin));
            ++depth;
            if (widest > most) return {depth, widest};
            for (; begin < end; ++begin)
                for (int64_t e = indptr[queue[begin]]; e < indptr[queue[begin] + 1]; ++e)
                    if (!seen[size_t(indices[e])]) {
                        seen[size_t(indices[e])] = 1;
                        queue.push_back(indices[e]);
                    }
        }
        root = queue.back();
    }
    return {depth, widest};
}

}  // namespace lowdim
