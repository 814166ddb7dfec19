// The innermost loops, compiled once per instruction set and reached through a table of function
// pointers. Nothing here allocates, throws, or includes a C++ standard header: an inline function
// of the standard library compiled for AVX-512 must not become the one copy the linker keeps.
//
// First the types that the kernels share with their callers, topic by topic, then the table. Points
// are stored "point by point" (n, dim) or "dimension by dimension" (dim, n), both row-major.
#pragma once
#include <stddef.h>
#include <stdint.h>

namespace lowdim {

// --- neighbors -----------------------------------------------------------------------------

// The k best candidates of a row so far: a binary heap with the worst on top, ordered by
// (value, id), so that the result does not depend on the order in which candidates arrive.
template <class T>
struct Heap {
    T* values;
    int32_t* ids;
    int k;
};

// A rectangle of pairwise scores: score(i, j) = scale * tile[i * stride + j] + offset.
template <class T>
struct Tile {
    const T* data;
    size_t stride;
    int rows, cols;
    int32_t first_row, first_col;  // the ids of the first object of the rows and of the columns
    T scale;
};

// --- cells ---------------------------------------------------------------------------------

// Points of a panel, stored dimension by dimension: entry (t, j) is coordinate t of point j. Two
// AVX-512 registers wide.
template <class T>
inline constexpr int kPanelPoints = static_cast<int>(128 / sizeof(T));
// Queries that are compared with a panel together, stored the same way: entry (t, r) is coordinate
// t of query r.
inline constexpr int kPanelQueries = 12;

// The best candidates of many queries so far, unordered. A candidate no worse than the bound is
// appended; a list that is nearly full is cut to the `keep` best by (value, id), the worst of which
// is the new bound. Unlike a heap, appending needs no branch.
template <class T>
struct Shortlists {
    T* values;
    int32_t* ids;
    int32_t* counts;
    T* bounds;
    int keep, capacity;
};

// --- stochastic ----------------------------------------------------------------------------

// Queries whose weights are applied together, and the numbers of which the columns of rows of
// points (an AVX-512 register) and the lengths of lists of points are multiples.
inline constexpr int kQuad = 4;
template <class T>
inline constexpr int kQuadColumns = static_cast<int>(64 / sizeof(T));
inline constexpr int kListBlock = 16;
static_assert(kPanelQueries % kQuad == 0 && kPanelPoints<double> % kListBlock == 0);

// --- coranking -----------------------------------------------------------------------------

// Points of a tile that is compared with one query at a time.
inline constexpr int kTile = 64;

// --- geodesics -----------------------------------------------------------------------------

// Sources that one search handles together; one AVX-512 register of float.
inline constexpr int kLanes = 16;

// --- curvilinear ---------------------------------------------------------------------------

// How a pinned point moves the others: y_j += alpha F(Y_j) (X_j - Y_j) / Y_j (y_j - y_pin), where
// Y_j is the distance on the map, X_j the given distance times `unit`, and F is a step function at
// `reach` or exp(-Y / reach).
struct PinForce {
    double unit, alpha, reach;
    bool step;
};

// --- attraction and repulsion --------------------------------------------------------------

// The similarity of two points of the map at squared distance s: w = exp(-s), or Student's
// w = (1 + s / dof)^(-(dof + 1) / 2), whose common case dof = 1, w = 1 / (1 + s), is Cauchy's.
enum class SimilarityKind { kGaussian, kCauchy, kStudent };
struct Similarity {
    SimilarityKind kind;
    double dof;
};

// --- grid ----------------------------------------------------------------------------------

// Nodes in one or two dimensions, the second axis contiguous, with splines of order kSplineOrder.
inline constexpr int kSplineOrder = 6;  // nodes per axis on which the spline of a point is not zero
inline constexpr int kSplineWidth = 8;  // the same padded to whole vectors, with weights of zero
struct Grid {
    int dim;
    int64_t rows, columns;  // nodes; columns is 1 in one dimension
    int64_t stride;         // distance between the rows of a field, in entries
    double origin[2];       // coordinates of node (0, 0)
    double step;            // distance between nodes
};

// --- layout --------------------------------------------------------------------------------

// Vertices that a layout handles together; one AVX-512 register of float.
inline constexpr int kGroupSize = 16;

// The arcs of a graph, for groups of kGroupSize vertices. A slot holds one arc of each vertex of a
// group; the slots of group g are [starts[g], starts[g + 1]). A vertex with fewer arcs than the
// others of its group has arcs of weight 0 to itself in the remaining slots.
template <class T>
struct VertexGroups {
    int64_t n_groups;
    const int32_t* members;  // kGroupSize vertices per group; -1 where there is none
    const int64_t* starts;
    const int32_t* targets;
    const T* weights;
};

// Powers x^b of numbers between 2^kFirstOctave and 2^(kFirstOctave + kOctaves): the power of the
// power of two below x, from a table, times a polynomial in what x is over it, less 3/2.
inline constexpr int kFirstOctave = -20, kOctaves = 64, kPowerTerms = 7;
struct PowerTable {
    double octaves[kOctaves], terms[kPowerTerms];
    bool squared;  // whether they are those of x^(b/2): a short polynomial does not do for large b
};

// Parameters of UMAP's force law: points at distance d are similar by largest / (1 + a d^2b), where
// a largest similarity below 1 needs b = 1.
struct UmapCurve {
    // Of the parameters in their order below; in layout.hpp.
    UmapCurve(double scale, double exponent, double most = 1);

