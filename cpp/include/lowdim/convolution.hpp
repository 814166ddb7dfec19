// Convolution of a field with an even kernel, by Fourier transforms in two dimensions. The field
// fills a quarter of the padded square; lines that are known to be zero are not transformed.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lowdim/buckets.hpp"
#include "lowdim/elementary.hpp"
#include "lowdim/kernels.hpp"
#include "lowdim/parallel.hpp"

namespace lowdim {

// How lines of n points are transformed, n a product of 2, 3 and 5.
template <class T>
struct FourierPlan {
    int64_t n;
    std::vector<int> radices;
    std::vector<T> twiddles;  // the factors of every pass, in the order in which they are used

    explicit FourierPlan(int64_t length) : n(length) {
        int64_t left = n;
        for (int r : {4, 2, 3, 5})
            while (left % r == 0) {
                radices.push_back(r);
                left /= r;
            }
        if (n < 1 || left != 1) throw std::invalid_argument("lengths must be of factors 2, 3, 5");
        left = n;
        for (int r : radices) {
            for (int64_t p = 0; p < left / r; ++p)
                for (int k = 1; k < r; ++k) {
                    const RootOfUnity root(p * k % left, left);
                    twiddles.push_back(static_cast<T>(root.cos));
                    twiddles.push_back(static_cast<T>(-root.sin));
                }
            left /= r;
        }
    }
};

// Buffers for one batch of lines, and its transforms in place.
template <class T>
class Lines {
  public:
    explicit Lines(int64_t n)
        : re_(static_cast<size_t>(n * kLines<T>)),
          im_(re_.size()),
          other_re_(re_.size()),
          other_im_(re_.size()) {}
    T* re() { return re_.data(); }
    T* im() { return im_.data(); }
    void forward(const FourierPlan<T>& plan) { run(plan, re_, im_, other_re_, other_im_); }
    void backward(const FourierPlan<T>& plan) { run(plan, im_, re_, other_im_, other_re_); }

  private:
    static void run(const FourierPlan<T>& plan, Buffer<T>& a, Buffer<T>& b, Buffer<T>& c,
                    Buffer<T>& d) {
        if (kernels<T>().fourier(a.data(), b.data(), c.data(), d.data(), plan.n,
                                 plan.radices.data(), int(plan.radices.size()),
                                 plan.twiddles.data())) {
            std::swap(a, c);
            std::swap(b, d);
        }
    }
    Buffer<T> re_, im_, other_re_, other_im_;
};

// The Fourier transform of an even function on a grid, whose values at the first quarter of the
// nodes (rows, columns) become the first quarter of the transform. The periods are 2 (rows - 1) and
// 2 (columns - 1). Two lines are transformed as one complex line, because the transform of an even
// line is real.
inline void even_transform(double* values, int64_t rows, int64_t columns, int n_threads) {
    constexpr int64_t V = kLines<double>;
    // Lines of `count` values `step` apart, the first ones `next` apart.
    const auto transform = [&](int64_t n_lines, int64_t next, int64_t count, int64_t step) {
        const FourierPlan<double> plan(2 * (count - 1));
        parallel_ranges(n_lines, 8 * V, n_threads, [&](int64_t begin, int64_t end, int) {
            Lines<double> lines(plan.n);
            for (int64_t first = begin; first < end; first += 2 * V) {
                const auto each = [&](const auto& take) {
                    for (int64_t k = 0; k < count; ++k)
                        for (int64_t l = 0; l < 2 * V; ++l)
                            take((l < V ? lines.re() : lines.im()) + l % V, k, first + l);
                };
                each([&](double* line, int64_t k, int64_t at) {
                    const double value = at < end ? values[at * next + k * step] : 0.0;
                    line[k * V] = line[(plan.n - k) % plan.n * V] = value;
                });
                lines.forward(plan);
                each([&](const double* line, int64_t k, int64_t at) {
                    if (at < end) values[at * next + k * step] = line[k * V];
                });
            }
        });
    };
    transform(rows, columns, columns, 1);
    transform(columns, 1, rows, columns);
}

template <class T>
class Convolution {
    static constexpr int64_t V = kLines<T>;
    static constexpr int64_t kBlock =
        64;  // columns transposed at a time, so that they stay in cache

  public:
    // The kernel's transform for the padded lengths, which is real and even: its rows
    // [0, rows / 2] and columns [0, columns / 2].
    Convolution(int64_t rows, int64_t columns, const T* transform, int n_threads)
        : row_plan_(columns), column_plan_(rows), panels_((columns / 2 + 1 + V - 1) / V) {
        const T scale = static_cast<T>(1 / (double(rows) * double(columns)));
        const int64_t kept = columns / 2 + 1;
        transform_.resize(static_cast<size_t>(panels_ * rows * V));
        parallel_ranges(panels_, 4, n_threads, [&](int64_t begin, int64_t end, int) {
            for (int64_t panel = begin; panel < end; ++panel)
                for (int64_t i = 0; i < rows; ++i) {
                    const T* from = transform + std::min(i, rows - i) * kept + panel * V;
                    T* to = transform_.data() + (panel * rows + i) * V;
                    const int64_t count = std::min(V, kept - panel * V);
                    for (int64_t k = 0; k < V; ++k) to[k] = k < count ? scale * from[k] : T(0);
                }
        });
    }

    int64_t rows() const { return column_plan_.n; }
    int64_t columns() const { return row_plan_.n; }

