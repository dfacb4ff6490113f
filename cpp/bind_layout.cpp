// Polygons of the mosaic, and frames of small groups.
#include "bindings.hpp"
#include "frames.hpp"
#include "mosaic.hpp"

namespace nestmap {

namespace {

const Point* as_points(const In<double, Mat>& a) { return reinterpret_cast<const Point*>(a.data()); }

void bind_mosaic(nb::module_& m) {
    m.def("divide_regions", [](In<int64_t, Vec> region_starts, In<double, Mat> region_points, In<int64_t, Vec> order,
                               In<int64_t, Vec> starts, In<double, Mat> offsets, In<double, Vec> shares, int rounds,
                               bool want_polygons, Out<double, Mat> centres, int n_threads) {
        const int64_t n_groups = n_runs("starts", starts), n = length(order), n_points = length(region_points);
        check_shape("region_starts", region_starts, {n_groups + 1});
        check_shape("region_points", region_points, {n_points, 2});
        check_shape("offsets", offsets, {n, 2});
        check_shape("shares", shares, {n});
        check_shape("centres", centres, {n, 2});
        const MosaicInput in{n_groups, n, region_starts.data(), as_points(region_points), order.data(),
                             starts.data(), as_points(offsets), shares.data(), rounds};
        const Poll poll = make_poll(nb::none());
        auto* found = new Polygons;
        nb::capsule owner(found, [](void* p) noexcept { delete static_cast<Polygons*>(p); });
        {
            nb::gil_scoped_release release;
            check_starts("region_starts", region_starts.data(), n_groups, n_points);
            check_cover("starts", starts.data(), n_groups, n);
            check_permutation("order", order.data(), n);  // each child has one polygon
            check_finite("region_points", region_points.data(), 2 * n_points);
            check_finite("offsets", offsets.data(), 2 * n);
            check_shares("shares", shares.data(), n);
            *found = divide_regions(in, want_polygons, reinterpret_cast<Point*>(centres.data()),
                                    check_threads(n_threads), poll);
        }
        using Array = nb::ndarray<nb::numpy, double, Mat, nb::c_contig>;
        using Index = nb::ndarray<nb::numpy, int64_t, Vec, nb::c_contig>;
        return nb::make_tuple(
            Index(found->starts.data(), {found->starts.size()}, owner),
            Array(reinterpret_cast<double*>(found->points.data()), {found->points.size(), 2}, owner));
    }, array("region_starts"), array("region_points"), array("order"), array("starts"), array("offsets"),
       array("shares"), nb::arg("rounds"), nb::arg("want_polygons"), array("centres"), nb::arg("n_threads"));

    m.def("outside", [](In<int64_t, Vec> starts, In<double, Mat> corners, In<int64_t, Vec> ids,
                        In<double, Mat> points, Out<double, Vec> out, int n_threads) {
        const int64_t n = length(ids), n_polygons = n_runs("starts", starts);
        check_shape("corners", corners, {length(corners), 2});
        check_shape("points", points, {n, 2});
        check_shape("out", out, {n});
        const Poll poll = make_poll(nb::none());
        nb::gil_scoped_release release;
        check_starts("starts", starts.data(), n_polygons, length(corners));
        check_indices("ids", ids.data(), n, n_polygons);
        outside(starts.data(), as_points(corners), ids.data(), as_points(points), n, out.data(),
                check_threads(n_threads), poll);
    }, array("starts"), array("corners"), array("ids"), array("points"), array("out"), nb::arg("n_threads"));
}

void bind_frames(nb::module_& m) {
    m.def("small_frames", [](In<float, Mat> z, In<int64_t, Vec> order, In<int64_t, Vec> starts,
                             In<double, Vec> weights, Out<double, Mat> offsets, Out<float, Cube> maps,
                             int n_threads) {
        const int64_t n = length(z), cols = (int64_t)z.shape(1), dims = (int64_t)offsets.shape(1);
        const Groups groups{n_runs("starts", starts), order.data(), starts.data(), weights.data()};
        check_shape("order", order, {n});
        check_shape("weights", weights, {n});
        check_shape("offsets", offsets, {n, dims});
        check_shape("maps", maps, {groups.n, dims, cols});
        const Poll poll = make_poll(nb::none());
        nb::gil_scoped_release release;
        check_permutation("order", order.data(), n);  // each row has one writer
        check_starts("starts", starts.data(), groups.n, n);
        small_frames(z.data(), cols, groups, dims, offsets.data(), maps.data(), check_threads(n_threads), poll);
    }, array("z"), array("order"), array("starts"), array("weights"), array("offsets"), array("maps"),
       nb::arg("n_threads"));

    m.def("alignments", [](In<float, Cube> maps, In<float, Mat> centres, In<double, Mat> anchors,
                           In<int64_t, Mat> around, Out<double, Cube> out, int n_threads) {
        const int64_t n = length(maps), dims = (int64_t)maps.shape(1), cols = (int64_t)maps.shape(2);
        const int64_t n_around = (int64_t)around.shape(1);
        check_shape("centres", centres, {n, cols});
        check_shape("anchors", anchors, {n, dims});
        check_shape("around", around, {n, n_around});
        check_shape("out", out, {n, dims, dims});
        const Surroundings in{n, dims, cols, n_around, maps.data(), centres.data(), anchors.data(), around.data()};
        const Poll poll = make_poll(nb::none());
        nb::gil_scoped_release release;
        check_indices("around", around.data(), n * n_around, n);
        alignments(in, out.data(), check_threads(n_threads), poll);
    }, array("maps"), array("centres"), array("anchors"), array("around"), array("out"),
       nb::arg("n_threads"));
}

}  // namespace

void bind_layout(nb::module_& m) {
    bind_mosaic(m);
    bind_frames(m);
}

}  // namespace nestmap
