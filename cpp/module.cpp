// The compiled module's table of contents. What each kernel computes is said by its NumPy twin in
// src/nestmap/_native/twins.py.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/unique_ptr.h>

#include "cells.hpp"
#include "frames.hpp"
#include "join.hpp"
#include "mosaic.hpp"
#include "probe.hpp"
#include "rows.hpp"

namespace nb = nanobind;
using namespace nestmap;

namespace {

template <class T, class Shape>
using In = nb::ndarray<const T, Shape, nb::c_contig, nb::device::cpu>;
template <class T, class Shape>
using Out = nb::ndarray<T, Shape, nb::c_contig, nb::device::cpu>;
using Vec = nb::shape<-1>;
using Mat = nb::shape<-1, -1>;
using Cube = nb::shape<-1, -1, -1>;

Norm norm_of(const char* name) { return name[1] == '1' ? Norm::L1 : Norm::L2; }

// Workers never hold the GIL; the waiting thread takes it for Ctrl-C and for the progress callback.
Poll make_poll(nb::object progress) {
    return [progress](double share) {
        nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        if (!progress.is_none()) progress(share);
    };
}

// One value for all rows, or one per row.
Affine affine(const In<double, Vec>& scale, const In<double, Vec>& shift, const In<double, Vec>& extra) {
    const auto step = [](const auto& a) { return (int64_t)(a.shape(0) > 1); };
    return {{scale.data(), step(scale)}, {shift.data(), step(shift)}, {extra.data(), step(extra)}};
}

// Memory: how the array stores its values; T: how the kernels read them.
template <class T, class Memory = T>
void bind_rows(nb::module_& m) {
    m.def("dense_rows", [](In<Memory, Mat> x, In<double, Vec> scale, In<double, Vec> shift,
                           In<double, Vec> extra) -> std::unique_ptr<Rows> {
        return std::make_unique<DenseRows<T>>(reinterpret_cast<const T*>(x.data()), x.shape(0), x.shape(1),
                                              affine(scale, shift, extra));
    }, nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(), nb::keep_alive<0, 3>(), nb::keep_alive<0, 4>());
}

template <class T>
void bind_dense(nb::module_& m) {
    m.def("project", [](In<T, Mat> x, In<double, Vec> mean, In<double, Mat> basis, Out<double, Mat> z,
                        int n_threads) {
        nb::gil_scoped_release release;
        project(x.data(), x.shape(0), x.shape(1), mean.data(), basis.data(), basis.shape(0), z.data(),
                n_threads);
    });
    m.def("group_means", [](In<T, Mat> x, In<int64_t, Vec> order, In<int64_t, Vec> starts,
                            In<double, Vec> weights, Out<T, Mat> means, int n_threads) {
        nb::gil_scoped_release release;
        group_means(x.data(), x.shape(1), order.data(), starts.data(), means.shape(0), weights.data(),
                    means.data(), n_threads);
    });
    m.def("largest", [](In<T, Vec> x, int n_threads) {
        nb::gil_scoped_release release;
        return largest(x.data(), (int64_t)x.shape(0), n_threads);
    });
    m.def("count_within", [](In<T, Mat> values, In<double, Mat> lower, In<double, Mat> upper,
                             Out<int64_t, Mat> below, Out<int64_t, Mat> upto) {
        nb::gil_scoped_release release;
        count_within(values.data(), values.shape(0), values.shape(1), lower.data(), upper.data(),
                     lower.shape(1), below.data(), upto.data());
    });
    m.def("hash_rows", [](In<T, Mat> x, Out<uint64_t, Vec> hash, int n_threads) {
        nb::gil_scoped_release release;
        hash_rows(x.data(), x.shape(0), x.shape(1), hash.data(), n_threads);
    });
}

template <class T, class I>
void bind_csr(nb::module_& m) {
    m.def("csr_rows", [](In<T, Vec> data, In<I, Vec> indices, In<I, Vec> indptr, int64_t n_cols,
                         In<double, Vec> scale, In<double, Vec> shift,
                         In<double, Vec> extra) -> std::unique_ptr<Rows> {
        return std::make_unique<CsrRows<T, I>>(data.data(), indices.data(), indptr.data(),
                                               indptr.shape(0) - 1, n_cols, affine(scale, shift, extra));
    }, nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(), nb::keep_alive<0, 3>(), nb::keep_alive<0, 5>(),
       nb::keep_alive<0, 6>(), nb::keep_alive<0, 7>());
}

void load_best(Best& best, const Out<double, Vec>& distances, const Out<int64_t, Vec>& ids) {
    for (size_t i = 0; i < ids.shape(0); ++i)
        if (ids(i) >= 0) best.set(i, distances(i), ids(i));
}

void store_best(const Best& best, Out<double, Vec>& distances, Out<int64_t, Vec>& ids) {
    std::copy(best.distances.begin(), best.distances.end(), distances.data());
    std::copy(best.ids.begin(), best.ids.end(), ids.data());
}

Lists lists_of(const Out<int32_t, Mat>& ids, const Out<float, Mat>& bounds) {
    return {(int)ids.shape(1), ids.data(), bounds.data()};
}

void bind_probe(nb::module_& m) {
    m.def("near_cells", [](const Cells& cells, Out<int32_t, Mat> near, Out<double, Vec> beyond, int n_threads,
                           nb::object progress) {
        const Poll poll = make_poll(progress);
        nb::gil_scoped_release release;
        near_cells(cells, near.shape(1), near.data(), beyond.data(), n_threads, poll);
    }, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
    m.def("probe", [](const Cells& cells, In<int32_t, Mat> near, int64_t from, int64_t to, Out<int32_t, Mat> ids,
                      Out<float, Mat> bounds, int n_threads, nb::object progress) {
        const Poll poll = make_poll(progress);
        nb::gil_scoped_release release;
        return probe(cells, near.data(), near.shape(1), from, to, lists_of(ids, bounds), n_threads, poll);
    }, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
    m.def("repair", [](const Cells& cells, In<int32_t, Mat> known, Out<int32_t, Mat> ids, Out<float, Mat> bounds,
                       int n_threads, nb::object progress) {
        const Poll poll = make_poll(progress);
        nb::gil_scoped_release release;
        repair(cells, known.data(), (int)known.shape(1), lists_of(ids, bounds), n_threads, poll);
    }, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
    m.def("verify_lists", [](const Cells& cells, const Rows& rows, Out<int32_t, Mat> ids, Out<float, Mat> bounds,
                             In<int64_t, Vec> positions, Out<double, Vec> distances, Out<int64_t, Vec> found,
                             int n_threads, nb::object progress) {
        const Poll poll = make_poll(progress);
        nb::gil_scoped_release release;
        verify_lists(cells, rows, lists_of(ids, bounds), positions.shape(0) ? positions.data() : nullptr,
                     found.shape(0), distances.data(), found.data(), n_threads, poll);
    }, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
    m.def("prove", [](const Cells& cells, In<int32_t, Mat> near, In<double, Vec> beyond, int64_t to,
                      Out<int32_t, Mat> ids, Out<float, Mat> bounds, In<double, Vec> distances,
                      Out<uint8_t, Vec> proved, int n_threads, nb::object progress) {
        const Poll poll = make_poll(progress);
        nb::gil_scoped_release release;
        prove(cells, near.data(), beyond.data(), near.shape(1), to, lists_of(ids, bounds), distances.data(),
              proved.data(), n_threads, poll);
    }, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
       nb::arg().none());
}

nb::tuple as_tuple(const JoinCounts& c) { return nb::make_tuple(c.pairs, c.refined, c.verified); }

}  // namespace

NB_MODULE(NESTMAP_MODULE, m) {
    m.attr("LANES") = LANES;
    m.attr("isa") = NESTMAP_ISA;
    m.def("supported", [](const char* isa) {
        const std::string_view name = isa;
#if defined(__x86_64__)
        __builtin_cpu_init();
        if (name == "avx2") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
        return name == "baseline";
    });

    nb::class_<Rows>(m, "Rows");
    bind_rows<float>(m);
    bind_rows<double>(m);
    bind_rows<uint8_t>(m);
    bind_rows<int8_t>(m);
    bind_rows<Half, uint16_t>(m);  // float16 arrays come as views of their bits
    bind_dense<float>(m);
    bind_dense<double>(m);
    bind_csr<float, int32_t>(m);
    bind_csr<double, int32_t>(m);
    bind_csr<float, int64_t>(m);
    bind_csr<double, int64_t>(m);

    m.def("pair_distances", [](const Rows& rows, In<int64_t, Vec> i, In<int64_t, Vec> j, Out<double, Vec> distances,
                               const char* norm) {
        nb::gil_scoped_release release;
        for (size_t k = 0; k < i.shape(0); ++k)
            distances(k) = rows.distance(i(k), rows, j(k), std::numeric_limits<double>::infinity(), norm_of(norm));
    });

    nb::class_<Cells>(m, "Cells")
        .def("__init__", [](Cells* self, In<float, Mat> z, In<float, Mat> tails, In<float, Vec> sizes,
                            In<int64_t, Vec> ids, In<int64_t, Vec> starts, int head, double slack,
                            const char* norm, int n_threads) {
            const Reduced r{(int64_t)z.shape(0), (int)z.shape(1), z.data(), tails.data(), sizes.data(), ids.data()};
            new (self) Cells(r, starts.data(), starts.shape(0) - 1, head, slack, norm_of(norm), n_threads);
        }, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>())
        .def_ro("width", &Cells::width)
        .def("centres", [](const Cells& cells, Out<float, Mat> out) {
            for (int64_t c = 0; c < cells.n_cells; ++c)
                std::copy(cells.centre(c), cells.centre(c) + cells.width, out.data() + c * cells.width);
        });

    m.def("divide_regions", [](In<int64_t, Vec> region_starts, In<double, Mat> region_points, In<int64_t, Vec> order,
                             In<int64_t, Vec> starts, In<double, Mat> offsets, In<double, Vec> shares, int rounds,
                             bool want_cells, Out<double, Mat> centres, int n_threads) {
        const MosaicInput in{(int64_t)starts.shape(0) - 1, (int64_t)order.shape(0), region_starts.data(),
                           reinterpret_cast<const Point*>(region_points.data()), order.data(), starts.data(),
                           reinterpret_cast<const Point*>(offsets.data()), shares.data(), rounds};
        const Poll poll = make_poll(nb::none());
        auto* found = new Polygons;
        nb::capsule owner(found, [](void* p) noexcept { delete static_cast<Polygons*>(p); });
        {
            nb::gil_scoped_release release;
            *found = divide_regions(in, want_cells, reinterpret_cast<Point*>(centres.data()), n_threads,
                                    poll);
        }
        using Array = nb::ndarray<nb::numpy, double, Mat, nb::c_contig>;
        using Index = nb::ndarray<nb::numpy, int64_t, Vec, nb::c_contig>;
        return nb::make_tuple(
            Index(found->starts.data(), {found->starts.size()}, owner),
            Array(reinterpret_cast<double*>(found->points.data()), {found->points.size(), 2}, owner));
    });

    bind_probe(m);

    m.def("outside", [](In<int64_t, Vec> starts, In<double, Mat> corners, In<int64_t, Vec> ids, In<double, Mat> points,
                        Out<double, Vec> out, int n_threads) {
        const Poll poll = make_poll(nb::none());
        nb::gil_scoped_release release;
        outside(starts.data(), reinterpret_cast<const Point*>(corners.data()), ids.data(),
                reinterpret_cast<const Point*>(points.data()), (int64_t)ids.shape(0), out.data(), n_threads, poll);
    });

    m.attr("SMALL_GROUP") = SMALL_GROUP;
    m.def("small_frames", [](In<float, Mat> z, In<int64_t, Vec> order, In<int64_t, Vec> starts,
                             In<double, Vec> weights, Out<double, Mat> offsets, Out<float, Cube> maps, int n_threads) {
        const Groups groups{(int64_t)starts.shape(0) - 1, order.data(), starts.data(), weights.data()};
        const Poll poll = make_poll(nb::none());
        nb::gil_scoped_release release;
        small_frames(z.data(), z.shape(1), groups, offsets.shape(1), offsets.data(), maps.data(), n_threads, poll);
    });
    m.def("alignments", [](In<float, Cube> maps, In<float, Mat> centres, In<double, Mat> anchors,
                           In<int64_t, Mat> around, Out<double, Cube> out, int n_threads) {
        const Surroundings in{(int64_t)maps.shape(0), (int64_t)maps.shape(1), (int64_t)maps.shape(2),
                              (int64_t)around.shape(1), maps.data(), centres.data(), anchors.data(), around.data()};
        const Poll poll = make_poll(nb::none());
        nb::gil_scoped_release release;
        alignments(in, out.data(), n_threads, poll);
    });

    nb::class_<PairSet>(m, "PairSet").def(nb::init<int64_t>());

    m.def("self_join", [](const Cells& cells, const Rows& rows, int64_t n_visit, PairSet& done,
                          Out<double, Vec> distances, Out<int64_t, Vec> ids, int n_threads,
                          nb::object progress) {
        Best best(cells);
        load_best(best, distances, ids);
        JoinCounts counts;
        const Poll poll = make_poll(progress);
        {
            nb::gil_scoped_release release;
            counts = self_join(cells, rows, n_visit, done, best, n_threads, poll);
        }
        store_best(best, distances, ids);
        return as_tuple(counts);
    }, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());

    m.def("query", [](const Cells& queries, const Rows& query_rows, const Cells& cells, const Rows& rows,
                      Out<double, Vec> distances, Out<int64_t, Vec> ids, int n_threads) {
        Best best(queries);
        load_best(best, distances, ids);
        JoinCounts counts;
        const Poll poll = make_poll(nb::none());
        {
            nb::gil_scoped_release release;
            counts = query(queries, query_rows, cells, rows, best, n_threads, poll);
        }
        store_best(best, distances, ids);
        return as_tuple(counts);
    });
}
