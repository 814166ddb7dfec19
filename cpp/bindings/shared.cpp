// Sums over the columns that two sparse rows share.
#include "lowdim/shared.hpp"

#include <nanobind/stl/string.h>

#include <string>

#include "checks.hpp"

namespace lowdim {
namespace {

SharedTerm term_of(const std::string& name) {
    if (name == "count") return SharedTerm::kCount;
    if (name == "equal") return SharedTerm::kEqual;
    if (name == "product") return SharedTerm::kProduct;
    if (name == "root") return SharedTerm::kRoot;
    if (name == "overlap") return SharedTerm::kOverlap;
    if (name == "opposite") return SharedTerm::kOpposite;
    expect(name == "ratio", "term must be count, equal, product, root, overlap, opposite or ratio");
    return SharedTerm::kRatio;
}

template <class T>
void bind(nb::module_& m) {
    m.def(
        "sum_shared",
        [](In1<int64_t> row_indptr, In1<int32_t> row_indices, In1<T> row_data,
           In1<int64_t> column_indptr, In1<int32_t> column_indices, In1<T> column_data,
           const std::string& term, Out2<double> out) {
            const SharedTerm chosen = term_of(term);
            const auto width = int64_t(out.shape(1));
            const int64_t n_columns = check_csr(column_indptr, column_indices, column_data, width);
            const int64_t n_rows = check_csr(row_indptr, row_indices, row_data, n_columns);
            expect(int64_t(out.shape(0)) == n_rows, "out must have one row per row");
            const SparseRows<T> rows{row_indptr.data(), row_indices.data(), row_data.data()};
            const SparseRows<T> columns{column_indptr.data(), column_indices.data(),
                                        column_data.data()};
            const Released released;
            sum_shared(chosen, rows, n_rows, columns, width, out.data());
        },
        "row_indptr"_array, "row_indices"_array, "row_data"_array, "column_indptr"_array,
        "column_indices"_array, "column_data"_array, "term"_a, "out"_array);
}

}  // namespace

void bind_shared(nb::module_& m) {
    bind<float>(m);
    bind<double>(m);
}

}  // namespace lowdim
