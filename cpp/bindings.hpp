// What all bindings share: types of arrays, checks of their shapes, polling. Bindings check whatever a
// kernel indexes with; kernels trust their arguments.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/unique_ptr.h>

#include <initializer_list>
#include <stdexcept>
#include <string>

#include "checks.hpp"
#include "parallel.hpp"
#include "rows.hpp"

namespace nb = nanobind;

namespace nestmap {

template <class T, class Shape>
using In = nb::ndarray<const T, Shape, nb::c_contig, nb::device::cpu>;
template <class T, class Shape>
using Out = nb::ndarray<T, Shape, nb::c_contig, nb::device::cpu>;
using Vec = nb::shape<-1>;
using Mat = nb::shape<-1, -1>;
using Cube = nb::shape<-1, -1, -1>;

// The name of an array, which is taken as it is or not at all: a copy of another type or order would hold
// rounded values, or would be where results are lost.
inline auto array(const char* name) { return nb::arg(name).noconvert(); }

void bind_rows(nb::module_& m);
void bind_search(nb::module_& m);
void bind_layout(nb::module_& m);
void bind_tree(nb::module_& m);
void bind_algebra(nb::module_& m);

template <class A>
int64_t length(const A& a) {
    return (int64_t)a.shape(0);
}

inline std::string shape_text(const int64_t* shape, size_t n) {
    std::string text = "(";
    for (size_t d = 0; d < n; ++d) text += (d ? ", " : "") + std::to_string(shape[d]);
    return text + ")";
}

template <class A>
void check_shape(const char* name, const A& a, std::initializer_list<int64_t> expected) {
    bool same = a.ndim() == expected.size();
    std::vector<int64_t> shape;
    for (size_t d = 0; d < a.ndim(); ++d) {
        shape.push_back((int64_t)a.shape(d));
        same = same && shape[d] == expected.begin()[d];
    }
    if (!same)
        throw std::invalid_argument(std::string(name) + ": expected shape " +
                                    shape_text(expected.begin(), expected.size()) + ", got " +
                                    shape_text(shape.data(), shape.size()));
}

// The number of runs that an array of n + 1 starts tells.
template <class A>
int64_t n_runs(const char* name, const A& starts) {
    if (length(starts) < 1) throw std::invalid_argument(std::string(name) + ": must not be empty");
    return length(starts) - 1;
}

inline int check_threads(int n_threads) {
    if (n_threads < 1)
        throw std::invalid_argument("n_threads=" + std::to_string(n_threads) + ": must be at least 1");
    return n_threads;
}

inline Norm norm_of(const char* name) {
    const std::string text = name;
    if (text != "L1" && text != "L2") throw std::invalid_argument("norm='" + text + "': must be 'L1' or 'L2'");
    return text == "L1" ? Norm::L1 : Norm::L2;
}

// Workers never hold the GIL; the waiting thread takes it for Ctrl-C and for the progress callback.
inline Poll make_poll(nb::object progress) {
    return [progress](double share) {
        nb::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        if (!progress.is_none()) progress(share);
    };
}

}  // namespace nestmap
