// Forces of the islands: neighbours attract along a graph, all nodes repel each other through a potential on a grid.
#pragma once
#include <cstdint>

#include "parallel.hpp"

namespace nestmap {

// A regular grid in the plane: the cell (r, c) begins at origin + spacing * (r, c).
struct Grid {
    int64_t rows, cols;
    float origin[2], inverse;  // 1 / spacing
};

// Neighbours of node i: ids[starts[i]] to ids[starts[i + 1] - 1].
struct Attraction {
    int64_t n;
    const int64_t* starts;
    const int32_t* ids;
    const float* weights;
};

// Places that nodes are tied to: each attracts its node as a neighbour with the weight `ties` would; none if null.
struct Homes {
    const float* places;
    const float* ties;
};

// The strongest neighbours of each node, strongest first: k of them, with weight 0 where a node has fewer.
struct Strongest {
    int64_t n, k;
    const int32_t* ids;
    const float* weights;
};

// One step of the optimisation: how the forces are balanced, and how far a node may move.
struct Motion {
    float attraction, repulsion, momentum, longest;
};

void calibrate(const float* distances, int64_t n, int64_t k, double perplexity, float* weights, int n_threads,
               const Poll& poll);
void spread(const float* positions, const float* masses, int64_t n, const Grid& grid, float* charges, int n_threads,
            const Poll& poll);
void move(const Attraction& graph, const Homes& homes, const Grid& grid, const float* potential, const Motion& motion,
          const float* rates, const float* positions, float* velocities, float* gains, float* moved, float* bounds,
          int n_threads, const Poll& poll);
void strongest(const Attraction& graph, int64_t k, int32_t* ids, float* weights, int n_threads, const Poll& poll);
void better_places(const Strongest& graph, int64_t n_tried, float near, const float* positions, const bool* counts,
                   float* places, float* times, int n_threads, const Poll& poll);

}  // namespace nestmap
