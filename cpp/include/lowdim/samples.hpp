// Weighted samples of the other objects of each object: searches in groups of points on a map, and
// lists of the data joined with lists of the map.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "lowdim/parallel.hpp"

namespace lowdim {

// A k-d tree of some points, whose places it holds in the order of its leaves.
class PointTree {
  public:
    // Sorts `ids`, numbers of points of y (n, dim), into the order of the leaves.
    PointTree(const double* y, int dim, int32_t* ids, int64_t count)
        : dim_(dim), ids_(ids), places_(size_t(count * dim)) {
        nodes_.reserve(size_t(4 * count / kLeaf + 1));
        build(y, 0, count);
        for (int64_t k = 0; k < count; ++k)
            for (int c = 0; c < dim; ++c)
                places_[size_t(k * dim + c)] = y[int64_t(ids[k]) * dim + c];
    }

    using Near = std::pair<double, int32_t>;  // squared distance and number

    // The k nearest other points of the point at position `query`, sorted.
    void nearest(int64_t query, size_t k, std::vector<Near>& best) const {
        best.clear();
        visit(0, query, k, best);
        std::sort(best.begin(), best.end());
    }

  private:
    static constexpr int64_t kLeaf = 16;

    struct Node {
        int64_t begin, end, right;  // of a leaf, right is 0
        int axis;
        double cut;
    };

    void build(const double* y, int64_t begin, int64_t end) {
        const size_t here = nodes_.size();
        nodes_.push_back({begin, end, 0, 0, 0});
        if (end - begin <= kLeaf) return;
        auto at = [&](int32_t id, int c) { return y[int64_t(id) * dim_ + c]; };
        double widest = -1;
        int axis = 0;
        for (int c = 0; c < dim_; ++c) {
            double low = at(ids_[begin], c), high = low;
            for (int64_t k = begin; k < end; ++k) {
                low = std::min(low, at(ids_[k], c));
                high = std::max(high, at(ids_[k], c));
            }
            if (high - low > widest) {
                widest = high - low;
                axis = c;
            }
        }
        const int64_t middle = begin + (end - begin) / 2;
        std::nth_element(ids_ + begin, ids_ + middle, ids_ + end, [&](int32_t a, int32_t b) {
            return std::pair(at(a, axis), a) < std::pair(at(b, axis), b);
        });
        nodes_[here].axis = axis;
        nodes_[here].cut = at(ids_[middle], axis);
        build(y, begin, middle);
        nodes_[here].right = int64_t(nodes_.size());
        build(y, middle, end);
    }

    void visit(size_t number, int64_t query, size_t k, std::vector<Near>& best) const {
        const Node& node = nodes_[number];
        const double* at = places_.data() + query * dim_;
        if (node.right == 0) {
            for (int64_t j = node.begin; j < node.end; ++j) {
                if (j == query) continue;
                double s = 0;
                for (int c = 0; c < dim_; ++c) {
                    const double gap = at[c] - places_[size_t(j * dim_ + c)];
                    s += gap * gap;
                }
                if (best.size() < k) {
                    best.emplace_back(s, ids_[j]);
                    if (best.size() == k) std::make_heap(best.begin(), best.end());
                } else if (Near(s, ids_[j]) < best.front()) {
                    std::pop_heap(best.begin(), best.end());
                    best.back() = {s, ids_[j]};
                    std::push_heap(best.begin(), best.end());
                }
            }
            return;
        }
        const double gap = at[node.axis] - node.cut;
        const size_t left = number + 1, right = size_t(node.right);
        visit(gap < 0 ? left : right, query, k, best);
        if (best.size() < k || gap * gap <= best.front().first)
            visit(gap < 0 ? right : left, query, k, best);
    }

