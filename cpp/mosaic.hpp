// Space-filling: a convex region is divided among the children of its node, area by number of rows.
//
// The polygons are a power diagram whose weights make the areas right (semi-discrete optimal transport,
// solved by damped Newton steps); sites start at the children's arrangement and move to the centres
// of their polygons for a few rounds, which makes the polygons round. What each step computes is said by
// the twin in src/nestmap/core/native/mosaic.py.
#pragma once
#include <cstdint>
#include <vector>

#include "parallel.hpp"

namespace nestmap {

struct Point {
    double x, y;
};

// Convex polygons, counter-clockwise, one after another: polygon i is points[starts[i]..starts[i+1]).
struct Polygons {
    std::vector<int64_t> starts;
    std::vector<Point> points;
};

struct MosaicInput {
    int64_t n_groups, n_children;
    const int64_t* region_starts;  // n_groups + 1: the parents' regions
    const Point* region_points;
    const int64_t* order;   // children by group
    const int64_t* starts;  // n_groups + 1, into order
    const Point* offsets;   // n_children: arrangement around the parent
    const double* shares;   // n_children: rows below each
    int rounds;             // of moving sites to the centres of their polygons
};

// Centres of the children's polygons and, if wanted, the polygons.
Polygons divide_regions(const MosaicInput& in, bool want_polygons, Point* centres, int n_threads, const Poll& poll);

// How far point i lies outside polygon ids[i] of (starts, corners); negative: inside.
void outside(const int64_t* starts, const Point* corners, const int64_t* ids, const Point* points, int64_t n,
             double* out, int n_threads, const Poll& poll);

}  // namespace nestmap
