// t-SNE; in Python neighbor_embedding/tsne.py and descent.py.
#pragma once
#include <functional>

#include "eigenpairs.hpp"
#include "lowdim/affinities.hpp"
#include "lowdim/descent.hpp"
#include "lowdim/forces.hpp"
#include "lowdim/tree.hpp"
#include "neighbors.hpp"

namespace lowdim::wasm {

// Called after some iterations, with their number and the coordinates.
using Report = std::function<void(int64_t iteration, const Matrix<double>& Y)>;

struct Tsne {
    double perplexity = 30, early_exaggeration = 12, exaggeration = 1;
    int64_t max_iter = 1000;
    uint32_t seed = 0;
    bool random_start = false;
};

// Symmetric affinities p_ij of sum 1.
inline Csr<double> joint_affinities(const Csr<double>& graph, double perplexity) {
    const auto n = int64_t(graph.indptr.size()) - 1;
    std::vector<double> squares, p(graph.data.size()), beta(static_cast<size_t>(n));
    for (const double distance : graph.data) squares.push_back(distance * distance);
    perplexity_affinities<double>(graph.indptr.data(), n, squares.data(), nullptr, perplexity, 1,
                                  p.data(), beta.data());
    Csr<double> P =
        symmetrize(n, graph.indptr.data(), graph.indices.data(), p.data(), Symmetry::kHalfSum, 1);
    const double total = sum_of(P.data.data(), int64_t(P.data.size()), 1);
    for (double& value : P.data) value /= total;
    return P;
}

// KL(P || Q) with Cauchy's kernel, in the precision T.
template <class T>
class Divergence {
  public:
    double exaggeration = 1;

    explicit Divergence(const Csr<double>& P) {
        constexpr int64_t kEntries = 1 << 16;
        P_.indptr = P.indptr;
        P_.indices = P.indices;
        P_.data.resize(P.data.size());
        std::copy(P.data.begin(), P.data.end(), P_.data.begin());
        const auto entries = int64_t(P_.data.size());
        for (int64_t begin = 0; begin < entries; begin += kEntries)
            constant_ += sum(std::min(kEntries, entries - begin), [&](int64_t e) {
                const auto p = double(P_.data[size_t(begin + e)]);
                return p * exact_log(p > 0 ? p : 1);
            });
    }

    // Sets the gradient at Y; returns the divergence if asked for, else 0.
    double operator()(const Matrix<T>& Y, bool value, Matrix<T>& gradient) const {
        constexpr int64_t kAllPairsUpTo = 4000;
        constexpr double kAngle = 0.8 * 0.5;
        const Similarity kernel{SimilarityKind::kCauchy, 1};
        const int64_t n = Y.rows;
        const int dim = int(Y.cols);
        const auto attract = [&](bool loss) {
            return attraction(P_.indptr.data(), P_.indices.data(), P_.data.data(), Y.data.data(), n,
                              dim, kernel, loss, 1, gradient.data.data());
        };
        const double logs = value ? attract(true) : 0;
        attract(false);
        Matrix<T> push(n, dim);
        std::vector<T> z(static_cast<size_t>(n));
        if (n <= kAllPairsUpTo) {
            const Matrix<T> others = transpose(Y);
            repulsion<T>(Y.data.data(), n, others.data.data(), nullptr, n, dim, kernel, 1,
                         push.data.data(), z.data());
            for (T& own : z) own -= 1;
        } else {
            Tree<T>(Y.data.data(), nullptr, n, dim, 1)
                .repel(kernel, kAngle, 1, push.data.data(), z.data());
        }
        const double normalizer = sum_of(z.data(), n, 1);
        subtract_scaled(gradient.data.data(), 4 * exaggeration, push.data.data(), 4 / normalizer,
                        n * dim, 1);
        return value ? constant_ - logs + exact_log(normalizer) : 0;
    }

    void renumber(const std::vector<int32_t>& order) { P_ = renumbered(P_, order.data(), 1); }