    int dim_;
    int32_t* ids_;
    std::vector<double> places_;
    std::vector<Node> nodes_;
};

// The k nearest other points of each point of y (n, dim) in its group, ascending; -1 and infinity
// if the group has fewer. Group g is members[starts[g]], ..., members[starts[g + 1] - 1]; members
// of a group are sorted so that near ones are near each other.
inline void nearest_in_groups(const double* y, int dim, int32_t* members, const int64_t* starts,
                              int64_t n_groups, int64_t k, int n_threads, int32_t* ids,
                              double* distances) {
    constexpr int64_t kQueries = 256, kLarge = 4096;
    auto search = [&](const PointTree& tree, int64_t first, int64_t begin, int64_t end) {
        std::vector<PointTree::Near> best;
        for (int64_t q = begin; q < end; ++q) {
            tree.nearest(q, size_t(k), best);
            const int64_t row = int64_t(members[first + q]) * k;
            for (int64_t j = 0; j < k; ++j) {
                const bool found = size_t(j) < best.size();
                ids[row + j] = found ? best[size_t(j)].second : -1;
                distances[row + j] = found ? std::sqrt(best[size_t(j)].first)
                                           : std::numeric_limits<double>::infinity();
            }
        }
    };
    // Of few large groups, the queries are shared by the threads; of many small ones, the groups.
    const bool large = starts[n_groups] / n_groups >= kLarge;
    auto whole = [&](int64_t g, int threads) {
        const int64_t first = starts[g], count = starts[g + 1] - first;
        if (count == 0) return;
        const PointTree tree(y, dim, members + first, count);
        if (threads == 1)
            search(tree, first, 0, count);
        else
            parallel_ranges(count, kQueries, threads, [&](int64_t begin, int64_t end, int) {
                search(tree, first, begin, end);
            });
    };
    if (large)
        for (int64_t g = 0; g < n_groups; ++g) whole(g, n_threads);
    else
        parallel_ranges(n_groups, 4, n_threads, [&](int64_t begin, int64_t end, int) {
            for (int64_t g = begin; g < end; ++g) whole(g, 1);
        });
}

// Sets those entries of each row of `ids` to -1 that the same row of `listed` has.
inline void drop_listed(const int32_t* listed, int64_t n, int64_t n_listed, int64_t width,
                        int n_threads, int32_t* ids) {
    parallel_ranges(n, 1024, n_threads, [&](int64_t begin, int64_t end, int) {
        std::vector<int32_t> seen(size_t(n), -1);  // by which row
        for (int64_t i = begin; i < end; ++i) {
            const int32_t* own = listed + i * n_listed;
            for (int64_t k = 0; k < n_listed; ++k)
                if (own[k] >= 0) seen[size_t(own[k])] = int32_t(i);
            for (int64_t k = 0; k < width; ++k) {
                int32_t& id = ids[i * width + k];
                if (id >= 0 && seen[size_t(id)] == int32_t(i)) id = -1;
            }
        }
    });
}

// Candidates of each object, -1: none, at their distances in the data; and the reaches of levels.
template <class T>
struct Candidates {
    const int32_t* ids;  // (n, width)
    const T* distances;
    int64_t width;
};

template <class T>
struct Reaches {
    const T* radii;  // (n, count), ascending
    int64_t count;
    int level(int64_t row, T distance) const {
        int found = 0;
        for (int64_t t = 0; t < count; ++t) found += distance > radii[row * count + t];
        return found;
    }
};

// Joins the candidates of two searches to lists, the objects nearest on the map first. The level of
// an entry is the smaller one of its levels in the data and on the map y (n, dim). Entries stay
// whose labels are equal to that of the object modulo ratio^level.
template <class T>
class SampleJoin {
  public:
    SampleJoin(const Candidates<T>& near, const Candidates<T>& more, const Reaches<T>& data,
               const Reaches<double>& map, const double* y, int dim, const int32_t* labels,
               int64_t n, int ratio)
        : near_(near),
          more_(more),
          data_(data),
          map_(map),
          y_(y),
          labels_(labels),
          n_(n),
          dim_(dim),
          codes_(size_t(n * (near.width + more.width))) {
        moduli_[0] = 1;
        for (int t = 1; t < kLevels; ++t)
            moduli_[t] = std::min<int64_t>(moduli_[t - 1] * ratio, int64_t(1) << 32);
    }

    // Chooses the entries; indptr has n + 1 entries.
    void choose(int n_threads, int64_t* indptr) {
        indptr[0] = 0;
        parallel_ranges(n_, 256, n_threads, [&](int64_t begin, int64_t end, int) {
            for (int64_t i = begin; i < end; ++i)
                indptr[i + 1] = choose(i, near_, 0) + choose(i, more_, near_.width);
        });
        for (int64_t i = 0; i < n_; ++i) indptr[i + 1] += indptr[i];
    }

    // Squared distances are in the unit of `largest`; weights are those of levels.
    void write(const int64_t* indptr, T largest, const float* weight_of, int n_threads,
               int32_t* indices, float* squared, float* weights) const {
        parallel_ranges(n_, 256, n_threads, [&](int64_t begin, int64_t end, int) {
            for (int64_t i = begin; i < end; ++i) {
                const uint8_t* codes = codes_.data() + i * (near_.width + more_.width);
                int64_t places[kLevels + 1] = {};
                for (int64_t k = 0; k < near_.width + more_.width; ++k)
                    if (codes[k] != kNone) ++places[(codes[k] >> 4) + 1];
                places[0] = indptr[i];
                for (int t = 1; t <= kLevels; ++t) places[t] += places[t - 1];
                auto copy = [&](const Candidates<T>& from, const uint8_t* code) {
                    for (int64_t k = 0; k < from.width; ++k) {
                        if (code[k] == kNone) continue;
                        const int64_t place = places[code[k] >> 4]++;
                        indices[place] = from.ids[i * from.width + k];
                        const T d = from.distances[i * from.width + k] / largest;
                        squared[place] = static_cast<float>(d) * static_cast<float>(d);
                        weights[place] = weight_of[code[k] & 15];
                    }
                };
                copy(near_, codes);
                copy(more_, codes + near_.width);
            }
        });
    }

  private:
    static constexpr uint8_t kNone = 255;
    static constexpr int kLevels = 15;  // 4 bits each for the levels of an entry and on the map

    int64_t choose(int64_t i, const Candidates<T>& from, int64_t offset) {
        uint8_t* codes = codes_.data() + i * (near_.width + more_.width) + offset;
        int64_t count = 0;
        for (int64_t k = 0; k < from.width; ++k) {
            codes[k] = kNone;
            const int32_t j = from.ids[i * from.width + k];
            if (j < 0) continue;
            double s = 0;
            for (int c = 0; c < dim_; ++c) {
                const double gap = y_[i * dim_ + c] - y_[int64_t(j) * dim_ + c];
                s += gap * gap;
            }
            const int on_map = map_.level(i, std::sqrt(s));
            const int in_data = data_.level(i, from.distances[i * from.width + k]);
            const int level = std::min(on_map, in_data);
            if ((int64_t(labels_[i]) - labels_[j]) % moduli_[level] != 0) continue;
            codes[k] = static_cast<uint8_t>(on_map << 4 | level);
            ++count;
        }
        return count;
    }

    Candidates<T> near_, more_;
    Reaches<T> data_;
    Reaches<double> map_;
    const double* y_;
    const int32_t* labels_;
    int64_t n_;
    int dim_;
    int64_t moduli_[kLevels];
    std::vector<uint8_t> codes_;
};

}  // namespace lowdim
