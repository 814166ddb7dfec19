// Repulsion by a tree of cells (Barnes and Hut 1986), in one to three dimensions. Far cells act to
// second order; points that are near each other traverse the tree together.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "lowdim/bounds.hpp"
#include "lowdim/buckets.hpp"
#include "lowdim/kernels.hpp"
#include "lowdim/parallel.hpp"

namespace lowdim {

inline constexpr int kCurveBits = 21;  // digits on each axis: 2^-21 of the map

struct CurveOrder {
    Buffer<uint64_t> keys;
    Buffer<int32_t> order;
};

// The bits of a number, dim - 1 zeros between them.
inline uint64_t spaced(uint64_t x, int dim) {
    if (dim == 1) return x;
    if (dim == 2) {
        x = (x | x << 16) & 0x0000ffff0000ffff;
        x = (x | x << 8) & 0x00ff00ff00ff00ff;
        x = (x | x << 4) & 0x0f0f0f0f0f0f0f0f;
        x = (x | x << 2) & 0x3333333333333333;
        return (x | x << 1) & 0x5555555555555555;
    }
    x = (x | x << 32) & 0x001f00000000ffff;
    x = (x | x << 16) & 0x001f0000ff0000ff;
    x = (x | x << 8) & 0x100f00f00f00f00f;
    x = (x | x << 4) & 0x10c30c30c30c30c3;
    return (x | x << 2) & 0x1249249249249249;
}

// Points in the order of Morton's curve, on which the points of every cell of a tree are
// contiguous.
template <class T>
CurveOrder curve_order(const T* y, int64_t n, int dim, int n_threads) {
    std::array<double, 3> low{}, high{};
    if (n > 0) bounds(y, n, dim, n_threads, low.data(), high.data());
    double side = 0;
    for (int c = 0; c < dim; ++c) side = std::max(side, high[size_t(c)] - low[size_t(c)]);
    const double scale = side > 0 ? double((1 << kCurveBits) - 1) / side : 0;
    // By the first digits of the keys into buckets, then by the others inside of each bucket.
    constexpr int kBucketBits = 10;
    constexpr int64_t kBuckets = int64_t(1) << kBucketBits;
    using Keyed = std::pair<uint64_t, int32_t>;
    const int64_t block = std::max<int64_t>(kBuckets, n / 64);
    Buffer<Keyed> keyed(static_cast<size_t>(n));
    const std::vector<int64_t> starts = sort_into_buckets(
        (n + block - 1) / block, kBuckets, n_threads,
        [&](int64_t b, auto&& emit) {
            for (int64_t i = b * block; i < std::min(n, (b + 1) * block); ++i) {
                uint64_t key = 0;
                for (int c = 0; c < dim; ++c) {
                    const double place = (double(y[i * dim + c]) - low[size_t(c)]) * scale;
                    key |= spaced(uint64_t(place), dim) << (dim - 1 - c);
                }
                emit(int64_t(key >> (kCurveBits * dim - kBucketBits)), Keyed{key, int32_t(i)});
            }
        },
        [&](int64_t place, const Keyed& item) { keyed[size_t(place)] = item; });
    CurveOrder found{Buffer<uint64_t>(size_t(n)), Buffer<int32_t>(size_t(n))};
    parallel_ranges(kBuckets, 16, n_threads, [&](int64_t begin, int64_t end, int) {
        for (int64_t bucket = begin; bucket < end; ++bucket) {
            const auto first = size_t(starts[size_t(bucket)]);
            const auto last = size_t(starts[size_t(bucket) + 1]);
            std::sort(keyed.data() + first, keyed.data() + last);
            for (size_t i = first; i < last; ++i) {
                found.keys[i] = keyed[i].first;
                found.order[i] = keyed[i].second;
            }
        }
    });
    return found;
}

template <class T>
class Tree {
  public:
    // The points y (n, dim), with masses or null for ones.
    Tree(const T* y, const T* mass, int64_t n, int dim, int n_threads)
        : dim_(dim), n_(n), unit_masses_(mass == nullptr) {
        CurveOrder curve = curve_order(y, n, dim, n_threads);
        keys_ = std::move(curve.keys);
        order_ = std::move(curve.order);
        points_.resize(static_cast<size_t>(n * dim));
        mass_.resize(static_cast<size_t>(n));
        parallel_ranges(n, 4096, n_threads, [&](int64_t begin, int64_t end, int) {
            for (int64_t i = begin; i < end; ++i) {
                const int64_t own = order_[size_t(i)];
                for (int c = 0; c < dim; ++c) points_[at(c, i)] = y[own * dim + c];
                mass_[size_t(i)] = mass != nullptr ? mass[own] : T(1);
            }
        });
        if (n > 0) build(n_threads);
    }

