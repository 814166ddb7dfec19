// The extension module: one function per topic adds its part.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

#include "lowdim/kernels.hpp"

namespace lowdim {

void bind_affinities(nanobind::module_&);
void bind_bregman(nanobind::module_&);
void bind_cells(nanobind::module_&);
void bind_convolution(nanobind::module_&);
void bind_copies(nanobind::module_&);
void bind_coranking(nanobind::module_&);
void bind_curvilinear(nanobind::module_&);
void bind_dense(nanobind::module_&);
void bind_descent(nanobind::module_&);
void bind_digest(nanobind::module_&);
void bind_divergence(nanobind::module_&);
void bind_elementary(nanobind::module_&);
void bind_forces(nanobind::module_&);
void bind_fuzzy(nanobind::module_&);
void bind_geodesics(nanobind::module_&);
void bind_graph(nanobind::module_&);
void bind_grid(nanobind::module_&);
void bind_isotonic(nanobind::module_&);
void bind_layout(nanobind::module_&);
void bind_neighbors(nanobind::module_&);
void bind_products(nanobind::module_&);
void bind_reconstruction(nanobind::module_&);
void bind_sammon(nanobind::module_&);
void bind_samples(nanobind::module_&);
void bind_shared(nanobind::module_&);
void bind_stochastic(nanobind::module_&);
void bind_stress(nanobind::module_&);
void bind_threads(nanobind::module_&);

}  // namespace lowdim

NB_MODULE(_native, m) {
    m.doc() = "The native core of lowdim; reached through lowdim.backends.native.";
    m.def("isa", [] { return std::string(lowdim::isa_name()); });
    lowdim::bind_affinities(m);
    lowdim::bind_bregman(m);
    lowdim::bind_cells(m);
    lowdim::bind_convolution(m);
    lowdim::bind_copies(m);
    lowdim::bind_coranking(m);
    lowdim::bind_curvilinear(m);
    lowdim::bind_dense(m);
    lowdim::bind_descent(m);
    lowdim::bind_digest(m);
    lowdim::bind_divergence(m);
    lowdim::bind_elementary(m);
    lowdim::bind_forces(m);
    lowdim::bind_fuzzy(m);
    lowdim::bind_geodesics(m);
    lowdim::bind_graph(m);
    lowdim::bind_grid(m);
    lowdim::bind_isotonic(m);
    lowdim::bind_layout(m);
    lowdim::bind_neighbors(m);
    lowdim::bind_products(m);
    lowdim::bind_reconstruction(m);
    lowdim::bind_sammon(m);
    lowdim::bind_samples(m);
    lowdim::bind_shared(m);
    lowdim::bind_stochastic(m);
    lowdim::bind_stress(m);
    lowdim::bind_threads(m);
}
