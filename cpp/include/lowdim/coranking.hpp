// Compares the order of the other objects by one set of distances with that by another.
//
// A row of n distances is cut into buckets by the leading bits of its values. Only buckets in which
// an exact order is needed are sorted: those that hold a requested object, or one of the ranks of a
// given grid. So a row costs a few passes over n unless all ranks are requested.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "lowdim/kernels.hpp"
#include "lowdim/parallel.hpp"

namespace lowdim {

// Squared distances of all points to the queries, out[q * n + j], by differences: equal pairs
// get equal values, and there is no cancellation. A tile of points is transposed and kept in cache,
// some dimensions at a time, for all queries; summing by parts also rounds less.
template <class T>
void squared_distances(const T* queries, int64_t n_queries, const T* points, int64_t n, int64_t dim,
                       int n_threads, T* out) {
    constexpr int64_t tile = kTile, part = 32;
    const Kernels<T>& kernel = kernels<T>();
    parallel_ranges(n, 16 * tile, n_threads, [&](int64_t begin, int64_t end, int) {
        T transposed[tile * part] = {};
        std::vector<T> sums(static_cast<size_t>(n_queries * tile));
        for (int64_t first = begin; first < end; first += tile) {
            const int64_t count = std::min(tile, end - first);
            std::fill(sums.begin(), sums.end(), T(0));
            for (int64_t c0 = 0; c0 < dim; c0 += part) {
                const int64_t width = std::min(part, dim - c0);
                for (int64_t j = 0; j < count; ++j)
                    for (int64_t c = 0; c < width; ++c)
                        transposed[c * tile + j] = points[(first + j) * dim + c0 + c];
                for (int64_t q = 0; q < n_queries; ++q)
                    kernel.add_squares(queries + q * dim + c0, transposed, int(width),
                                       sums.data() + q * tile);
            }
            for (int64_t q = 0; q < n_queries; ++q)
                std::copy_n(sums.data() + q * tile, count, out + q * n + first);
        }
    });
}

// The order of n objects by (distance, id), without the object `own`; ranks start at 1.
template <class T>
class Order {
  public:
    using Key = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

    void read(const T* distances, int64_t n, int64_t own) {
        distances_ = distances;
        n_ = n;
        own_ = own;
        const T start = distances[own == 0 && n > 1 ? 1 : 0];
        T low = start, high = start;
        for_others([&](int64_t j) {
            low = distances[j] < low ? distances[j] : low;
            high = distances[j] > high ? distances[j] : high;
        });
        low_ = key(low);
        const Key range = key(high) - low_;
        const int wanted = int(std::bit_width(uint64_t(std::min<int64_t>(n, kMaxBuckets) - 1)));
        shift_ = std::max(0, int(std::bit_width(range)) - wanted);
        const auto buckets = size_t(range >> shift_) + 1;
        before_.assign(buckets + 1, 0);
        int32_t* count = before_.data() + 1;
        for_others([&](int64_t j) { ++count[bucket(key(distances[j]))]; });
        for (size_t b = 0; b < buckets; ++b) before_[b + 1] += before_[b];
        open_.assign(buckets, 0);
    }

    // The k first objects in order; k < n.
    void nearest(int k, int32_t* ids) {
        size_t b = 0;  // the bucket that holds the last of them
        while (b + 1 < open_.size() && before_[b + 1] < k) ++b;
        const Key bound = low_ + (((Key(b) + 1) << shift_) - 1);
        found_.clear();
        for_others([&](int64_t j) {
            const Key value = key(distances_[j]);
            if (value <= bound) found_.emplace_back(value, int32_t(j));
        });
        if (size_t(k) < found_.size())
            std::nth_element(found_.begin(), found_.begin() + k, found_.end());
        std::sort(found_.begin(), found_.begin() + k);
        for (int i = 0; i < k; ++i) ids[i] = found_[size_t(i)].second;
    }

    // Requests the exact rank of an object.
    void request(int32_t j) { open_[bucket(key(distances_[j]))] = 1; }

