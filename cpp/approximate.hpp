// Approximate first neighbours: each row looks into the cells nearest to it (near_cells.cpp, probe.cpp), keeps the
// few most promising rows (lists.hpp), asks those for theirs (repair.cpp), and verifies what is left by definition
// (prove.cpp).
#pragma once
#include <cstdint>

#include "cells.hpp"
#include "lists.hpp"
#include "parallel.hpp"
#include "rows.hpp"

namespace nestmap {

// The `m` cells nearest to each cell by their centres, itself first; beyond[c]: a lower bound of the
// distance from the centre of c to any row of the cells that are not listed.
void near_cells(const Cells& cells, int64_t m, int32_t* near, double* beyond, int n_threads, const Poll& poll);

// Each row meets the rows of the cells that rank `from` to `to` among the listed ones by the distance
// of their centres from the row (rank 0: its own cell). A list has one writer: no locks, and the same
// result for any number of threads. Returns the number of pairs that were bounded.
int64_t probe(const Cells& cells, const int32_t* near, int64_t m, int64_t from, int64_t to, Lists lists,
              int n_threads, const Poll& poll);

// Each row meets the rows that its first w rows list first: `known` holds the first w of every list (n x w)
// as they were before, so that the result does not depend on who is improved when.
void repair(const Cells& cells, const int32_t* known, int w, Lists lists, int n_threads, const Poll& poll);

// Distances by definition along each list, most promising first, until nothing can be better: the
// nearest of them, ties to the lower row number. For the positions given (null: all n).
void verify_lists(const Cells& cells, const Rows& rows, Lists lists, const int64_t* positions, int64_t n,
                  double* distances, int64_t* ids, int n_threads, const Poll& poll);

// proved[i]: no row outside the first `to` cells of row i, and none that its list has dropped, can be
// as near as distances[i] (squared for L2).
void prove(const Cells& cells, const int32_t* near, const double* beyond, int64_t m, int64_t to, Lists lists,
           const double* distances, uint8_t* proved, int n_threads, const Poll& poll);

}  // namespace nestmap