    double a, b, largest;
    PowerTable powers;
};

// One step of a layout, whatever the force law.
template <class T>
struct LayoutStep {
    double rate, momentum;
    double repulsion;  // of a vertex whose arcs have total weight 1
    const T* fixed;    // coordinates of the targets, point by point
    int64_t n_fixed;
    int n_negatives;  // targets drawn at random that repel a vertex; 0: all targets repel it
    uint32_t key;     // of the random numbers of this step
    uint32_t stride;  // between the keys of two vertices; 0: all vertices draw the same targets
    // densMAP: the derivative of its objective by the log radius of each vertex, divided by the
    // spread and by the mass of `umap_radii`; null: no density term.
    const T* gradient_over_spread;
    const T* gradient_over_mass;
    const T* masses;  // factors of the repulsion by each target; null: 1
};

// The loss weight d / (constant + d) of an arc between points at squared distance s, d = 1 + s: an
// attraction that saturates at the distance of the constant, or a repulsion if the weight is
// negative. A positive reach multiplies its force by reach / sqrt(d).
struct SaturatingLaw {
    double constant, weight, reach;
};

// Triplets (i, j, k) of n vertices i: each has n_near vertices j, in the rows of near (n_near, n),
// and for each of these n_far vertices k = (i + shift) mod n, with a shift for each group of
// kGroupSize vertices i, (n_near, n_far, n / kGroupSize), and weights (n_near, n_far, n).
template <class T>
struct Triplets {
    int64_t n, n_near, n_far;
    const int32_t* near;
    const int32_t* shifts;
    const T* weights;
};

// A well-mixed function of a number (Wellons's hash "lowbias32").
inline uint32_t hashed(uint32_t h) {
    h ^= h >> 16;
    h *= 0x7feb352du;
    h ^= h >> 15;
    h *= 0x846ca68bu;
    return h ^ (h >> 16);
}

// --- products ------------------------------------------------------------------------------

// What becomes of a product A x: scale A x + shift x - before. A step of a three-term recurrence
// of polynomials of A, in one pass over the memory.
template <class T>
struct AffineStep {
    T scale = 1, shift = 0;
    const T* before = nullptr;  // null: nothing is subtracted
    bool plain = true;          // A x itself, also where x is not finite
};

// --- divergence ----------------------------------------------------------------------------

// Scales that are averaged at most: one for each doubling of the number of objects.
inline constexpr int kMaxScales = 48;

// --- convolution ---------------------------------------------------------------------------

// Lines that are transformed together; one AVX-512 register.
template <class T>
inline constexpr int kLines = 64 / static_cast<int>(sizeof(T));

// --- the table -----------------------------------------------------------------------------

template <class T>
struct Kernels {
    // neighbors: offer every score of the tile to the heaps of its rows (offset[j] added), or to
    // those of its columns (offset[i] added). An object is not offered to itself.
    void (*offer_to_rows)(const Tile<T>&, const T* offset, int row_begin, int row_end, Heap<T>);
    void (*offer_to_columns)(const Tile<T>&, const T* offset, int col_begin, int col_end, Heap<T>,
                             T* bounds);
    T (*squared_distance)(const T*, const T*, size_t);
    T (*dot)(const T*, const T*, size_t);

    // coranking: adds to sums what a few dimensions contribute to the squared distances of a query
    // to kTile points, which are stored dimension by dimension.
    void (*add_squares)(const T* query, const T* points, int dim, T* sums);

    // curvilinear: the point pinned at `at` moves the points [begin, end) of y, stored dimension by
    // dimension; returns their error sum F(Y) (X - Y)^2 before they moved.
    double (*pin)(const T* distances, const PinForce&, const double* at, double* y, int64_t n,
                  int dim, int64_t begin, int64_t end);