    // cells[j] = the first g with rank(j) <= grid[g], or size if there is none.
    void cells(const int32_t* grid, int size, int32_t* cells) {
        const size_t buckets = open_.size();
        cell_of_.resize(buckets);
        int g = 0;
        for (size_t b = 0; b < buckets; ++b) {
            while (g < size && grid[g] <= before_[b]) ++g;
            const bool within = g == size || before_[b + 1] <= grid[g];
            cell_of_[b] = within && !open_[b] ? g : -1;
        }
        found_.clear();
        for_others([&](int64_t j) {
            const Key value = key(distances_[j]);
            const int32_t cell = cell_of_[bucket(value)];
            cells[j] = cell;
            if (cell < 0) found_.emplace_back(value, int32_t(j));
        });
        std::sort(found_.begin(), found_.end());
        ranks_.resize(found_.size());
        g = 0;
        size_t last = buckets;
        int32_t rank = 0;
        for (size_t i = 0; i < found_.size(); ++i) {
            const size_t b = bucket(found_[i].first);
            rank = (b == last ? rank : before_[b]) + 1;
            last = b;
            while (g < size && grid[g] < rank) ++g;
            cells[found_[i].second] = g;
            ranks_[i] = rank;
        }
    }

    // The rank of an object that was requested before `cells` was called.
    int32_t rank(int32_t j) const {
        const std::pair<Key, int32_t> self(key(distances_[j]), j);
        const auto at = std::lower_bound(found_.begin(), found_.end(), self);
        return ranks_[size_t(at - found_.begin())];
    }

  private:
    static constexpr int64_t kMaxBuckets = 1 << 16;

    // The bits of a non-negative number, read as an integer, grow with it.
    static Key key(T value) { return value > 0 ? std::bit_cast<Key>(value) : Key(0); }
    size_t bucket(Key value) const { return size_t((value - low_) >> shift_); }

    template <class Visit>
    void for_others(Visit&& visit) const {
        for (int64_t j = 0; j < own_; ++j) visit(j);
        for (int64_t j = own_ + 1; j < n_; ++j) visit(j);
    }

    const T* distances_ = nullptr;
    int64_t n_ = 0, own_ = 0;
    Key low_ = 0;
    int shift_ = 0;
    std::vector<int32_t> before_, cell_of_, ranks_;  // before_: objects in earlier buckets
    std::vector<char> open_;
    std::vector<std::pair<Key, int32_t>> found_;
};

// What `compare_orders` finds: for each row the k first objects in either order with their ranks
// in the other, and how many objects are among the first grid[g] of both.
struct Compared {
    int k;
    int32_t *first_ids, *first_ranks;    // nearest by the first distances, ranks by the second
    int32_t *second_ids, *second_ranks;  // nearest by the second distances, ranks by the first
    int grid_size;
    const int32_t* grid;  // ascending
    int32_t* shared;
};

// Row r of `first` and `second` holds the distances of n objects from object own[r].
template <class T>
void compare_orders(const T* first, const T* second, int64_t n_rows, int64_t n, const int32_t* own,
                    const Compared& out, int n_threads) {
    struct Scratch {
        Order<T> a, b;
        std::vector<int32_t> cells_a, cells_b, counts;
    };
    std::vector<Scratch> scratch(size_t(std::max(n_threads, 1)));
    parallel_chunks(n_rows, n_threads, [&](int64_t r, int thread) {
        Scratch& s = scratch[size_t(thread)];
        s.cells_a.resize(size_t(n));
        s.cells_b.resize(size_t(n));
        s.a.read(first + r * n, n, own[r]);
        s.b.read(second + r * n, n, own[r]);
        const int64_t at = r * out.k;
        s.a.nearest(out.k, out.first_ids + at);
        s.b.nearest(out.k, out.second_ids + at);
        for (int64_t i = at; i < at + out.k; ++i) {
            s.b.request(out.first_ids[i]);
            s.a.request(out.second_ids[i]);
        }
        s.a.cells(out.grid, out.grid_size, s.cells_a.data());
        s.b.cells(out.grid, out.grid_size, s.cells_b.data());
        for (int64_t i = at; i < at + out.k; ++i) {
            out.first_ranks[i] = s.b.rank(out.first_ids[i]);
            out.second_ranks[i] = s.a.rank(out.second_ids[i]);
        }
        const size_t size = size_t(out.grid_size), places = size + 1;
        s.counts.assign(4 * places, 0);  // four sets, since most objects are in the same few cells
        s.cells_a[size_t(own[r])] = s.cells_b[size_t(own[r])] = out.grid_size;
        for (size_t j = 0; j < size_t(n); ++j)
            ++s.counts[(j & 3) * places + size_t(std::max(s.cells_a[j], s.cells_b[j]))];
        int32_t total = 0;
        for (size_t g = 0; g < size; ++g) {
            for (size_t part = 0; part < 4; ++part) total += s.counts[part * places + g];
            out.shared[size_t(r) * size + g] = total;
        }
    });
}

}  // namespace lowdim
