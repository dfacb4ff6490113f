// Cells, the exact join on them, and the approximate search.
#include <algorithm>
#include <cmath>

#include "approximate.hpp"
#include "bindings.hpp"
#include "cells.hpp"
#include "graph.hpp"
#include "join.hpp"

namespace nestmap {

namespace {

void bind_cells(nb::module_& m) {
    nb::class_<Cells>(m, "Cells")
        .def("__init__", [](Cells* self, In<float, Mat> z, In<float, Mat> tails, In<float, Vec> sizes,
                            In<int64_t, Vec> ids, In<int64_t, Vec> starts, int head, double slack,
                            const char* norm, bool with_panels, int n_threads) {
            const int64_t n = length(z), dims = (int64_t)z.shape(1), n_cells = n_runs("starts", starts);
            check_positions("rows", n);
            check_positions("cells", n_cells);
            if (dims % 16 || dims < 16 || dims > 1 << 20)
                throw std::invalid_argument("z: columns must be a multiple of 16, got " + std::to_string(dims));
            check_shape("tails", tails, {n, dims / 8});
            check_shape("sizes", sizes, {n});
            check_shape("ids", ids, {n});
            if (head % 8 || head < 8 || head > dims)
                throw std::invalid_argument("head=" + std::to_string(head) +
                                            ": must be a multiple of 8, at most the columns of z");
            if (!(slack >= 0 && slack < 1))
                throw std::invalid_argument("slack=" + std::to_string(slack) + ": must be at least 0 and below 1");
            check_cover("starts", starts.data(), n_cells, n);
            const ShortRows rows{n, (int)dims, z.data(), tails.data(), sizes.data(), ids.data()};
            new (self) Cells(rows, starts.data(), n_cells, head, slack, norm_of(norm), with_panels,
                             check_threads(n_threads));
        }, array("z"), array("tails"), array("sizes"), array("ids"), array("starts"), nb::arg("head"),
           nb::arg("slack"), nb::arg("norm"), nb::arg("with_panels"), nb::arg("n_threads"), nb::keep_alive<1, 2>(),
           nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>())
        .def_ro("width", &Cells::width)
        .def("centres", [](const Cells& cells, Out<float, Mat> out) {
            check_shape("out", out, {cells.n_cells, cells.width});
            for (int64_t c = 0; c < cells.n_cells; ++c)
                std::copy(cells.centre(c), cells.centre(c) + cells.width, out.data() + c * cells.width);
        }, array("out"));
}

// The cells' rows are rows of this set.
void check_rows(const Cells& cells, const Rows& rows) {
    check_indices("ids of cells", cells.short_rows.ids, cells.short_rows.n, rows.n());
}

void check_panels(const Cells& cells) {
    if (!cells.has_panels()) throw std::invalid_argument("cells: were made without panels");
}

void load_best(Best& best, const Out<double, Vec>& distances, const Out<int64_t, Vec>& ids) {
    for (size_t i = 0; i < ids.shape(0); ++i)
        if (ids(i) >= 0 || std::isfinite(distances(i))) best.set(i, distances(i), ids(i));
}

void store_best(const Best& best, Out<double, Vec>& distances, Out<int64_t, Vec>& ids) {
    std::copy(best.distances.begin(), best.distances.end(), distances.data());
    std::copy(best.ids.begin(), best.ids.end(), ids.data());
}

// Once all cells have met, only a row whose distances to all others overflow is without a neighbour, or one that
// came with a distance to beat.
void check_found(const Best& best, const Cells& cells) {
    for (size_t i = 0; cells.short_rows.n > 1 && i < best.ids.size(); ++i)
        if (best.ids[i] < 0 && !std::isfinite(best.distances[i]))
            throw std::domain_error("row " + std::to_string(i) + " has no neighbour: its distances are not numbers");
}

nb::tuple as_tuple(const JoinCounts& c) { return nb::make_tuple(c.pairs, c.refined, c.verified); }

void bind_join(nb::module_& m) {
    nb::class_<PairSet>(m, "PairSet").def("__init__", [](PairSet* self, int64_t n_cells) {
        if (n_cells < 0) throw std::invalid_argument("n_cells=" + std::to_string(n_cells) + ": must not be negative");
        check_positions("cells", n_cells);
        new (self) PairSet(n_cells);
    }, nb::arg("n_cells"));

    m.def("self_join", [](const Cells& cells, const Rows& rows, int64_t n_visit, PairSet& done,
                          Out<double, Vec> distances, Out<int64_t, Vec> ids, int n_threads,
                          nb::object progress) {
        check_shape("distances", distances, {cells.short_rows.n});
        check_shape("ids", ids, {cells.short_rows.n});
        check_panels(cells);
        if (done.n_cells() != cells.n_cells) throw std::invalid_argument("done: is for another number of cells");
        if (n_visit < 0) throw std::invalid_argument("n_visit=" + std::to_string(n_visit) + ": must not be negative");
        Best best(cells, rows);
        load_best(best, distances, ids);
        JoinCounts counts;
        const Poll poll = make_poll(progress);
        {
            nb::gil_scoped_release release;
            check_rows(cells, rows);
            counts = self_join(cells, rows, n_visit, done, best, check_threads(n_threads), poll);
            if (n_visit >= cells.n_cells) check_found(best, cells);
        }
        store_best(best, distances, ids);
        return as_tuple(counts);
    }, nb::arg("cells"), nb::arg("rows"), nb::arg("n_visit"), nb::arg("done"), array("distances"), array("ids"),
       nb::arg("n_threads"), nb::arg("progress").none());

    m.def("query", [](const Cells& queries, const Rows& query_rows, const Cells& cells, const Rows& rows,
                      Out<double, Vec> distances, Out<int64_t, Vec> ids, int n_threads) {
        if (queries.head != cells.head || queries.short_rows.dims != cells.short_rows.dims ||
            queries.norm != cells.norm)
            throw std::invalid_argument("queries: head, columns of z and norm must be those of cells");
        check_panels(queries);
        check_panels(cells);
        if (query_rows.cols() != rows.cols())
            throw std::invalid_argument("query_rows: have " + std::to_string(query_rows.cols()) +
                                        " columns, rows have " + std::to_string(rows.cols()));
        check_shape("distances", distances, {queries.short_rows.n});
        check_shape("ids", ids, {queries.short_rows.n});
        Best best(queries, rows);
        load_best(best, distances, ids);
        JoinCounts counts;
        const Poll poll = make_poll(nb::none());
        {
            nb::gil_scoped_release release;
            check_rows(queries, query_rows);
            check_rows(cells, rows);
            counts = query(queries, query_rows, cells, rows, best, check_threads(n_threads), poll);
            check_found(best, cells);
        }
        store_best(best, distances, ids);
        return as_tuple(counts);
    }, nb::arg("queries"), nb::arg("query_rows"), nb::arg("cells"), nb::arg("rows"), array("distances"),
       array("ids"), nb::arg("n_threads"));
}

Lists lists_of(const Cells& cells, const Out<int32_t, Mat>& ids, const Out<float, Mat>& estimates) {
    const int64_t k = (int64_t)ids.shape(1);
    if (k < 1 || k > 1 << 20) throw std::invalid_argument("ids: lists must have at least one place");
    check_shape("ids", ids, {cells.short_rows.n, k});
    check_shape("estimates", estimates, {cells.short_rows.n, k});
    return {(int)k, ids.data(), estimates.data()};
}

// Near cells of each cell: cell numbers, then only -1.
void check_near(const Cells& cells, const In<int32_t, Mat>& near) {
    const int64_t m = (int64_t)near.shape(1);
    check_shape("near", near, {cells.n_cells, m});
    for (int64_t c = 0; c < cells.n_cells; ++c) {
        const int32_t* row = near.data() + c * m;
        int64_t listed = m;
        while (listed > 0 && row[listed - 1] == -1) --listed;
        check_indices("near", row, listed, cells.n_cells);
    }
}

void bind_visits(nb::module_& m) {
    m.def("near_cells", [](const Cells& cells, Out<int32_t, Mat> near, int n_threads, nb::object progress) {
        const int64_t listed = (int64_t)near.shape(1);
        if (listed < 1) throw std::invalid_argument("near: must have at least one column");
        check_shape("near", near, {cells.n_cells, listed});
        const Poll poll = make_poll(progress);
        nb::gil_scoped_release release;
        near_cells(cells, listed, near.data(), check_threads(n_threads), poll);
    }, nb::arg("cells"), array("near"), nb::arg("n_threads"), nb::arg("progress").none());

    m.def("probe", [](const Cells& cells, In<int32_t, Mat> near, int64_t first, int64_t last, Out<int32_t, Mat> ids,
                      Out<float, Mat> estimates, int n_threads, nb::object progress) {
        const Lists lists = lists_of(cells, ids, estimates);
        const Poll poll = make_poll(progress);
        nb::gil_scoped_release release;
        check_near(cells, near);
        const int64_t m = (int64_t)near.shape(1);
        return probe(cells, near.data(), m, std::clamp<int64_t>(first, 0, m), std::clamp<int64_t>(last, 0, m), lists,
                     check_threads(n_threads), poll);
    }, nb::arg("cells"), array("near"), nb::arg("first"), nb::arg("last"), array("ids"), array("estimates"),
       nb::arg("n_threads"), nb::arg("progress").none());
}

void bind_graph(nb::module_& m) {
    nb::class_<Graph>(m, "Graph")
        .def("__init__", [](Graph* self, const Cells& cells, Out<int32_t, Mat> ids, Out<float, Mat> estimates,
                            int max_candidates) {
            const Lists lists = lists_of(cells, ids, estimates);
            if (lists.k > Graph::MAX_LISTED)
                throw std::invalid_argument("ids: lists must have at most " + std::to_string(Graph::MAX_LISTED) +
                                            " places");
            if (max_candidates < 1 || max_candidates > Graph::MAX_LISTED)
                throw std::invalid_argument("max_candidates=" + std::to_string(max_candidates) + ": must be 1 to " +
                                            std::to_string(Graph::MAX_LISTED));
            nb::gil_scoped_release release;
            new (self) Graph(cells, lists, max_candidates);
        }, nb::arg("cells"), array("ids"), array("estimates"), nb::arg("max_candidates"), nb::keep_alive<1, 2>(),
           nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>())
        .def("improve", [](Graph& self, int n_threads, nb::object progress) {
            const Poll poll = make_poll(progress);
            nb::gil_scoped_release release;
            return self.improve(check_threads(n_threads), poll);
        }, nb::arg("n_threads"), nb::arg("progress").none())
        .def("n_new", &Graph::n_new);
}

void bind_ranking(nb::module_& m) {
    m.def("rank_lists", [](const Cells& cells, const Rows& rows, Out<int32_t, Mat> ids, Out<float, Mat> estimates,
                           In<int64_t, Vec> positions, Out<double, Mat> distances, Out<int64_t, Mat> found,
                           int n_threads, nb::object progress) {
        const Lists lists = lists_of(cells, ids, estimates);
        const bool all = length(positions) == 0;
        const int64_t n = all ? cells.short_rows.n : length(positions), wanted = (int64_t)found.shape(1);
        if (wanted < 1 || wanted > lists.k)
            throw std::invalid_argument("found: must have 1 to " + std::to_string(lists.k) + " columns");
        check_shape("found", found, {n, wanted});
        check_shape("distances", distances, {n, wanted});
        const Poll poll = make_poll(progress);
        nb::gil_scoped_release release;
        check_rows(cells, rows);
        check_indices("positions", positions.data(), length(positions), cells.short_rows.n);
        rank_lists(cells, rows, lists, all ? nullptr : positions.data(), n, (int)wanted, distances.data(),
                   found.data(), check_threads(n_threads), poll);
    }, nb::arg("cells"), nb::arg("rows"), array("ids"), array("estimates"), array("positions"),
       array("distances"), array("found"), nb::arg("n_threads"), nb::arg("progress").none());
}

}  // namespace

void bind_search(nb::module_& m) {
    bind_cells(m);
    bind_join(m);
    bind_visits(m);
    bind_graph(m);
    bind_ranking(m);
}

}  // namespace nestmap
