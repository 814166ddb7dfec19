// Shortest paths on a sparse graph from many sources.
//
// kLanes nearby sources search together: the tentative distances of a node to all of them fill
// one vector, and an arc is relaxed for all of them by one addition and one minimum. Nearby
// sources see the graph in nearly the same order, so a node rarely has to be visited again.
// A label-correcting search ends in the unique fixed point d(v) = min_u fl(d(u) + w(u, v)), the
// very number that Dijkstra's algorithm finds, in any order of visits.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "lowdim/kernels.hpp"
#include "lowdim/parallel.hpp"

namespace lowdim {

inline constexpr int64_t kSide = 64;  // rows or columns of a matrix that are worked on at once

template <class T>
struct Graph {
    int64_t n;
    const int64_t* indptr;
    const int32_t* indices;
    const T* weights;
};

// Sources in groups of kLanes neighbours: each group is grown breadth-first around the first
// source not yet in a group, up to a bounded number of nodes. Returns the order of the sources.
template <class T>
std::vector<int32_t> group_sources(const Graph<T>& graph, const int32_t* sources,
                                   int64_t n_sources) {
    // at_node[first[v] ... first[v] + count[v]): the positions in `sources` of node v still open.
    std::vector<int32_t> count(size_t(graph.n), 0);
    std::vector<int64_t> first(size_t(graph.n) + 1, 0);
    for (int64_t s = 0; s < n_sources; ++s) ++first[size_t(sources[s]) + 1];
    for (int64_t v = 0; v < graph.n; ++v) first[size_t(v) + 1] += first[size_t(v)];
    std::vector<int32_t> at_node(static_cast<size_t>(n_sources));
    for (int64_t s = 0; s < n_sources; ++s) {
        const auto v = size_t(sources[s]);
        at_node[size_t(first[v] + count[v]++)] = int32_t(s);
    }
    const int64_t walk_limit =
        64 * kLanes * std::max<int64_t>(1, graph.n / std::max<int64_t>(1, n_sources));
    std::vector<int32_t> order, queue, seen(size_t(graph.n), -1);
    order.reserve(size_t(n_sources));
    int32_t walk = 0;
    for (int64_t s = 0; s < n_sources; ++s) {
        if (count[size_t(sources[s])] == 0) continue;
        const size_t group_end = (order.size() / kLanes + 1) * kLanes;
        queue.assign(1, sources[s]);
        seen[size_t(sources[s])] = walk;
        for (size_t head = 0; head < queue.size() && int64_t(head) < walk_limit; ++head) {
            const auto v = size_t(queue[head]);
            while (count[v] > 0 && order.size() < group_end)
                order.push_back(at_node[size_t(first[v] + --count[v])]);
            if (order.size() == group_end) break;
            for (int64_t e = graph.indptr[v]; e < graph.indptr[v + 1]; ++e) {
                const int32_t w = graph.indices[e];
                if (seen[size_t(w)] != walk) {
                    seen[size_t(w)] = walk;
                    queue.push_back(w);
                }
            }
        }
        ++walk;
    }
    return order;
}

// A queue of nodes by tentative distance, in a ring of buckets of equal width.
template <class T>
class BucketQueue {
  public:
    BucketQueue(int64_t n, double width, double longest_arc)
        : width_(width), buckets_(size_t(longest_arc / width) + 3), place_(size_t(n), kNotQueued) {}

    void push(int32_t node, T key) {
        // Visiting early or late costs a second visit, never the result: clamp to the ring.
        const int64_t last = current_ + int64_t(buckets_.size()) - 1;
        const int64_t bucket = std::clamp(int64_t(double(key) / width_), current_, last);
        if (place_[size_t(node)] <= bucket) return;  // already waiting there or earlier
        place_[size_t(node)] = bucket;
        buckets_[size_t(bucket) % buckets_.size()].push_back(node);
        ++waiting_;
    }

    // The next node, or -1 when none is left.
    int32_t pop() {
        while (waiting_ > 0) {
            auto& bucket = buckets_[size_t(current_) % buckets_.size()];
            if (bucket.empty()) {
                ++current_;
                continue;
            }
            const int32_t node = bucket.back();
            bucket.pop_back();
            --waiting_;
            if (place_[size_t(node)] != current_) continue;  // it moved to an earlier bucket
            place_[size_t(node)] = kNotQueued;
            return node;
        }
        current_ = 0;
        return -1;
    }