    // force and z of every point, itself excluded; a cell acts as a whole where its size is less
    // than `angle` times its distance.
    void repel(const Similarity& kernel, double angle, int n_threads, T* force, T* z) const {
        const int64_t groups = (n_ + kGroup - 1) / kGroup;
        parallel_chunks(groups, n_threads, [&](int64_t g, int) {
            Walk walk;
            const int64_t begin = g * kGroup, end = std::min(n_, begin + kGroup);
            collect(begin, end, angle, walk);
            const int rows = dim_ + 1 + dim_ * (dim_ + 1) / 2;
            const auto far = int64_t(walk.cells.size()), near = int64_t(walk.points.size());
            std::vector<T> cells(size_t(far * rows)), points(size_t(near * dim_)),
                masses(static_cast<size_t>(near));
            for (int64_t k = 0; k < far; ++k) {
                const Cell& cell = cells_[size_t(walk.cells[size_t(k)])];
                for (int r = 0; r < rows; ++r)
                    cells[size_t(r * far + k)] = static_cast<T>(cell.values[size_t(r)]);
            }
            for (int64_t k = 0; k < near; ++k) {
                const int32_t p = walk.points[size_t(k)];
                for (int c = 0; c < dim_; ++c) points[size_t(c * near + k)] = points_[at(c, p)];
                masses[size_t(k)] = mass_[size_t(p)];
            }
            std::array<T, 3 * kGroup> here{}, push{};
            std::array<T, kGroup> close{};
            const auto count = size_t(end - begin), width = size_t(dim_);
            for (size_t i = 0; i < count; ++i)
                for (int c = 0; c < dim_; ++c)
                    here[i * width + size_t(c)] = points_[at(c, begin + int64_t(i))];
            kernels<T>().repel(here.data(), 0, int64_t(count), points.data(),
                               unit_masses_ ? nullptr : masses.data(), near, dim_, kernel,
                               push.data(), close.data());
            for (size_t i = 0; i < count; ++i) {
                const auto from = size_t(begin) + i;
                double sum = double(close[i]) - double(mass_[from]);  // w = 1 on itself
                kernels<T>().repel_multipoles(&here[i * width], cells.data(), far, far, dim_,
                                              kernel, &push[i * width], &sum);
                const int64_t own = order_[from];
                for (size_t c = 0; c < width; ++c)
                    force[own * dim_ + int64_t(c)] = push[i * width + c];
                z[own] = static_cast<T>(sum);
            }
        });
    }

  private:
    static constexpr int64_t kLeaf = 8;    // points of a cell that is not divided
    static constexpr int64_t kGroup = 32;  // points that traverse the tree together
    static constexpr int64_t kPart = 256;  // points of a part of the tree that one thread builds

    struct Cell {
        std::array<double, 10> values{};  // centre of mass, mass, second moments about the centre
        std::array<double, 3> low{1e300, 1e300, 1e300}, high{-1e300, -1e300, -1e300};
        double size = 0;             // the longest side of the box around its points
        int64_t begin = 0, end = 0;  // its points
        int64_t next = 0;            // the cell after all cells inside this one
        bool leaf = false;

        void include(const std::array<double, 3>& a, const std::array<double, 3>& b, int dim) {
            for (size_t c = 0; c < size_t(dim); ++c) {
                low[c] = std::min(low[c], a[c]);
                high[c] = std::max(high[c], b[c]);
            }
        }
        // A mass at one place joins: the centre moves, and the moments follow it (Steiner).
        void add(const std::array<double, 3>& place, double m, int dim) {
            const auto d = size_t(dim);
            const double before = values[d], total = before + m;
            if (!(total > 0)) return;
            std::array<double, 3> gap{};
            for (size_t c = 0; c < d; ++c) gap[c] = place[c] - values[c];
            size_t k = d + 1;
            for (size_t a = 0; a < d; ++a)
                for (size_t b = a; b < d; ++b) values[k++] += before * m / total * gap[a] * gap[b];
            for (size_t c = 0; c < d; ++c) values[c] += m / total * gap[c];
            values[d] = total;
        }
        void add(const Cell& other, int dim) {
            std::array<double, 3> place{};
            std::copy(other.values.begin(), other.values.begin() + dim, place.begin());
            add(place, other.values[size_t(dim)], dim);
            for (size_t k = size_t(dim) + 1; k < size_t(dim + 1 + dim * (dim + 1) / 2); ++k)
                values[k] += other.values[k];
        }
    };
    struct Walk {
        std::vector<int32_t> cells, points;
    };

    size_t at(int c, int64_t i) const { return static_cast<size_t>(c * n_ + i); }

    // A cell: the points [begin, end), which share all digits above `level`.
    struct Span {
        int64_t begin, end;
        int level;

        bool leaf() const { return end - begin <= kLeaf || level < 0; }
    };

