// The smoothest eigenvectors of a graph as a start; in Python spectral/starts.py and
// backends/subspace.py.
#pragma once
#include "eigenpairs.hpp"
#include "lowdim/columns.hpp"
#include "lowdim/factor.hpp"
#include "lowdim/graph.hpp"

namespace lowdim::wasm {

constexpr int64_t kModeColumns = 8;  // of the iterations, for up to four modes

// A symmetric matrix with spectrum in [0, 2]: step(V, a, b, W) is a A V + b V - W, W may be null.
template <class T>
struct Subspace {
    std::function<Matrix<T>(const Matrix<T>&, double, double, const Matrix<T>*)> step;
    Matrix<T> null;

    static Matrix<double> gram_of(const Matrix<T>& V, const Matrix<T>& W) {
        Matrix<double> out(V.cols, W.cols);
        gram<T>(V.data.data(), V.cols, W.data.data(), W.cols, V.rows, 1, out.data.data());
        return out;
    }
    static Matrix<T> combine(const Matrix<T>& V, const Matrix<double>& S) {
        const Matrix<T> small(S);
        Matrix<T> out(V.rows, S.cols);
        times<T>(V.data.data(), V.rows, V.cols, small.data.data(), S.cols, 1, out.data.data());
        return out;
    }

    // An orthonormal basis of the columns, orthogonal to `null` (Stathopoulos and Wu 2002).
    Matrix<T> basis(Matrix<T> V) const {
        for (int twice = 0; twice < 2; ++twice) {
            V = subtract(V, combine(null, gram_of(null, V)));
            const Matrix<double> square = gram_of(V, V);
            const int64_t k = V.cols;
            std::vector<double> values(static_cast<size_t>(k));
            Matrix<double> turn(k, k);
            symmetric_eigen(square.data.data(), k, values.data(), turn.data.data());
            if (values.front() <= 1e-13 * values.back()) {
                Matrix<T> Q(V.rows, k);
                Matrix<double> R(k, k);
                orthonormal_columns(V.data.data(), V.rows, k, Q.data.data(), R.data.data());
                V = Q;
                continue;
            }
            for (int64_t i = 0; i < k; ++i)
                for (int64_t j = 0; j < k; ++j) turn(i, j) /= std::sqrt(values[size_t(j)]);
            V = combine(V, turn);
        }
        return V;
    }

    // Replaces an orthonormal basis V by approximate eigenvectors; returns their eigenvalues.
    std::vector<double> ritz(Matrix<T>& V) const {
        const Matrix<double> small = gram_of(V, step(V, 1, 0, nullptr));
        Eigenpairs pairs = dense_eigenpairs(small);  // descending
        std::reverse(pairs.values.begin(), pairs.values.end());
        std::vector<int64_t> ascending(size_t(V.cols));
        std::iota(ascending.rbegin(), ascending.rend(), 0);
        V = combine(V, take_columns(pairs.vectors, ascending));
        return pairs.values;
    }
};

template <class T>
std::function<Matrix<T>(const Matrix<T>&, double, double, const Matrix<T>*)> steps_of(
    const Csr<T>& A) {
    return [&A](const Matrix<T>& V, double a, double b, const Matrix<T>* W) {
        Matrix<T> out(V.rows, V.cols);
        const AffineStep<T> step{T(a), T(b), W ? W->data.data() : nullptr, a == 1 && b == 0 && !W};
        kernels<T>().spmm(A.indptr.data(), A.indices.data(), A.data.data(), V.data.data(), step,
                          out.data.data(), 0, V.rows, int(V.cols));
        return out;
    };
}

// diag(1 / roots) A diag(1 / roots).
template <class T>
Csr<T> normalized(const Csr<double>& A, const std::vector<double>& roots) {
    Csr<T> out{A.indptr, A.indices, Buffer<T>(A.data.size())};
    for (size_t i = 0; i < roots.size(); ++i)
        for (auto e = size_t(A.indptr[i]); e < size_t(A.indptr[i + 1]); ++e)
            out.data[e] = T(A.data[e] * ((1 / roots[i]) * (1 / roots[size_t(A.indices[e])])));
    return out;
}

template <class T>
Matrix<T> unit_column(const std::vector<double>& v) {
    const auto n = int64_t(v.size());
    const double length = std::sqrt(sum(n, [&](int64_t i) { return v[size_t(i)] * v[size_t(i)]; }));
    Matrix<T> out(n, 1);
    for (size_t i = 0; i < v.size(); ++i) out.data[i] = T(v[i] / length);
    return out;
}

// By products with the inverse of the Laplacian, to about seven digits: for small graphs.
inline Matrix<double> accurate_modes(const Csr<double>& graph, int64_t k, uint32_t seed,
                                     Random& random) {
    constexpr double kShift = 1e-8, kChange = 1e-13;
    constexpr int kRounds = 60;
    const auto n = int64_t(graph.indptr.size()) - 1;
    if (n < k + 2) return random.centered<double>(n, k);
    std::vector<double> roots;
    for (size_t i = 0; i < size_t(n); ++i) {
        const auto first = size_t(graph.indptr[i]);
        const int64_t count = graph.indptr[i + 1] - graph.indptr[i];
        const double rest =
            sum(count - 1, [&](int64_t e) { return graph.data[first + 1 + size_t(e)]; });
        roots.push_back(std::sqrt(graph.data[first] + rest));
    }
    const Csr<double> walk = normalized<double>(graph, roots);
    Csr<double> L;  // (1 + shift) I - walk
    L.indptr.push_back(0);
    for (int32_t i = 0; i < n; ++i) {
        bool placed = false;
        const auto diagonal = [&] {
            L.indices.push_back(i);
            L.data.push_back(1 + kShift);
            placed = true;
        };
        for (auto e = size_t(walk.indptr[size_t(i)]); e < size_t(walk.indptr[size_t(i) + 1]); ++e) {
            if (!placed && walk.indices[e] > i) diagonal();
            L.indices.push_back(walk.indices[e]);
            L.data.push_back(-walk.data[e]);
        }
        if (!placed) diagonal();
        L.indptr.push_back(int64_t(L.indices.size()));
    }
    const SparseFactor factor(n, L.indptr.data(), L.indices.data(), L.data.data());
    const Subspace<double> problem{steps_of(L), unit_column<double>(roots)};
    Matrix<double> V =
        problem.basis(Random(seed).centered<double>(n, std::min(kModeColumns, n - 1)));
    std::vector<double> before(size_t(k), std::numeric_limits<double>::infinity());
    for (int round = 0; round < kRounds; ++round) {
        Matrix<double> solved(n, V.cols);
        factor.solve(V.data.data(), V.cols, solved.data.data());
        V = problem.basis(solved);
        const std::vector<double> values = problem.ritz(V);
        bool settled = true;
        for (size_t j = 0; j < size_t(k); ++j) {
            settled = settled && std::abs(values[j] - before[j]) <= kChange * std::abs(values[j]);
            before[j] = values[j];
        }
        if (settled) break;
    }
    V = first_columns(V, k);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < k; ++j) V(i, j) /= roots[size_t(i)];
    return fix_signs(V);
}

