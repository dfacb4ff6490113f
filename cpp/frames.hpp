// Frames of small groups: their own principal directions, and how the directions lie towards neighbours.
// What is computed is said by the twins in src/nestmap/core/native/frames.py.
#pragma once
#include <cstdint>

#include "parallel.hpp"

namespace nestmap {

constexpr int SMALL_GROUP = 32;  // members up to which a Gram matrix and Jacobi rotations are the quickest way

struct Groups {
    int64_t n;              // number of groups
    const int64_t* order;   // members by group
    const int64_t* starts;  // n + 1, into order
    const double* weights;  // of each member
};

// Offsets (n_members x dims) and maps (n_groups x dims x cols) of groups with 2 to SMALL_GROUP members; the
// others are left as they are.
void small_frames(const float* z, int64_t cols, const Groups& groups, int64_t dims, double* offsets, float* maps,
                  int n_threads, const Poll& poll);

struct Surroundings {
    int64_t n, dims, cols, n_around;
    const float* maps;     // n x dims x cols
    const float* centres;  // of the n nodes, then of others around them: n or more x cols
    const double* anchors;  // of the same, x dims
    const int64_t* around;  // n x n_around
};

// How the frame of each node and its neighbours in the map agree: n x dims x dims.
void alignments(const Surroundings& in, double* out, int n_threads, const Poll& poll);

}  // namespace nestmap
