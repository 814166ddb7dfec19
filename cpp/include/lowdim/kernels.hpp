// The innermost loops, compiled once per instruction set and reached through a table of function
// pointers. Nothing here allocates, throws, or includes a C++ standard header: an inline function
// of the standard library compiled for AVX-512 must not become the one copy the linker keeps.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace lowdim {

// Sources that one geodesic search carries along together; one AVX-512 register of float.
inline constexpr int kLanes = 16;

// Points of a tile that is compared with one query at a time.
inline constexpr int kTile = 64;

// Widths of neighbourhoods that are averaged; one for each doubling of the number of objects.
inline constexpr int kMostScales = 48;

// The k best candidates of a row so far: a binary heap with the worst on top, ordered by
// (value, id), so that the outcome does not depend on the order in which candidates arrive.
template <class T>
struct Heap {
    T* values;
    int32_t* ids;
    int k;
};

// Points side by side, dimension by dimension: entry (t, j) of a panel is coordinate t of point j.
// Two AVX-512 registers wide.
template <class T>
inline constexpr int kPanelPoints = static_cast<int>(128 / sizeof(T));
// Queries that meet a panel at once, stored alike: entry (t, r) is coordinate t of query r.
inline constexpr int kPanelQueries = 12;

// The best candidates of many queries so far, in no order: what is no worse than the bound is
// appended, and a list that comes near its room is cut to the `keep` best by (value, id), the worst
// of which is the new bound. Appending needs no branch, unlike a heap.
template <class T>
struct Shortlists {
    T* values;
    int32_t* ids;
    int32_t* counts;
    T* bounds;
    int keep, room;
};

// A rectangle of pairwise scores: score(i, j) = scale * tile[i * stride + j] + offset.
template <class T>
struct Tile {
    const T* data;
    size_t stride;
    int rows, cols;
    int32_t first_row, first_col;  // the objects' numbers
    T scale;
};

// How a pinned point acts on the others: y_j += alpha F(Y_j) (X_j - Y_j) / Y_j (y_j - y_pin), with
// X_j the given distance times `unit`, and F a step at `reach` or exp(-Y / reach).
struct Pull {
    double unit, alpha, reach;
    bool step;
};

// How similar two points of the map at squared distance s are: w = exp(-s), or Student's
// w = (1 + s / dof)^(-(dof + 1) / 2), of which dof = 1, w = 1 / (1 + s), is the common case.
enum class Likeness { kGaussian, kCauchy, kStudent };
struct Similarity {
    Likeness likeness;
    double dof;
};

// Nodes in one or two dimensions, the second axis contiguous, under splines of order kSpline.
inline constexpr int kSpline = 6;  // nodes that a point touches on each axis
inline constexpr int kTouch = 8;   // the same with room for whole vectors, the last two untouched
struct Grid {
    int dim;
    int64_t rows, columns;  // nodes; columns is 1 in one dimension
    int64_t stride;         // numbers between the rows of a field
    double origin[2];       // the place of node (0, 0)
    double step;            // between nodes
};

// Vertices of a layout that are worked on side by side; one AVX-512 register of float.
inline constexpr int kAbreast = 16;

// The arcs of a graph for groups of kAbreast vertices. A slot holds one arc of each; the slots of
// group g are [starts[g], starts[g + 1]). A vertex with fewer arcs has some of weight 0 to itself.
template <class T>
struct Abreast {
    const int32_t* members;  // kAbreast vertices a group; -1: none
    const int64_t* starts;
    const int32_t* targets;
    const T* weights;
};

// One step of the cross-entropy layout. Points at distance d count as near by 1 / (1 + a d^2b).
template <class T>
struct LayoutStep {
    double a, b;
    double rate, momentum;
    double repulsion;  // for a vertex with arcs of total weight 1
    const T* fixed;    // where the targets stand, point by point
    int64_t n_fixed;
    int draws;           // targets that repel a vertex, drawn at random; 0: all of them
    uint32_t key;        // of the random numbers
    uint32_t stride;     // 0: every vertex draws the same targets
    const T* by_radius;  // densMAP: how much a wider or denser place of a vertex is worth, over
    const T* by_mass;    // its radius and over its mass; null: nothing
};

