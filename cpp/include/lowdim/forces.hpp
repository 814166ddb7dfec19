// Attraction along the edges of a graph, and repulsion between all points, exactly.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lowdim/kernels.hpp"
#include "lowdim/parallel.hpp"

namespace lowdim {

// force_i = sum_j p_ij u_ij (y_i - y_j); returns sum_ij p_ij log w_ij if asked for, else 0.
template <class T>
double attraction(const int64_t* indptr, const int32_t* indices, const T* p, const T* y, int64_t n,
                  int dim, const Similarity& kernel, bool loss, int n_threads, T* force) {
    constexpr int64_t kRows = 512;
    std::vector<double> parts(static_cast<size_t>((n + kRows - 1) / kRows), 0.0);
    parallel_ranges(n, kRows, n_threads, [&](int64_t begin, int64_t end, int) {
        kernels<T>().attract(indptr, indices, p, y, dim, kernel, begin, end, force,
                             loss ? &parts[static_cast<size_t>(begin / kRows)] : nullptr);
    });
    double sum = 0;
    for (double part : parts) sum += part;
    return sum;
}

// force_i = sum_j m_j w_ij u_ij (y_i - x_j) and z_i = sum_j m_j w_ij for points y and n others x,
// those stored dimension by dimension.
template <class T>
void repulsion(const T* y, int64_t n_points, const T* others, const T* mass, int64_t n, int dim,
               const Similarity& kernel, int n_threads, T* force, T* z) {
    parallel_ranges(n_points, 64, n_threads, [&](int64_t begin, int64_t end, int) {
        kernels<T>().repel(y, begin, end, others, mass, n, dim, kernel, force, z);
    });
}

}  // namespace lowdim
