// The functions that JavaScript calls; web/src/engine/engine.ts is their typed form, and checks
// the arguments. Arrays are row by row, in memory from `allocate`.
#include <cstdlib>

#include "mds.hpp"
#include "quality.hpp"
#include "umap.hpp"

#define EXPORT(name) extern "C" __attribute__((export_name(#name)))

using namespace lowdim;
using namespace lowdim::wasm;

extern "C" __attribute__((import_module("env"), import_name("report"))) void report(
    int iteration, const double* embedding);

namespace {

void copy_to(const Matrix<double>& Y, double* out) { std::copy(Y.data.begin(), Y.data.end(), out); }
void report_map(int64_t iteration, const Matrix<double>& Y) {
    report(int(iteration), Y.data.data());
}

}  // namespace

EXPORT(allocate) void* allocate(int bytes) {
    return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
}
EXPORT(release) void release(void* memory) { std::free(memory); }

EXPORT(neighbors)
void neighbors(const double* X, int n, int d, int k, int32_t* ids, double* lengths) {
    const Csr<double> graph = nearest({X, n, d}, k);
    std::copy(graph.indices.begin(), graph.indices.end(), ids);
    std::copy(graph.data.begin(), graph.data.end(), lengths);
}

// Also writes the variances along the axes and, after them, the total variance.
EXPORT(pca) void pca(const double* X, int n, int d, int dim, double* Y, double* variances) {
    const Principal result = principal_components({X, n, d}, dim, 0);
    copy_to(result.scores, Y);
    std::fill(variances, variances + dim, 0.0);
    std::copy(result.variances.begin(), result.variances.end(), variances);
    variances[dim] = result.total;
}

EXPORT(classical_mds) void classical_mds(const double* D, int n, int dim, double* Y) {
    copy_to(classical_scaling({D, n, n}, dim, 0), Y);
}

// Of the Euclidean distances of n rows of d numbers, or of an n x n matrix of dissimilarities.
EXPORT(mds)
double mds(const double* X, int n, int d, bool precomputed, int dim, int max_iter, double* Y) {
    const Matrix<double> given(X, n, d);
    const Matrix<double> D = precomputed ? given : distance_matrix(given);
    const Matrix<double> start = !precomputed && dim <= std::min(n, d)
                                     ? principal_start(given, dim)
                                     : classical_scaling(D, dim, kStart);
    const Majorized result = minimize_stress(D, start, max_iter, report_map);
    copy_to(result.embedding, Y);
    return result.stress;
}

EXPORT(tsne)
void tsne(const double* X, int n, int d, int dim, double perplexity, int max_iter,
          double early_exaggeration, bool random_start, unsigned seed, double* Y) {
    Tsne options;
    options.perplexity = perplexity;
    options.max_iter = max_iter;
    options.early_exaggeration = early_exaggeration;
    options.random_start = random_start;
    options.seed = seed;
    copy_to(wasm::tsne({X, n, d}, dim, options, report_map), Y);
}

EXPORT(umap)
void umap(const double* X, int n, int d, int dim, int n_neighbors, double min_dist, int n_epochs,
          unsigned seed, double* Y) {
    copy_to(wasm::umap({X, n, d}, dim, {n_neighbors, n_epochs, min_dist, seed}, report_map), Y);
}

// Writes the area under R_NX, trustworthiness and continuity.
EXPORT(quality)
void quality(const double* X, int n, int d, const double* Y, int dim, int k, double* out) {
    const Quality result = wasm::quality({X, n, d}, {Y, n, dim}, k);
    out[0] = result.rnx_auc;
    out[1] = result.trustworthiness;
    out[2] = result.continuity;
}
