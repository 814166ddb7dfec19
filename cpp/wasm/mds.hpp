// Metric multidimensional scaling by majorization; in Python stress/majorization.py.
#pragma once
#include <deque>

#include "eigenpairs.hpp"
#include "lowdim/stress.hpp"
#include "tsne.hpp"

namespace lowdim::wasm {

struct Majorized {
    Matrix<double> embedding;
    double stress;
};

// Minimises sum_{i<j} (d_ij - |x_i - x_j|)^2 by quasi-Newton steps, or Guttman steps where these do
// not lower it.
inline Majorized minimize_stress(const Matrix<double>& D, Matrix<double> X, int64_t max_iter,
                                 const Report& report) {
    constexpr size_t kMemory = 6;
    constexpr int64_t kPlainSteps = 40;
    constexpr double kMaxStep = 5, kSettled = 1e-4, kEps = 1e-6;
    const auto n = D.rows;
    const auto objective = [&](const Matrix<double>& at, Matrix<double>& g) {
        g = Matrix<double>(n, at.cols);
        return stress_gradient(D.data.data(), at.data.data(), n, int(at.cols), 1, g.data.data());
    };
    const auto solve = [&](Matrix<double> g) {
        for (double& value : g.data) value /= double(n);
        return g;
    };
    const auto dot = [](const Matrix<double>& a, const Matrix<double>& b) {
        return kernels<double>().dot(a.data.data(), b.data.data(), a.data.size());
    };
    const auto add = [](Matrix<double>& a, double factor, const Matrix<double>& b) {
        for (size_t e = 0; e < a.data.size(); ++e) a.data[e] += factor * b.data[e];
    };
    Matrix<double> ones(n, 1), g, g_new;
    std::fill(ones.data.begin(), ones.data.end(), 1.0);
    const Matrix<double> rows = narrow_product(D, ones, true);
    const double total = sum(n, [&](int64_t i) { return rows(i, 0); }) / 2;

    struct Past {
        Matrix<double> moved, bent, solved;  // changes of X, g and V+ g
    };
    std::deque<Past> past;
    // The recursion of two loops (Nocedal 1980), applied to g and, in parallel, to step = V+ g.
    const auto direction = [&](Matrix<double> q, const Matrix<double>& step) {
        Matrix<double> r = step;
        std::vector<double> factors;
        for (auto p = past.rbegin(); p != past.rend(); ++p) {
            factors.push_back(dot(p->moved, q) / dot(p->moved, p->bent));
            add(q, -factors.back(), p->bent);
            add(r, -factors.back(), p->solved);
        }
        const Past& last = past.back();
        const double scale =
            std::max(1.0, dot(last.moved, last.bent) / dot(last.bent, last.solved));
        for (double& value : r.data) value *= scale;
        for (const Past& p : past) {
            const double factor = factors.back();
            factors.pop_back();
            add(r, factor - dot(p.bent, r) / dot(p.moved, p.bent), p.moved);
        }
        const double longest = kMaxStep * std::sqrt(dot(step, step));
        const double length = std::sqrt(dot(r, r));
        if (!(length > 0)) return step;
        const double shorter = std::min(1.0, longest / length);
        for (double& value : r.data) value *= shorter;
        return r;
    };

    double stress = objective(X, g), fell = std::numeric_limits<double>::infinity();
    Matrix<double> step = solve(g);
    bool failed = false, settled = false, ended = false;
    for (int64_t iteration = 1; iteration <= max_iter && !ended; ++iteration) {
        settled = settled || iteration > kPlainSteps || (!past.empty() && fell <= kSettled * total);
        const bool quasi = settled && !past.empty() && !failed;
        const Matrix<double> trial = subtract(X, quasi ? direction(g, step) : step);
        const double stress_new = objective(trial, g_new);
        failed = !(stress_new <= stress);
        if (failed && !quasi) break;  // a Guttman step fails only by rounding, at the minimum
        if (!failed) {
            const Matrix<double> step_new = solve(g_new);
            const Matrix<double> moved = subtract(trial, X), bent = subtract(g_new, g);
            if (dot(moved, bent) > 1e-10 * dot(moved, moved)) {
                past.push_back({moved, bent, subtract(step_new, step)});
                if (past.size() > kMemory) past.pop_front();
            }
            fell = stress - stress_new;
            ended = fell <= kEps * total;
            X = trial;
            g = g_new;
            step = step_new;
            stress = stress_new;
        }
        if (report) report(iteration, X);
    }
    return {X, stress};
}

}  // namespace lowdim::wasm