// Lines that are transformed side by side; one AVX-512 register.
template <class T>
inline constexpr int kLines = 64 / static_cast<int>(sizeof(T));

template <class T>
struct Kernels {
    // Offer every score of the tile to the heaps of its rows (offset[j] added), self excluded.
    void (*offer_to_rows)(const Tile<T>&, const T* offset, int row_begin, int row_end, Heap<T>);
    // The same tile read the other way: offer to the heaps of its columns (offset[i] added).
    void (*offer_to_columns)(const Tile<T>&, const T* offset, int col_begin, int col_end, Heap<T>,
                             T* bounds);
    T (*squared_distance)(const T*, const T*, size_t);
    T (*dot)(const T*, const T*, size_t);
    // Adds to sums what a few dimensions contribute to the squared distances of a query to kTile
    // points, which are stored dimension by dimension.
    void (*add_squares)(const T* query, const T* points, int dim, T* sums);
    // One pinned point at `at` acts on the points [begin, end) of y, stored dimension by dimension;
    // returns their error sum F(Y) (X - Y)^2 before they moved.
    double (*pin)(const T* distances, const Pull&, const double* at, double* y, int64_t n, int dim,
                  int64_t begin, int64_t end);
    // Relax all arcs of u for kLanes sources at once; returns how many targets got shorter and
    // writes which, each with the greatest of its shortened distances: when the search comes to
    // that distance, the node has its final distance from nearly every source.
    int (*relax)(T* lanes, int32_t u, const int32_t* targets, const T* weights, int n_arcs,
                 int32_t* shortened, T* farthest);
    // y[i, :] = sum_j a[i, j] x[j, :] for rows [begin, end) of a CSR matrix, row-major panels.
    void (*spmm)(const int64_t* indptr, const int32_t* indices, const T* data, const T* x, T* y,
                 int64_t begin, int64_t end, int width);
    // y[i, c] = sum_j a[i, j] x[c, j] for a few columns, at the speed of reading a once; and the
    // same with a[i, j]^2, so that squared distances need not be stored.
    void (*matmul)(const T* a, int64_t n_cols, const T* x, T* y, int64_t begin, int64_t end,
                   int width);
    void (*squared_matmul)(const T* a, int64_t n_cols, const T* x, T* y, int64_t begin, int64_t end,
                           int width);
    // Adds to sums the pulls sum_j (1 - delta_ij / d_ij) (x_i - x_j) of the pairs i < j with i in
    // [begin, end), on both ends of a pair; returns their raw stress. x and sums are stored
    // dimension by dimension, dissimilarities count `unit` each, and no |x| exceeds a few units.
    double (*stress_rows)(const T* dissimilarities, const T* x, T* sums, int64_t n, int dim,
                          int64_t begin, int64_t end, T unit);
    // Distances of the listed pairs [begin, end); x is stored point by point.
    void (*pair_distances)(const int32_t* first, const int32_t* second, const T* x, int dim,
                           int64_t begin, int64_t end, T* distances);
    // As stress_rows for listed pairs with weights (null: all one).
    double (*pair_gradient)(const int32_t* first, const int32_t* second, const T* distances,
                            const T* targets, const T* weights, const T* x, int dim, int64_t begin,
                            int64_t end, T* sums);
    // gradient = sum_j w_j (1 - target_j / |y - x_j|) (y - x_j); returns the stress of y.
    double (*point_gradient)(const T* targets, const T* weights, const T* x, int64_t n, int dim,
                             const T* y, T* gradient);
    // For e_j = exp(-beta d_j): sum e, sum e d and sum e d^2; writes e.
    void (*gaussian_moments)(const T* d, int64_t n, T beta, T* e, double* sums);
    // force_i = sum_j p_ij u_ij (y_i - y_j) for rows [begin, end) of a CSR matrix, where u = 1 for
    // the Gaussian and 1 / (1 + s / dof) for Student's similarity; y and force are stored point by
    // point. Where it is asked for, also sum_ij p_ij log w_ij.
    void (*attract)(const int64_t* indptr, const int32_t* indices, const T* p, const T* y, int dim,
                    const Similarity&, int64_t begin, int64_t end, T* force, double* log_sum);
    // For the points [begin, end): force_i = sum_j m_j w_ij u_ij (y_i - y_j) and z_i = sum_j m_j
    // w_ij over the n points of `others`, which are stored dimension by dimension. A point acts on
    // itself like any other. Masses may be null: all one.
    void (*repel)(const T* y, int64_t begin, int64_t end, const T* others, const T* mass, int64_t n,
                  int dim, const Similarity&, T* force, T* z);
    // Adds to the force on one point, and to its z, what n cells of points do to second order.
    // A cell is a column of `cells`: its centre of mass, mass, and second moments (upper triangle),
    // each quantity a row of length `stride`; up to three dimensions.
    void (*repel_multipoles)(const T* here, const T* cells, int64_t stride, int64_t n, int dim,
                             const Similarity&, T* force, double* z);
    // field[g] += charge_i B_g(y_i) for the listed points; charges may be null: all one. Points
    // beyond the outermost nodes are held there.
    void (*spread)(const T* y, const T* charge, const int32_t* points, int64_t count, const Grid&,
                   T* field);
    // value_i = sum_g field[g] B_g(y_i) and its gradient by y_i, for the listed points.
    void (*gather)(const T* field, const Grid&, const T* y, const int32_t* points, int64_t count,
                   T* value, T* gradient);
    // out[r, j] = start[j] + sum_t queries[t, r] panel[t, j], summed in the order of t, so that a
    // product does not depend on its company.
    void (*panel_products)(const T* queries, const T* panel, const T* start, int64_t dim, T* out);
    // Offer those sums of the first n_points of a panel to up to kPanelQueries lists: query r has
    // list lists[r] and is itself the point selves[r]. The points are numbered from `first`.
    void (*offer_panel)(const T* queries, const T* panel, const T* start, int64_t dim, int n_points,
                        int32_t first, int n_queries, const int32_t* selves, const int32_t* lists,
                        Shortlists<T>);
    // Cut a list down to the `keep` that come first by (value, id).
    void (*cut_list)(Shortlists<T>, int32_t list);
    // Moves the vertices of the groups [begin, end) from `at` to `moved`, point by point; returns
    // their cross-entropy before, if asked for. scratch: 3 dim kAbreast entries.
    double (*layout_step)(const Abreast<T>&, const LayoutStep<T>&, const T* at, T* velocity,
                          T* moved, int dim, int64_t begin, int64_t end, bool loss, T* scratch);
    // Each vertex's sum of nearness over its arcs, and of nearness times squared distance.
    void (*layout_radii)(const Abreast<T>&, const T* at, double a, double b, int dim, int64_t begin,
                         int64_t end, T* mass, T* spread);
    // A row of neighbours' probabilities p = exp(-cost) against those of the map, q the mean over
    // the scales h of q_h = exp(-precision_h s) / z_h, at squared distances s; precisions ascend.
    // Writes KL(p || q), KL(q || p), and the slopes by s of the first times trade_off plus the
    // second times 1 - trade_off. `work` has room for (n_scales + 2) n.
    void (*divergence_row)(const T* cost, const T* s, int64_t n, const T* precision, int n_scales,
                           T trade_off, T* work, T* slope, double* divergences);
    // One coordinate of sum_j 2 slope_j (at - x_j), each term taken off pulls_j unless that is
    // null.
    T (*pull_apart)(const T* slope, const T* x, int64_t n, T at, T* pulls);
    // The Fourier transforms of kLines<T> lines of n points; line l has its point k at k kLines +
    // l. `turns` holds the factors of the passes. Exchanging re and im transforms backwards. True
    // if the result is in the other room, which is needed in any case.
    bool (*fourier)(T* re, T* im, T* other_re, T* other_im, int64_t n, const int* radices,
                    int passes, const T* turns);
};

// The table in use: the widest instruction set this machine has, or the one that the environment
// variable LOWDIM_ISA names (portable, avx2, avx512).
template <class T>
const Kernels<T>& kernels();
const char* isa_name();

}  // namespace lowdim
