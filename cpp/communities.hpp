// Communities of a weighted graph, and the order in which its nodes merge.
// What is computed is said by the twins in src/nestmap/core/native/communities.py.
#pragma once
#include <cstdint>
#include <vector>

#include "parallel.hpp"

namespace nestmap {

// Symmetric, without loops: row i is ids[starts[i] .. starts[i + 1]).
struct LinkGraph {
    std::vector<int64_t> starts;
    std::vector<int32_t> ids;
    std::vector<double> weights;
    std::vector<double> volumes;  // of nodes: their links to all, themselves included
    int32_t size() const { return (int32_t)volumes.size(); }
};

struct LinkGraphView {
    int32_t n;
    const int64_t* starts;
    const int32_t* ids;
    const double* weights;
    const double* volumes;
    const int32_t* parents;  // links between different parents do not count
};

// A partition of high modularity at a resolution (divided by the total volume); nodes are visited in `order`.
// Labels are numbered by the lowest node of each community.
void communities(const LinkGraphView& graph, const int32_t* order, double resolution, int32_t* labels,
                 const Poll& poll);

// Merges of the pairs with the highest weight / (volume * volume), level by level of a dendrogram: the lowest nodes of
// both sides and that similarity, which never grows from a merge to those above it. Returns how many there are.
int64_t merge_order(const LinkGraphView& graph, int32_t* first, int32_t* second, double* similarities,
                    const Poll& poll);

}  // namespace nestmap