    // The field (rows, columns), at most half of the padded lengths, becomes its convolution. Not
    // thread-safe: the buffers of the spectra are kept between calls.
    void apply(T* field, int64_t rows, int64_t columns, int n_threads) {
        re_.resize(static_cast<size_t>(panels_ * rows * V));
        im_.resize(re_.size());
        while (int(lines_.size()) < n_threads)
            lines_.emplace_back(std::max(row_plan_.n, this->rows()));
        const int64_t groups = (rows + 2 * V - 1) / (2 * V);
        parallel_chunks(groups, n_threads, [&](int64_t g, int thread) {
            Lines<T>& lines = lines_[size_t(thread)];
            load_rows(field, g * 2 * V, rows, columns, lines);
            lines.forward(row_plan_);
            store_spectra(lines, g * 2 * V, rows);
        });
        parallel_chunks(panels_, n_threads, [&](int64_t panel, int thread) {
            Lines<T>& lines = lines_[size_t(thread)];
            T* own_re = re_.data() + panel * rows * V;
            T* own_im = im_.data() + panel * rows * V;
            const int64_t size = column_plan_.n * V, filled = rows * V;
            std::copy(own_re, own_re + filled, lines.re());
            std::copy(own_im, own_im + filled, lines.im());
            std::fill(lines.re() + filled, lines.re() + size, T(0));
            std::fill(lines.im() + filled, lines.im() + size, T(0));
            lines.forward(column_plan_);
            const T* factor = transform_.data() + panel * size;
            T *a = lines.re(), *b = lines.im();
            for (int64_t k = 0; k < size; ++k) {
                a[k] *= factor[k];
                b[k] *= factor[k];
            }
            lines.backward(column_plan_);
            std::copy(lines.re(), lines.re() + filled, own_re);
            std::copy(lines.im(), lines.im() + filled, own_im);
        });
        parallel_chunks(groups, n_threads, [&](int64_t g, int thread) {
            Lines<T>& lines = lines_[size_t(thread)];
            load_spectra(g * 2 * V, rows, lines);
            lines.backward(row_plan_);
            store_rows(lines, g * 2 * V, rows, columns, field);
        });
    }

  private:
    // Two real rows are transformed as one complex line; V lines make a batch.
    void load_rows(const T* field, int64_t first, int64_t rows, int64_t columns,
                   Lines<T>& lines) const {
        const int64_t from_here = first + 2 * V <= rows ? columns * V : 0;
        std::fill(lines.re() + from_here, lines.re() + row_plan_.n * V, T(0));
        std::fill(lines.im() + from_here, lines.im() + row_plan_.n * V, T(0));
        for (int64_t block = 0; block < columns; block += kBlock)
            for (int64_t l = 0; l < std::min(2 * V, rows - first); ++l) {
                T* to = (l % 2 == 0 ? lines.re() : lines.im()) + l / 2;
                const T* from = field + (first + l) * columns;
                for (int64_t k = block; k < std::min(block + kBlock, columns); ++k)
                    to[k * V] = from[k];
            }
    }
    void store_rows(Lines<T>& lines, int64_t first, int64_t rows, int64_t columns, T* field) const {
        for (int64_t block = 0; block < columns; block += kBlock)
            for (int64_t l = 0; l < std::min(2 * V, rows - first); ++l) {
                const T* from = (l % 2 == 0 ? lines.re() : lines.im()) + l / 2;
                T* to = field + (first + l) * columns;
                for (int64_t k = block; k < std::min(block + kBlock, columns); ++k)
                    to[k] = from[k * V];
            }
    }
    // z = a + i b has a_k = (z_k + z*_{n-k}) / 2 and b_k = (z_k - z*_{n-k}) / 2i. The spectra are
    // stored in panels of V columns, row by row.
    void store_spectra(Lines<T>& lines, int64_t first, int64_t rows) {
        const int64_t n = row_plan_.n;
        T *re = re_.data(), *im = im_.data();
        const T *zr = lines.re(), *zi = lines.im();
        for (int64_t k = 0; k <= n / 2; ++k) {
            const T *ar = zr + k * V, *ai = zi + k * V;
            const T *br = zr + ((n - k) % n) * V, *bi = zi + ((n - k) % n) * V;
            const int64_t at = (k / V) * rows * V + k % V;
            for (int64_t l = 0; l < V && first + 2 * l < rows; ++l) {
                const int64_t even = at + (first + 2 * l) * V;
                re[even] = (ar[l] + br[l]) / 2;
                im[even] = (ai[l] - bi[l]) / 2;
                if (first + 2 * l + 1 >= rows) continue;
                re[even + V] = (ai[l] + bi[l]) / 2;
                im[even + V] = (br[l] - ar[l]) / 2;
            }
        }
    }
    void load_spectra(int64_t first, int64_t rows, Lines<T>& lines) const {
        const T *re = re_.data(), *im = im_.data();
        const int64_t n = row_plan_.n;
        T *zr = lines.re(), *zi = lines.im();
        for (int64_t k = 0; k <= n / 2; ++k) {
            T *ar = zr + k * V, *ai = zi + k * V;
            T *br = zr + ((n - k) % n) * V, *bi = zi + ((n - k) % n) * V;
            const int64_t at = (k / V) * rows * V + k % V;
            for (int64_t l = 0; l < V && first + 2 * l < rows; ++l) {
                const int64_t even = at + (first + 2 * l) * V;
                const bool both = first + 2 * l + 1 < rows;
                const T pr = re[even], pi = im[even];
                const T qr = both ? re[even + V] : T(0), qi = both ? im[even + V] : T(0);
                br[l] = pr + qi;  // a* + i b*, overwritten below where k = n - k
                bi[l] = qr - pi;
                ar[l] = pr - qi;  // a + i b
                ai[l] = pi + qr;
            }
        }
    }

    FourierPlan<T> row_plan_, column_plan_;
    int64_t panels_;
    Buffer<T> transform_;  // in panels, as the spectra
    Buffer<T> re_, im_;
    std::vector<Lines<T>> lines_;  // one per thread
};

}  // namespace lowdim
