// Polygons of the mosaic, frames of small groups, forces of the islands.
#include "bindings.hpp"
#include "forces.hpp"
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
        const int64_t n_around = (int64_t)around.shape(1), n_all = length(centres);  // first those that have maps
        if (n_all < n) throw std::invalid_argument("centres: must be one for each of the maps, and perhaps more");
        check_shape("centres", centres, {n_all, cols});
        check_shape("anchors", anchors, {n_all, dims});
        check_shape("around", around, {n, n_around});
        check_shape("out", out, {n, dims, dims});
        const Surroundings in{n, dims, cols, n_around, maps.data(), centres.data(), anchors.data(), around.data()};
        const Poll poll = make_poll(nb::none());
        nb::gil_scoped_release release;
        check_indices("around", around.data(), n * n_around, n_all);
        alignments(in, out.data(), check_threads(n_threads), poll);
    }, array("maps"), array("centres"), array("anchors"), array("around"), array("out"),
       nb::arg("n_threads"));
}

Grid grid_of(int64_t rows, int64_t cols, double x, double y, double spacing) {
    if (rows < 4 || cols < 4) throw std::invalid_argument("grid: must have at least 4 rows and 4 columns");
    if (!(spacing > 0)) throw std::invalid_argument("spacing=" + std::to_string(spacing) + ": must be positive");
    return {rows, cols, {(float)x, (float)y}, (float)(1 / spacing)};
}

void bind_forces(nb::module_& m) {
    m.def("calibrate", [](In<float, Mat> distances, double perplexity, Out<float, Mat> weights, int n_threads) {
        const int64_t n = length(distances), k = (int64_t)distances.shape(1);
        check_shape("weights", weights, {n, k});
        const Poll poll = make_poll(nb::none());
        nb::gil_scoped_release release;
        check_finite("distances", distances.data(), n * k);
        calibrate(distances.data(), n, k, perplexity, weights.data(), check_threads(n_threads), poll);
    }, array("distances"), nb::arg("perplexity"), array("weights"), nb::arg("n_threads"));

    m.def("spread", [](In<float, Mat> positions, In<float, Vec> masses, double x, double y, double spacing,
                       Out<float, Mat> charges, int n_threads) {
        const int64_t n = length(positions);
        check_shape("positions", positions, {n, 2});
        check_shape("masses", masses, {n});
        check_positions("nodes", n);
        const Grid grid = grid_of(length(charges), (int64_t)charges.shape(1), x, y, spacing);
        const Poll poll = make_poll(nb::none());
        nb::gil_scoped_release release;
        check_finite("positions", positions.data(), 2 * n);
        spread(positions.data(), masses.data(), n, grid, charges.data(), check_threads(n_threads), poll);
    }, array("positions"), array("masses"), nb::arg("x"), nb::arg("y"), nb::arg("spacing"), array("charges"),
       nb::arg("n_threads"));

    m.def("move", [](In<int64_t, Vec> starts, In<int32_t, Vec> ids, In<float, Vec> weights, double x, double y,
                     double spacing, In<float, Mat> potential, double attraction, double repulsion, double momentum,
                     double longest, In<float, Vec> rates, In<float, Mat> homes, In<float, Vec> ties,
                     In<float, Mat> positions, Out<float, Mat> velocities, Out<float, Mat> gains,
                     Out<float, Mat> moved, Out<float, Mat> bounds, int n_threads) {
        const int64_t n = length(positions);
        check_shape("starts", starts, {n + 1});
        check_shape("weights", weights, {length(ids)});
        check_shape("rates", rates, {n});
        check_shape("positions", positions, {n, 2});
        check_shape("homes", homes, {length(ties), 2});
        if (length(ties) != 0) check_shape("ties", ties, {n});
        check_shape("velocities", velocities, {n, 2});
        check_shape("gains", gains, {n, 2});
        check_shape("moved", moved, {n, 2});
        check_shape("bounds", bounds, {2, 2});
        if (n < 1) throw std::invalid_argument("positions: must not be empty");
        check_positions("nodes", n);
        const Grid grid = grid_of(length(potential), (int64_t)potential.shape(1), x, y, spacing);
        const Attraction graph{n, starts.data(), ids.data(), weights.data()};
        const Homes tied{homes.data(), length(ties) ? ties.data() : nullptr};
        const Motion motion{(float)attraction, (float)repulsion, (float)momentum, (float)longest};
        const Poll poll = make_poll(nb::none());
        nb::gil_scoped_release release;
        check_cover("starts", starts.data(), n, length(ids));
        check_finite("positions", positions.data(), 2 * n);
        move(graph, tied, grid, potential.data(), motion, rates.data(), positions.data(), velocities.data(),
             gains.data(), moved.data(), bounds.data(), check_threads(n_threads), poll);
    }, array("starts"), array("ids"), array("weights"), nb::arg("x"), nb::arg("y"), nb::arg("spacing"),
       array("potential"), nb::arg("attraction"), nb::arg("repulsion"), nb::arg("momentum"), nb::arg("longest"),
       array("rates"), array("homes"), array("ties"), array("positions"), array("velocities"), array("gains"),
       array("moved"), array("bounds"), nb::arg("n_threads"));

    m.def("strongest", [](In<int64_t, Vec> starts, In<int32_t, Vec> ids, In<float, Vec> weights,
                          Out<int32_t, Mat> strong, Out<float, Mat> strengths, int n_threads) {
        const int64_t n = n_runs("starts", starts), k = (int64_t)strong.shape(1);
        check_shape("weights", weights, {length(ids)});
        check_shape("strong", strong, {n, k});
        check_shape("strengths", strengths, {n, k});
        check_positions("nodes", n);
        const Attraction graph{n, starts.data(), ids.data(), weights.data()};
        const Poll poll = make_poll(nb::none());
        nb::gil_scoped_release release;
        check_cover("starts", starts.data(), n, length(ids));
        check_finite("weights", weights.data(), length(ids));
        strongest(graph, k, strong.data(), strengths.data(), check_threads(n_threads), poll);
    }, array("starts"), array("ids"), array("weights"), array("strong"), array("strengths"), nb::arg("n_threads"));

    m.def("better_places", [](In<int32_t, Mat> ids, In<float, Mat> weights, int64_t n_tried, double near,
                              In<float, Mat> positions, In<bool, Vec> counts, Out<float, Mat> places,
                              Out<float, Vec> times, int n_threads) {
        const int64_t n = length(ids), k = (int64_t)ids.shape(1);
        check_shape("weights", weights, {n, k});
        check_shape("positions", positions, {n, 2});
        check_shape("counts", counts, {n});
        check_shape("places", places, {n, 2});
        check_shape("times", times, {n});
        const Strongest graph{n, k, ids.data(), weights.data()};
        const Poll poll = make_poll(nb::none());
        nb::gil_scoped_release release;
        check_indices("ids", ids.data(), n * k, n);
        check_finite("positions", positions.data(), 2 * n);
        better_places(graph, n_tried, (float)near, positions.data(), counts.data(), places.data(), times.data(),
                      check_threads(n_threads), poll);
    }, array("ids"), array("weights"), nb::arg("n_tried"), nb::arg("near"), array("positions"), array("counts"),
       array("places"), array("times"), nb::arg("n_threads"));
}

}  // namespace

void bind_layout(nb::module_& m) {
    bind_mosaic(m);
    bind_frames(m);
    bind_forces(m);
}

}  // namespace nestmap