    // geodesics: relaxes all arcs of u for kLanes sources; returns how many targets got a shorter
    // distance and writes which, each with the greatest of its shortened distances: when the search
    // reaches that distance, the node has its final distance from nearly every source.
    int (*relax)(T* lanes, int32_t u, const int32_t* targets, const T* weights, int n_arcs,
                 int32_t* shortened, T* farthest);

    // products: y = scale A x + shift x - before for rows [begin, end) of a CSR matrix A, and x, y
    // and `before` row-major.
    void (*spmm)(const int64_t* indptr, const int32_t* indices, const T* data, const T* x,
                 const AffineStep<T>&, T* y, int64_t begin, int64_t end, int width);
    // y[i, c] = sum_j a[i, j] x[c, j] for a few columns, limited by reading a once; and the same
    // with a[i, j]^2, so that squared distances need not be stored.
    void (*matmul)(const T* a, int64_t n_cols, const T* x, T* y, int64_t begin, int64_t end,
                   int width);
    void (*squared_matmul)(const T* a, int64_t n_cols, const T* x, T* y, int64_t begin, int64_t end,
                           int width);

    // stress: adds to sums the gradients sum_j (1 - delta_ij / d_ij) (x_i - x_j) of the pairs i < j
    // with i in [begin, end), at both ends of a pair; returns their raw stress. x and sums are
    // stored dimension by dimension, dissimilarities are multiplied by `unit`, and no |x| exceeds a
    // few units.
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

    // affinities: for e_j = exp(-beta d_j): sum e, sum e d and sum e d^2; writes e.
    void (*gaussian_moments)(const T* d, const T* weight, int64_t n, T beta, T* e, double* sums);

    // attraction: force_i = sum_j p_ij u_ij (y_i - y_j) for rows [begin, end) of a CSR matrix,
    // where u = 1 for the Gaussian and 1 / (1 + s / dof) for Student's similarity; y and force are
    // stored point by point. With log_sum, also sum_ij p_ij log w_ij.
    void (*attract)(const int64_t* indptr, const int32_t* indices, const T* p, const T* y, int dim,
                    const Similarity&, int64_t begin, int64_t end, T* force, double* log_sum);

    // repulsion: for the points [begin, end), force_i = sum_j m_j w_ij u_ij (y_i - y_j) and
    // z_i = sum_j m_j w_ij over the n points of `others`, which are stored dimension by dimension.
    // A point that is one of the others also acts on itself. Masses may be null: all one.
    void (*repel)(const T* y, int64_t begin, int64_t end, const T* others, const T* mass, int64_t n,
                  int dim, const Similarity&, T* force, T* z);
    // Adds to the force on one point, and to its z, the second-order expansion of n cells of
    // points. A cell is a column of `cells`: its centre of mass, mass, and second moments (upper
    // triangle), each quantity a row of length `stride`; up to three dimensions.
    void (*repel_multipoles)(const T* here, const T* cells, int64_t stride, int64_t n, int dim,
                             const Similarity&, T* force, double* z);

    // grid: field[g] += charge_i B_g(y_i) for the points i = points[begin], ..., points[end - 1],
    // or begin, ..., end - 1 if `points` is null; charges may be null: all one. Points beyond the
    // outermost nodes are moved to them.
    void (*spread)(const T* y, const T* charge, const int32_t* points, int64_t begin, int64_t end,
                   const Grid&, T* field);
    // value_i = sum_g field[g] B_g(y_i) and its gradient by y_i, for the points [begin, end).
    void (*gather)(const T* field, const Grid&, const T* y, int64_t begin, int64_t end, T* value,
                   T* gradient);

    // cells: out[r, j] = start[j] + sum_t queries[t, r] panel[t, j], summed in the order of t, so
    // that a product does not depend on the other queries and points of the call.
    void (*panel_products)(const T* queries, const T* panel, const T* start, int64_t dim, T* out);
    // Offers those sums of the first n_points of a panel to up to kPanelQueries lists: query r has
    // list lists[r] and is itself the point self_places[r]. The points are numbered from `first`.
    void (*offer_panel)(const T* queries, const T* panel, const T* start, int64_t dim, int n_points,
                        int32_t first, int n_queries, const int32_t* self_places,
                        const int32_t* lists, Shortlists<T>);
    // Cuts a list to the first `keep` by (value, id).
    void (*cut_list)(Shortlists<T>, int32_t list);

