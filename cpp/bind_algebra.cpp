// Bindings: eigenvectors, orthonormal rows; transforms of grids.
#include "bindings.hpp"
#include "eigen.hpp"
#include "fourier.hpp"

namespace nestmap {

namespace {

// A length that transforms can have: even, a product of 2, 3 and 5.
template <class T>
Roots<T> roots_of(const char* name, const In<T, Mat>& roots) {
    const int64_t n = length(roots) == 2 ? (int64_t)roots.shape(1) : 0;
    int64_t rest = n;
    for (const int radix : {2, 3, 5})
        while (rest > 0 && rest % radix == 0) rest /= radix;
    if (n % 2 != 0 || rest != 1)
        throw std::invalid_argument(std::string(name) + ": expected shape (2, n), n an even product of 2, 3 and 5");
    return {n, roots.data(), roots.data() + n};
}

}  // namespace

void bind_algebra(nb::module_& m) {
    m.def("eigenvectors", [](Out<double, Cube> matrices, Out<double, Mat> values, int n_threads) {
        const int64_t count = length(matrices), n = (int64_t)matrices.shape(1);
        check_shape("matrices", matrices, {count, n, n});
        check_shape("values", values, {count, n});
        const Poll poll = make_poll(nb::none());
        nb::gil_scoped_release release;
        check_finite("matrices", matrices.data(), count * n * n);
        eigenvectors(matrices.data(), count, n, values.data(), check_threads(n_threads), poll);
    }, array("matrices"), array("values"), nb::arg("n_threads"));

    m.def("orthonormal", [](Out<double, Mat> rows) {
        const int64_t n = length(rows), cols = (int64_t)rows.shape(1);
        if (n > cols) throw std::invalid_argument("rows: more of them than columns cannot be orthonormal");
        nb::gil_scoped_release release;
        check_finite("rows", rows.data(), n * cols);
        orthonormal(rows.data(), n, cols);
    }, array("rows"));

    m.def("convolve", [](In<float, Mat> charges, In<float, Mat> of_rows, In<float, Mat> of_cols,
                         In<float, Mat> transfer, Out<float, Mat> potential, int n_threads) {
        const int64_t rows = length(charges), cols = (int64_t)charges.shape(1);
        const Roots<float> across = roots_of("of_rows", of_rows), along = roots_of("of_cols", of_cols);
        if (rows < 1 || cols < 1 || rows > across.length || cols > along.length)
            throw std::invalid_argument("charges: empty, or more than the transforms are long");
        check_shape("transfer", transfer, {along.length / 2 + 1, across.length});
        check_shape("potential", potential, {rows, cols});
        const Poll poll = make_poll(nb::none());
        nb::gil_scoped_release release;
        convolve(charges.data(), rows, cols, across, along, transfer.data(), potential.data(),
                 check_threads(n_threads), poll);
    }, array("charges"), array("of_rows"), array("of_cols"), array("transfer"), array("potential"),
       nb::arg("n_threads"));

    m.def("even_transform", [](In<double, Mat> values, In<double, Mat> of_rows, In<double, Mat> of_cols,
                               Out<double, Mat> out, int n_threads) {
        const Roots<double> across = roots_of("of_rows", of_rows), along = roots_of("of_cols", of_cols);
        check_shape("values", values, {across.length / 2 + 1, along.length / 2 + 1});
        check_shape("out", out, {along.length / 2 + 1, across.length / 2 + 1});
        const Poll poll = make_poll(nb::none());
        nb::gil_scoped_release release;
        even_transform(values.data(), across, along, out.data(), check_threads(n_threads), poll);
    }, array("values"), array("of_rows"), array("of_cols"), array("out"), nb::arg("n_threads"));
}

}  // namespace nestmap
