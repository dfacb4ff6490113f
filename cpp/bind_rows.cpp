// Rows as the user gave them, and sums over them.
#include "bindings.hpp"
#include "isa.hpp"

namespace nestmap {

namespace {

// One value for all rows, or one per row.
PerRow per_row(const char* name, const In<double, Vec>& values, int64_t n) {
    if (length(values) != 1) check_shape(name, values, {n});
    return {values.data(), (int64_t)(length(values) > 1)};
}

Affine affine(const In<double, Vec>& scale, const In<double, Vec>& shift, const In<double, Vec>& extra, int64_t n) {
    return {per_row("scale", scale, n), per_row("shift", shift, n), per_row("extra", extra, n)};
}

// Memory: how the array stores its values; T: how the kernels read them.
template <class T, class Memory = T>
void bind_dense_rows(nb::module_& m) {
    m.def("dense_rows", [](In<Memory, Mat> x, In<double, Vec> scale, In<double, Vec> shift,
                           In<double, Vec> extra) -> std::unique_ptr<Rows> {
        return std::make_unique<DenseRows<T>>(reinterpret_cast<const T*>(x.data()), length(x), (int64_t)x.shape(1),
                                              affine(scale, shift, extra, length(x)));
    }, array("x"), array("scale"), array("shift"), array("extra"), nb::keep_alive<0, 1>(),
       nb::keep_alive<0, 2>(), nb::keep_alive<0, 3>(), nb::keep_alive<0, 4>());
}

template <class T, class I>
void bind_csr_rows(nb::module_& m) {
    m.def("csr_rows", [](In<T, Vec> data, In<I, Vec> indices, In<I, Vec> indptr, int64_t n_cols,
                         In<double, Vec> scale, In<double, Vec> shift,
                         In<double, Vec> extra) -> std::unique_ptr<Rows> {
        const int64_t n = n_runs("indptr", indptr);
        check_shape("indices", indices, {length(data)});
        check_starts("indptr", indptr.data(), n, length(data));
        return std::make_unique<CsrRows<T, I>>(data.data(), indices.data(), indptr.data(), n, n_cols,
                                               affine(scale, shift, extra, n));
    }, array("data"), array("indices"), array("indptr"), nb::arg("n_cols"), array("scale"), array("shift"),
       array("extra"), nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(), nb::keep_alive<0, 3>(),
       nb::keep_alive<0, 5>(), nb::keep_alive<0, 6>(), nb::keep_alive<0, 7>());
}

template <class T>
void bind_sums(nb::module_& m) {
    m.def("project", [](In<T, Mat> x, In<double, Vec> mean, In<double, Mat> basis, Out<double, Mat> z,
                        int n_threads) {
        const int64_t n = length(x), cols = (int64_t)x.shape(1), dims = length(basis);
        check_shape("mean", mean, {cols});
        check_shape("basis", basis, {dims, cols});
        check_shape("z", z, {n, dims});
        nb::gil_scoped_release release;
        project(x.data(), n, cols, mean.data(), basis.data(), dims, z.data(), check_threads(n_threads));
    }, array("x"), array("mean"), array("basis"), array("z"), nb::arg("n_threads"));
    m.def("group_means", [](In<T, Mat> x, In<int64_t, Vec> order, In<int64_t, Vec> starts,
                            In<double, Vec> weights, Out<T, Mat> means, int n_threads) {
        const int64_t n = length(x), cols = (int64_t)x.shape(1), n_groups = n_runs("starts", starts);
        check_shape("weights", weights, {n});
        check_shape("means", means, {n_groups, cols});
        nb::gil_scoped_release release;
        check_indices("order", order.data(), length(order), n);
        check_starts("starts", starts.data(), n_groups, length(order));
        group_means(x.data(), cols, order.data(), starts.data(), n_groups, weights.data(), means.data(),
                    check_threads(n_threads));
    }, array("x"), array("order"), array("starts"), array("weights"), array("means"), nb::arg("n_threads"));
    m.def("largest", [](In<T, Vec> x, int n_threads) {
        nb::gil_scoped_release release;
        return largest(x.data(), length(x), check_threads(n_threads));
    }, array("x"), nb::arg("n_threads"));
    m.def("count_within", [](In<T, Mat> values, In<double, Mat> lower, In<double, Mat> upper,
                             Out<int64_t, Mat> below, Out<int64_t, Mat> upto) {
        const int64_t n = length(values), n_limits = (int64_t)lower.shape(1);
        check_shape("lower", lower, {n, n_limits});
        check_shape("upper", upper, {n, n_limits});
        check_shape("below", below, {n, n_limits});
        check_shape("upto", upto, {n, n_limits});
        nb::gil_scoped_release release;
        count_within(values.data(), n, (int64_t)values.shape(1), lower.data(), upper.data(), n_limits, below.data(),
                     upto.data());
    }, array("values"), array("lower"), array("upper"), array("below"), array("upto"));
    m.def("hash_rows", [](In<T, Mat> x, Out<uint64_t, Vec> hash, int n_threads) {
        check_shape("hash", hash, {length(x)});
        nb::gil_scoped_release release;
        hash_rows(x.data(), length(x), (int64_t)x.shape(1), hash.data(), check_threads(n_threads));
    }, array("x"), array("hash"), nb::arg("n_threads"));
}

}  // namespace

void bind_rows(nb::module_& m) {
    nb::class_<Rows>(m, "Rows").def("set_keys", [](Rows& rows, In<uint64_t, Vec> keys) {
        check_shape("keys", keys, {rows.n()});
        rows.set_keys(keys.data());
    }, nb::arg("keys").noconvert(), nb::keep_alive<1, 2>());
    bind_dense_rows<float>(m);
    bind_dense_rows<double>(m);
    bind_dense_rows<uint8_t>(m);
    bind_dense_rows<int8_t>(m);
    bind_dense_rows<Half, uint16_t>(m);  // float16 arrays come as views of their bits
    bind_csr_rows<float, int32_t>(m);
    bind_csr_rows<double, int32_t>(m);
    bind_csr_rows<float, int64_t>(m);
    bind_csr_rows<double, int64_t>(m);
    bind_sums<float>(m);
    bind_sums<double>(m);

    m.def("pair_distances", [](const Rows& rows, In<int64_t, Vec> i, In<int64_t, Vec> j, Out<double, Vec> distances,
                               const char* norm) {
        const Norm kind = norm_of(norm);
        check_shape("j", j, {length(i)});
        check_shape("distances", distances, {length(i)});
        nb::gil_scoped_release release;
        check_indices("i", i.data(), length(i), rows.n());
        check_indices("j", j.data(), length(j), rows.n());
        for (size_t k = 0; k < i.shape(0); ++k)
            distances(k) = rows.distance(i(k), rows, j(k), std::numeric_limits<double>::infinity(), kind);
    }, nb::arg("rows"), array("i"), array("j"), array("distances"), nb::arg("norm"));
}

}  // namespace nestmap