    // layout: moves the vertices of the groups [begin, end) from `at` to `moved`, point by point,
    // under UMAP's law; returns their loss before the step, if asked for. scratch: 3 dim kGroupSize
    // entries.
    double (*umap_step)(const VertexGroups<T>&, const UmapCurve&, const LayoutStep<T>&, const T* at,
                        T* velocity, T* moved, int dim, int64_t begin, int64_t end, bool loss,
                        T* scratch);
    // The sum of the similarities over each vertex's arcs, and of similarity times squared
    // distance.
    void (*umap_radii)(const VertexGroups<T>&, const UmapCurve&, const T* at, int dim,
                       int64_t begin, int64_t end, T* mass, T* spread);

    // Adds the gradient of a saturating law at the vertices of the groups [begin, end); returns
    // their loss, that of an arc and its opposite being the same pair's. scratch: 3 dim kGroupSize
    // entries.
    double (*saturating_gradient)(const VertexGroups<T>&, const SaturatingLaw&, const T* at,
                                  T* gradient, int dim, int64_t begin, int64_t end, T* scratch);

    // triplets: adds the gradient of the loss weight d_ij / (d_ij + d_ik), d_ij = 1 + |y_i -
    // y_j|^2, of the triplets of the vertices [begin, end) to those of all three points; returns
    // the loss. at and gradient have one coordinate of all points after the other. scratch: 4 dim
    // kGroupSize entries.
    double (*triplet_rows)(const Triplets<T>&, const T* at, int dim, int64_t begin, int64_t end,
                           T* gradient, T* scratch);

    // divergence: a row of neighbours' probabilities p = exp(-cost) against those of the map, q the
    // mean over the scales h of q_h = exp(-precision_h s) / z_h, at squared distances s; precisions
    // ascend. Writes KL(p || q), KL(q || p), and the derivatives by s of the first times trade_off
    // plus the second times 1 - trade_off. An entry stands for as many equal ones as its weight;
    // weights may be null: all one. `work` has (n_scales + 2) n entries.
    void (*divergence_row)(const T* cost, const T* weight, const T* s, int64_t n,
                           const T* precision, int n_scales, T trade_off, T* work, T* slope,
                           double* divergences);
    // -log q of the same q. `work` has 2 n entries.
    void (*mixture_row)(const T* weight, const T* s, int64_t n, const T* precision, int n_scales,
                        T* work, T* cost);
    // One coordinate of the gradient sum_j 2 slope_j (at - x_j); subtracts each term from
    // gradients_j, the gradient of the other point, unless that is null.
    T (*slope_gradient)(const T* slope, const T* x, int64_t n, T at, T* gradients);

    // stochastic: lists the points whose score is within `reach` of the best of any of kQuad
    // queries, in ascending order, and others beside them. `found` gets their scores less the best
    // of the query, those of a query `stride` after those of the one before. Returns the length of
    // the list, a multiple of kListBlock; points that fill it up have scores with an exponential of
    // 0. The scores of a panel are those of panel_products; the queries are consecutive ones of it.
    int64_t (*near_scores)(const T* scores, int64_t n_panels, T reach, int32_t* ids, T* found,
                           int64_t stride);
    // Turns scores, of which the best is 0, into weights p_j (p - [first <= j < last]), where p_j
    // is the softmax of the scores and p the sum of p_j over [first, last); returns 1 - p.
    double (*softmax_weights)(T* scores, int32_t n, int32_t first, int32_t last);
    // Copies from a list of n points with kQuad rows of weights those that have a weight above
    // `least`, and others beside them; returns the length of the copy, a multiple of kListBlock.
    int64_t (*large_weights)(const int32_t* ids, const T* weights, int64_t n, int64_t stride,
                             T least, int32_t* kept_ids, T* kept);
    // For kQuad rows i from `row` on and the listed rows j: adds w_ij x_j to row i and w_ij x_i to
    // row j of `sums`, and w_ij to both masses. Rows have `dim` entries, a multiple of
    // kQuadColumns<T>; the weights of a row are `stride` after those of the one before.
    void (*exchange_quad)(const int32_t* ids, const T* weights, int64_t n, int64_t stride,
                          const T* x, int64_t row, int64_t dim, T* sums, T* masses);

    // convolution: the Fourier transforms of kLines<T> lines of n points; point k of line l is at
    // k kLines + l. `twiddles` holds the factors of the passes. Exchanging re and im gives the
    // backward transform. Returns true if the result is in the other buffers, which are needed in
    // any case.
    bool (*fourier)(T* re, T* im, T* other_re, T* other_im, int64_t n, const int* radices,
                    int passes, const T* twiddles);
};

// The table in use: the widest instruction set this machine has, or the one that the environment
// variable LOWDIM_ISA names (portable, avx2, avx512).
template <class T>
const Kernels<T>& kernels();
const char* isa_name();

}  // namespace lowdim