  private:
    static constexpr int64_t kNotQueued = std::numeric_limits<int64_t>::max();
    double width_;
    std::vector<std::vector<int32_t>> buckets_;
    std::vector<int64_t> place_;
    int64_t current_ = 0, waiting_ = 0;
};

// out[rows[s], v] = length of the shortest path from sources[s] to v; infinity where there is none.
// Every kLanes sources are searched from together, which is fast if they are near each other:
// `group_sources` gives such an order.
template <class T>
void shortest_paths(const Graph<T>& graph, const int32_t* sources, const int32_t* rows,
                    int64_t n_sources, int n_threads, T* out) {
    constexpr T kInf = std::numeric_limits<T>::infinity();
    const int64_t n = graph.n, n_arcs = graph.indptr[n];
    double total = 0, longest = 0;
    int64_t most_arcs = 0;
    for (int64_t e = 0; e < n_arcs; ++e) {
        total += double(graph.weights[e]);
        longest = std::max(longest, double(graph.weights[e]));
    }
    for (int64_t v = 0; v < n; ++v)
        most_arcs = std::max(most_arcs, graph.indptr[v + 1] - graph.indptr[v]);
    const double mean = n_arcs > 0 ? total / double(n_arcs) : 1;
    const double width =
        longest > 0 ? std::max({mean / 4, longest / 65536, std::numeric_limits<double>::min()}) : 1;
    const Kernels<T>& kernel = kernels<T>();

    struct alignas(64) Workspace {  // a cache line: threads write to their own ones only
        std::vector<T> lanes, farthest;
        std::vector<int32_t> shortened;
        BucketQueue<T> queue;
    };
    std::vector<std::unique_ptr<Workspace>> workspaces(size_t(std::max(n_threads, 1)));
    const int64_t n_groups = (n_sources + kLanes - 1) / kLanes;
    parallel_chunks(n_groups, n_threads, [&](int64_t chunk, int thread) {
        auto& mine = workspaces[size_t(thread)];
        if (!mine)
            mine.reset(new Workspace{
                std::vector<T>(size_t(n) * kLanes), std::vector<T>(size_t(most_arcs)),
                std::vector<int32_t>(size_t(most_arcs)), BucketQueue<T>(n, width, longest)});
        Workspace& work = *mine;
        // The last groups of `group_sources` are of scattered sources and take longest: they come
        // first, so that all threads end at about the same time.
        const int64_t begin = (n_groups - 1 - chunk) * kLanes;
        const int64_t end = std::min<int64_t>(n_sources, begin + kLanes);
        std::fill(work.lanes.begin(), work.lanes.end(), kInf);
        for (int64_t s = begin; s < end; ++s) {
            const int32_t source = sources[s];
            work.lanes[size_t(source) * kLanes + size_t(s - begin)] = 0;
            work.queue.push(source, 0);
        }
        for (int32_t u; (u = work.queue.pop()) >= 0;) {
            const int64_t arc = graph.indptr[u];
            const int count = kernel.relax(work.lanes.data(), u, graph.indices + arc,
                                           graph.weights + arc, int(graph.indptr[u + 1] - arc),
                                           work.shortened.data(), work.farthest.data());
            for (int c = 0; c < count; ++c)
                work.queue.push(work.shortened[size_t(c)], work.farthest[size_t(c)]);
        }
        for (int64_t from = 0; from < n; from += kSide) {  // nodes whose lanes stay in the cache
            const int64_t to = std::min(n, from + kSide);
            for (int64_t s = begin; s < end; ++s) {
                T* row = out + int64_t(rows[s]) * n;
                const T* lane = work.lanes.data() + (s - begin);
                for (int64_t v = from; v < to; ++v) row[v] = lane[v * kLanes];
            }
        }
    });
}

// Sets both matrix[i, j] and matrix[j, i] of a square matrix to the smaller of the two.
template <class T>
void keep_smaller(T* matrix, int64_t n, int n_threads) {
    const int64_t n_tiles = (n + kSide - 1) / kSide;
    parallel_chunks(n_tiles, n_threads, [&](int64_t chunk, int) {
        T mirror[kSide][kSide];             // the tile below the diagonal, transposed
        const int64_t top = chunk * kSide;  // the longest rows first
        const int64_t height = std::min(kSide, n - top);
        for (int64_t left = top; left < n; left += kSide) {
            const int64_t width = std::min(kSide, n - left);
            for (int64_t j = 0; j < width; ++j)
                for (int64_t i = 0; i < height; ++i)
                    mirror[i][j] = matrix[(left + j) * n + top + i];
            for (int64_t i = 0; i < height; ++i) {
                T* row = matrix + (top + i) * n + left;
                for (int64_t j = 0; j < width; ++j) {
                    const T here = row[j], there = mirror[i][j];
                    row[j] = mirror[i][j] = there < here ? there : here;
                }
            }
            for (int64_t j = 0; j < width; ++j)
                for (int64_t i = 0; i < height; ++i)
                    matrix[(left + j) * n + top + i] = mirror[i][j];
        }
    });
}

// All pairs on a dense matrix of arc lengths (infinity: no arc), in place.
template <class T>
void floyd_warshall(T* lengths, int64_t n, int n_threads) {
    for (int64_t k = 0; k < n; ++k) {
        const T* through = lengths + k * n;
        parallel_ranges(n, std::max<int64_t>(1, 65536 / std::max<int64_t>(n, 1)), n_threads,
                        [&](int64_t begin, int64_t end, int) {
                            for (int64_t i = begin; i < end; ++i) {
                                T* row = lengths + i * n;
                                const T to_k = row[k];
                                if (i == k || to_k == std::numeric_limits<T>::infinity()) continue;
                                for (int64_t j = 0; j < n; ++j)
                                    row[j] = std::min(row[j], to_k + through[j]);
                            }
                        });
    }
}

}  // namespace lowdim