  private:
    Csr<T> P_;
    double constant_ = 0;
};

// Gradient descent with momentum and gains (Jacobs 1988).
template <class T>
Matrix<double> descend(const Tsne& options, const Csr<double>& P, const Matrix<double>& start,
                       const Report& report) {
    constexpr int64_t kCheckEvery = 50, kPatience = 300, kEarly = 250, kUnfolding = 100;
    constexpr int64_t kRenumberFrom = 4000;
    constexpr double kMinGradient = 1e-7, kSmallExtent = 1e-2, kMinGain = 0.01, kMaxStep = 5;
    const int64_t n = start.rows;
    Divergence<T> divergence(P);
    const Matrix<T> first(start);
    Matrix<T> Y = first, gradient = first, velocity(n, start.cols), gains(n, start.cols);
    std::fill(gains.data.begin(), gains.data.end(), T(1));
    std::vector<int32_t> order(static_cast<size_t>(n));  // original number of each point
    std::iota(order.begin(), order.end(), 0);
    const auto take = [&](const Matrix<T>& A, const std::vector<int32_t>& rows) {
        Matrix<T> out(A.rows, A.cols);
        for (int64_t i = 0; i < n; ++i) std::copy_n(A.row(rows[size_t(i)]), A.cols, out.row(i));
        return out;
    };
    const auto original = [&] {
        Matrix<double> out(n, Y.cols);
        for (int64_t i = 0; i < n; ++i) std::copy_n(Y.row(i), Y.cols, out.row(order[size_t(i)]));
        return out;
    };
    const double early = double(n) / std::max(options.early_exaggeration, 1.0) / 4;
    const double late = double(n) / std::max(options.exaggeration, 1.0) / 4;
    const int64_t n_early = std::min(kEarly, options.max_iter),
                  unfolding = std::min(kUnfolding, n_early);
    const struct {
        int64_t iterations;
        double rate, momentum, exaggeration;
    } phases[] = {{unfolding, early, 0.5, options.early_exaggeration},
                  {n_early - unfolding, early, 0.5, options.early_exaggeration},
                  {options.max_iter - n_early, late, 0.8, options.exaggeration}};
    int64_t iteration = 0;
    for (int number = 0; number < 3; ++number) {
        const auto& phase = phases[number];
        if (number > 0 && largest_size(Y.data) < largest_size(first.data) / 2) {
            Y = take(first, order);  // the exaggerated attraction has collapsed all points
            std::fill(velocity.data.begin(), velocity.data.end(), T(0));
            std::fill(gains.data.begin(), gains.data.end(), T(1));
        }
        if (number > 0 && n > kRenumberFrom) {  // near points share cache lines
            const auto curve = curve_order(Y.data.data(), n, int(Y.cols), 1).order;
            const std::vector<int32_t> along(curve.begin(), curve.end());
            divergence.renumber(along);
            for (Matrix<T>* part : {&Y, &velocity, &gains}) *part = take(*part, along);
            std::vector<int32_t> renamed;
            for (const int32_t i : along) renamed.push_back(order[size_t(i)]);
            order = renamed;
        }
        double best = std::numeric_limits<double>::infinity();
        int64_t best_at = iteration;
        divergence.exaggeration = phase.exaggeration;
        for (const int64_t end = iteration + phase.iterations; iteration < end;) {
            const bool check = (iteration + 1) % kCheckEvery == 0;
            const double loss = divergence(Y, check, gradient);
            const double norm =
                std::sqrt(momentum_step(gradient.data.data(), n, int(Y.cols),
                                        {phase.rate, phase.momentum, kMinGain, kMaxStep}, 1,
                                        Y.data.data(), velocity.data.data(), gains.data.data()));
            ++iteration;
            if (report && iteration % 10 == 0) report(iteration, original());
            if (!check) continue;
            if (loss < best) {
                best = loss;
                best_at = iteration;
            }
            if (norm <= kMinGradient && largest_size(Y.data) > kSmallExtent) break;
            if (iteration - best_at > kPatience) break;
        }
    }
    return original();
}

inline Matrix<double> tsne(const Matrix<double>& X, int64_t dim, const Tsne& options,
                           const Report& report) {
    constexpr double kStartSize = 1e-4;  // standard deviation of the first coordinate of the start
    constexpr int64_t kPreciseUpTo = 1000;
    const int64_t n = X.rows;
    const auto k = std::min<int64_t>(n - 1, int64_t(3 * options.perplexity));
    const Csr<double> P = joint_affinities(nearest(X, k), options.perplexity);
    Random random(options.seed);
    Matrix<double> start(n, dim);
    if (options.random_start) {
        start = random.normal(n, dim);
        for (double& value : start.data) value *= kStartSize;
    } else {
        start = principal_start(X, dim);
        const double mean = sum(n, [&](int64_t i) { return start(i, 0); }) / double(n);
        const double size = std::sqrt(sum(n,
                                          [&](int64_t i) {
                                              const double gap = start(i, 0) - mean;
                                              return gap * gap;
                                          }) /
                                      double(n));
        const double scale = size > 0 ? kStartSize / size : 0;
        for (double& value : start.data) value *= scale;
        std::vector<int64_t> flat;  // a coordinate without extent would never get a gradient
        const std::vector<double> ranges = extents(start);
        for (int64_t j = 0; j < dim; ++j)
            if (ranges[size_t(j)] == 0) flat.push_back(j);
        const Matrix<double> noise = random.normal(n, int64_t(flat.size()));
        for (int64_t i = 0; i < n; ++i)
            for (size_t j = 0; j < flat.size(); ++j)
                start(i, flat[j]) = kStartSize * noise(i, int64_t(j));
    }
    return n <= kPreciseUpTo ? descend<double>(options, P, start, report)
                             : descend<float>(options, P, start, report);
}

}  // namespace lowdim::wasm
