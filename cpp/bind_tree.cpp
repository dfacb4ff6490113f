// Communities of a graph and the order in which its nodes merge.
#include "bindings.hpp"
#include "communities.hpp"

namespace nestmap {

namespace {

using Starts = In<int64_t, Vec>;
using Ids = In<int32_t, Vec>;
using Values = In<double, Vec>;

LinkGraphView view_of(const Starts& starts, const Ids& ids, const Values& weights, const Values& volumes,
                      const Ids& parents) {
    const int64_t n = n_runs("starts", starts);
    check_shape("weights", weights, {length(ids)});
    check_shape("volumes", volumes, {n});
    check_shape("parents", parents, {n});
    check_positions("nodes", n);
    return {(int32_t)n, starts.data(), ids.data(), weights.data(), volumes.data(), parents.data()};
}

void check_graph(const LinkGraphView& graph, int64_t n_links) {
    check_cover("starts", graph.starts, graph.n, n_links);
    check_indices("ids", graph.ids, n_links, graph.n);
    check_shares("weights", graph.weights, n_links);
    check_shares("volumes", graph.volumes, graph.n);
}

}  // namespace

void bind_tree(nb::module_& m) {
    m.def("communities", [](Starts starts, Ids ids, Values weights, Values volumes, Ids parents, Ids order,
                            double resolution, Out<int32_t, Vec> labels) {
        const LinkGraphView graph = view_of(starts, ids, weights, volumes, parents);
        check_shape("order", order, {graph.n});
        check_shape("labels", labels, {graph.n});
        check_finite("resolution", &resolution, 1);
        const Poll poll = make_poll(nb::none());
        nb::gil_scoped_release release;
        check_graph(graph, length(ids));
        check_indices("order", order.data(), graph.n, graph.n);
        communities(graph, order.data(), resolution, labels.data(), poll);
    }, array("starts"), array("ids"), array("weights"), array("volumes"), array("parents"), array("order"),
       nb::arg("resolution"), array("labels"));

    m.def("merge_order", [](Starts starts, Ids ids, Values weights, Values volumes, Ids parents,
                            Out<int32_t, Vec> first, Out<int32_t, Vec> second, Out<double, Vec> similarities) {
        const LinkGraphView graph = view_of(starts, ids, weights, volumes, parents);
        check_shape("first", first, {graph.n});
        check_shape("second", second, {graph.n});
        check_shape("similarities", similarities, {graph.n});
        const Poll poll = make_poll(nb::none());
        nb::gil_scoped_release release;
        check_graph(graph, length(ids));
        return merge_order(graph, first.data(), second.data(), similarities.data(), poll);
    }, array("starts"), array("ids"), array("weights"), array("volumes"), array("parents"), array("first"),
       array("second"), array("similarities"));
}

}  // namespace nestmap