// By Chebyshev polynomials of the Laplacian, to a few digits: for large graphs.
inline Matrix<float> smooth_modes(const Csr<double>& graph, int64_t k, Random& random) {
    constexpr double kUpper = 2, kFirstCut = 0.025, kChange = 0.2;
    constexpr int kRounds = 8, kDegree = 20;
    const auto n = int64_t(graph.indptr.size()) - 1;
    Matrix<double> ones(n, 1);
    std::fill(ones.data.begin(), ones.data.end(), 1.0);
    std::vector<double> roots = steps_of(graph)(ones, 1, 0, nullptr).data;
    for (double& root : roots) root = std::sqrt(root);
    const Csr<float> walk = normalized<float>(graph, roots);
    const auto product = steps_of(walk);
    const auto step = [&](const Matrix<float>& V, double a, double b, const Matrix<float>* W) {
        return product(V, -a, a + b, W);
    };
    const Subspace<float> problem{step, unit_column<float>(roots)};
    Matrix<float> V = problem.basis(random.centered<float>(n, kModeColumns));
    double cut = kFirstCut * kUpper;
    std::vector<double> before(size_t(k), std::numeric_limits<double>::infinity());
    for (int round = 0; round < kRounds; ++round) {
        const double half = (kUpper - cut) / 2, middle = (kUpper + cut) / 2;
        Matrix<float> last = V, now = step(V, 1 / half, -middle / half, nullptr);
        for (int degree = 1; degree < kDegree; ++degree) {
            Matrix<float> next = step(now, 2 / half, -2 * middle / half, &last);
            last = now;
            now = next;
        }
        V = problem.basis(now);
        std::vector<double> values = problem.ritz(V);
        for (double& value : values) value = std::max(value, 5e-8 * kUpper);
        bool settled = true;
        for (size_t j = 0; j < size_t(k); ++j) {
            settled = settled && std::abs(values[j] - before[j]) <= kChange * values[j];
            before[j] = values[j];
        }
        if (settled) break;
        cut = std::clamp(values.back(), 5e-5 * kUpper, kUpper / 4);
    }
    Matrix<float> out = first_columns(V, k);
    for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < k; ++j) out(i, j) = float(double(out(i, j)) / roots[size_t(i)]);
    return fix_signs(out);
}

// The modes of each of some connected graphs; `rough` says which are in single precision.
inline std::vector<Matrix<double>> modes(const std::vector<Csr<double>>& graphs, int64_t k,
                                         Random& random, std::vector<bool>& rough) {
    constexpr double kFactorFlops = 1e9;
    const uint32_t seed = random.seed();
    Random of_rough(seed);
    std::vector<Matrix<double>> out(graphs.size());
    for (size_t g = 0; g < graphs.size(); ++g) {
        const auto n = int64_t(graphs[g].indptr.size()) - 1;
        const auto limit = int64_t(std::sqrt(kFactorFlops / double(n)));
        std::vector<int32_t> queue;
        rough.push_back(
            level_structure(n, graphs[g].indptr.data(), graphs[g].indices.data(), limit, queue)
                .second > limit);
        if (rough.back()) out[g] = Matrix<double>(smooth_modes(graphs[g], k, of_rough));
    }
    for (size_t g = 0; g < graphs.size(); ++g)
        if (!rough[g]) out[g] = accurate_modes(graphs[g], k, seed, random);
    return out;
}

