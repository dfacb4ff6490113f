// Approximate neighbours: each row probes the cells nearest to it (near_cells.cpp, probe.cpp) and keeps a list of the
// most promising rows (lists.hpp); NN-descent improves the lists (graph.cpp), and their entries are ranked by distances
// by definition (rank_lists.cpp).
#pragma once
#include <cstdint>

#include "cells.hpp"
#include "lists.hpp"
#include "parallel.hpp"
#include "rows.hpp"

namespace nestmap {

// The `m` cells nearest to each cell by their centres, itself first.
void near_cells(const Cells& cells, int64_t m, int32_t* near, int n_threads, const Poll& poll);

// Compare each row with the rows of the cells that rank `from` to `to` among the listed ones by the distance
// of their centres from the row (rank 0: its own cell). A list has one writer: no locks, and the same
// result for any number of threads. Returns the number of pairs that were bounded.
int64_t probe(const Cells& cells, const int32_t* near, int64_t m, int64_t from, int64_t to, Lists lists,
              int n_threads, const Poll& poll);

// Distances by definition along each list, most promising first, until nothing can be better: the `wanted` nearest of
// them, ties to the lower key; -1 where a list has fewer. For the positions given (null: all n).
void rank_lists(const Cells& cells, const Rows& rows, Lists lists, const int64_t* positions, int64_t n, int wanted,
                double* distances, int64_t* ids, int n_threads, const Poll& poll);

}  // namespace nestmap
