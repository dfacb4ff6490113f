// The compiled module's table of contents. What each kernel computes is said by its NumPy twin in
// src/nestmap/core/native.
#include "bindings.hpp"
#include "cpu.hpp"
#include "frames.hpp"
#include "isa.hpp"

using namespace nestmap;

NB_MODULE(NESTMAP_MODULE, m) {
    nb::set_leak_warnings(false);  // a model that lives until the interpreter ends is no leak
    m.attr("LANES") = LANES;
    m.attr("SMALL_GROUP") = SMALL_GROUP;
    m.attr("isa") = NESTMAP_ISA;
    m.def("supported", [](const char* isa) {
        const std::string_view name = isa;
        return name == "baseline" || (name == "avx2" && runs_avx2());
    }, nb::arg("isa"));

    // Rows, dense_rows, csr_rows, pair_distances; project, group_means, largest, hash_rows, count_within
    bind_rows(m);
    // Cells, PairSet, self_join, query, near_cells, probe, repair, verify_lists, prove
    bind_search(m);
    // divide_regions, outside; small_frames, alignments; calibrate, spread, move
    bind_layout(m);
    // communities, merge_order
    bind_tree(m);
    // eigenvectors, orthonormal; convolve, even_transform
    bind_algebra(m);
}