// Where the components of a graph are placed: at the principal coordinates of their means, or, if
// they are few, on a spiral.
inline Matrix<double> component_centers(const std::vector<int32_t>& labels,
                                        const std::vector<int64_t>& sizes, int64_t k,
                                        const Matrix<double>& X) {
    const auto count = int64_t(sizes.size());
    if (count > k) {
        Matrix<double> sums(count, X.cols);
        for (int64_t i = 0; i < X.rows; ++i)
            for (int64_t j = 0; j < X.cols; ++j) sums(labels[size_t(i)], j) += X(i, j);
        for (int64_t c = 0; c < count; ++c)
            for (int64_t j = 0; j < X.cols; ++j) sums(c, j) /= double(sizes[size_t(c)]);
        Matrix<double> centers = principal_start(sums, k);
        const double size = largest_size(centers.data);
        for (double& value : centers.data) value /= size > 0 ? size : 1;
        if (size > 0) return centers;
    }
    Matrix<double> spiral(count, k);
    const double golden = (3 - std::sqrt(5.0)) / 2;
    for (int64_t c = 0; c < count; ++c)
        for (int64_t j = 0; j < k; ++j) {
            const double place = double(c) + 0.5;
            spiral(c, j) = std::sqrt(place / double(count)) *
                           Random::cosine_of_turns(golden * place + double(j) / 4);
        }
    return spiral;
}

struct SpectralStart {
    Matrix<double> places;
    bool single;  // whether they are numbers of single precision
};

inline SpectralStart spectral_start(const Csr<double>& graph, int64_t k, Random& random,
                                    const Matrix<double>& X) {
    constexpr int64_t kLeastComponent = 50;  // vertices; smaller ones are placed at random
    const auto n = int64_t(graph.indptr.size()) - 1;
    std::vector<int32_t> labels(static_cast<size_t>(n));
    const int64_t count =
        components(n, graph.indptr.data(), graph.indices.data(), 1, labels.data());
    std::vector<bool> rough;
    if (count == 1) {
        const Matrix<double> places = modes({graph}, k, random, rough)[0];
        return {places, rough[0]};
    }
    std::vector<int64_t> sizes(size_t(count), 0);
    std::vector<int32_t> place;  // of a vertex in its component
    for (const int32_t label : labels) place.push_back(int32_t(sizes[size_t(label)]++));
    const Matrix<double> centers = component_centers(labels, sizes, k, X);
    std::vector<double> gaps;  // to the nearest other centre
    for (int64_t c = 0; c < count; ++c) {
        double least = std::numeric_limits<double>::infinity();
        for (int64_t other = 0; other < count; ++other) {
            double square = 0;
            for (int64_t j = 0; j < k; ++j) {
                const double gap = centers(c, j) - centers(other, j);
                square += gap * gap;
            }
            if (other != c) least = std::min(least, square);
        }
        gaps.push_back(std::sqrt(least));
    }
    const double usual = 0.1 * median(gaps);
    std::vector<Csr<double>> parts;
    std::vector<int64_t> part_of(size_t(count), -1);
    for (int64_t c = 0; c < count; ++c) {
        if (sizes[size_t(c)] < kLeastComponent) continue;
        part_of[size_t(c)] = int64_t(parts.size());
        Csr<double> part;
        part.indptr.push_back(0);
        for (size_t i = 0; i < size_t(n); ++i) {
            if (labels[i] != c) continue;
            for (auto e = size_t(graph.indptr[i]); e < size_t(graph.indptr[i + 1]); ++e) {
                part.indices.push_back(place[size_t(graph.indices[e])]);
                part.data.push_back(graph.data[e]);
            }
            part.indptr.push_back(int64_t(part.indices.size()));
        }
        parts.push_back(part);
    }
    const std::vector<Matrix<double>> inside = modes(parts, k, random, rough);
    std::vector<Matrix<double>> placed(static_cast<size_t>(count));
    for (size_t c = 0; c < placed.size(); ++c) {
        placed[c] = Matrix<double>(sizes[c], k);
        if (sizes[c] > 1)
            placed[c] =
                part_of[c] >= 0 ? inside[size_t(part_of[c])] : random.centered<double>(sizes[c], k);
        const double size = largest_size(placed[c].data);
        const double scale = size > 0 ? std::max(gaps[c], usual) / 2 / size : 0;
        for (int64_t i = 0; i < sizes[c]; ++i)
            for (int64_t j = 0; j < k; ++j)
                placed[c](i, j) = centers(int64_t(c), j) + placed[c](i, j) * scale;
    }
    Matrix<double> out(n, k);
    for (int64_t i = 0; i < n; ++i)
        std::copy_n(placed[size_t(labels[size_t(i)])].row(place[size_t(i)]), k, out.row(i));
    return {out, false};
}

}  // namespace lowdim::wasm