    // Calls visit(span) for the cells directly inside a cell.
    template <class Visit>
    void for_children(const Span& span, Visit&& visit) const {
        const uint64_t digit = (uint64_t(1) << dim_) - 1;
        const auto at_level = [&](uint64_t key) { return key >> (span.level * dim_) & digit; };
        for (int64_t from = span.begin; from < span.end;) {
            const uint64_t prefix = at_level(keys_[size_t(from)]);
            const auto last =
                std::partition_point(keys_.begin() + from, keys_.begin() + span.end,
                                     [&](uint64_t key) { return at_level(key) == prefix; });
            const int64_t to = last - keys_.begin();
            visit(Span{from, to, span.level - 1});
            from = to;
        }
    }

    // Cells of up to kPart points are built on several threads, then joined by those above them.
    void build(int n_threads) {
        const Span all{0, n_, kCurveBits - 1};
        std::vector<Span> spans;
        list_parts(all, spans);
        std::vector<std::vector<Cell>> parts(spans.size());
        parallel_chunks(int64_t(spans.size()), n_threads, [&](int64_t p, int) {
            grow(spans[size_t(p)], parts[size_t(p)], [](const Span&, auto&) { return false; });
        });
        size_t used = 0;
        grow(all, cells_, [&](const Span& span, std::vector<Cell>& cells) {
            if (!is_part(span)) return false;
            const auto shift = int64_t(cells.size());
            for (Cell cell : parts[used++]) {
                cell.next += shift;
                cells.push_back(cell);
            }
            return true;
        });
    }

    static bool is_part(const Span& span) { return span.leaf() || span.end - span.begin <= kPart; }

    void list_parts(const Span& span, std::vector<Span>& parts) const {
        if (is_part(span))
            parts.push_back(span);
        else
            for_children(span, [&](const Span& inner) { list_parts(inner, parts); });
    }

    // Appends a cell and those inside it, each before the cells inside it. ready(span, cells) may
    // append a cell that is there already, and tells whether it did.
    template <class Ready>
    void grow(const Span& span, std::vector<Cell>& cells, const Ready& ready) const {
        if (ready(span, cells)) return;
        const auto number = cells.size();
        cells.emplace_back();
        cells[number].begin = span.begin;
        cells[number].end = span.end;
        cells[number].leaf = span.leaf();
        if (span.leaf())
            for (int64_t i = span.begin; i < span.end; ++i) {
                std::array<double, 3> at_point{};
                for (int c = 0; c < dim_; ++c) at_point[size_t(c)] = double(points_[at(c, i)]);
                cells[number].include(at_point, at_point, dim_);
                cells[number].add(at_point, double(mass_[size_t(i)]), dim_);
            }
        else
            for_children(span, [&](const Span& inner) {
                const auto child = cells.size();
                grow(inner, cells, ready);
                cells[number].include(cells[child].low, cells[child].high, dim_);
                cells[number].add(cells[child], dim_);
            });
        for (int c = 0; c < dim_; ++c)
            cells[number].size = std::max(
                cells[number].size, cells[number].high[size_t(c)] - cells[number].low[size_t(c)]);
        cells[number].next = int64_t(cells.size());
    }

    // The cells that are far from all of the points [begin, end), and the points of the others.
    void collect(int64_t begin, int64_t end, double angle, Walk& walk) const {
        std::array<double, 3> low, high;
        low.fill(1e300);
        high.fill(-1e300);
        for (int64_t i = begin; i < end; ++i)
            for (int c = 0; c < dim_; ++c) {
                low[size_t(c)] = std::min(low[size_t(c)], double(points_[at(c, i)]));
                high[size_t(c)] = std::max(high[size_t(c)], double(points_[at(c, i)]));
            }
        for (int64_t k = 0; k < int64_t(cells_.size());) {
            const Cell& cell = cells_[size_t(k)];
            double square = 0;
            for (int c = 0; c < dim_; ++c) {
                const double v = cell.values[size_t(c)];
                const double gap = std::max({low[size_t(c)] - v, v - high[size_t(c)], 0.0});
                square += gap * gap;
            }
            if (cell.size * cell.size < angle * angle * square) {
                walk.cells.push_back(int32_t(k));
                k = cell.next;
            } else if (cell.leaf) {
                for (int64_t i = cell.begin; i < cell.end; ++i) walk.points.push_back(int32_t(i));
                k = cell.next;
            } else {
                ++k;
            }
        }
    }

    int dim_;
    int64_t n_;
    bool unit_masses_;
    Buffer<uint64_t> keys_;
    Buffer<int32_t> order_;
    Buffer<T> points_, mass_;  // in the order of the curve; points dimension by dimension
    std::vector<Cell> cells_;
};

}  // namespace lowdim
