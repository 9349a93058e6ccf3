#include "launches/plan.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>

#include "arrays/alias_guard.h"
#include "tape/py_spans.h"

namespace wc {

PyTypeObject* plan_type = nullptr;

namespace {

constexpr int kFlatGroups = 64;  // a launch of fewer groups of lanes is not worth compiling the flat variant for
constexpr size_t kStackBlock = 2048;

nb::object attribute(const nb::object& type, const char* name) { return nb::object(type.attr(name)); }

int64_t extent(PyObject* item) {
    nb::object index = nb::steal(PyNumber_Index(item));
    if (!index.is_valid()) {
        PyErr_Clear();
        raise(PyExc_TypeError, "launch dimensions must be integers, got " + describe(item));
    }
    int overflow = 0;
    int64_t n = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
    if (overflow) n = overflow < 0 ? -1 : INT64_MAX;
    if (n < 0 || n >= int64_t{1} << 31)
        raise(PyExc_ValueError,
              std::string("launch dimension ") + nb::str(index).c_str() + " is not between 0 and 2147483647" +
                  (n < 0 ? ""
                         : "; a launch of more threads has several dimensions, and `i, j = wp.tid()` their indices"));
    return n;
}

}  // namespace

void raise(PyObject* exception, const std::string& message) {
    PyErr_SetString(exception, message.c_str());
    throw nb::python_error();
}

bool ArrayField::inner_contiguous(const std::byte* block) const {
    wc_array array;
    std::memcpy(&array, block + offset, sizeof array);
    return array.shape[ndim - 1] <= 1 || array.strides[ndim - 1] == itemsize;
}

ParamSpec::ParamSpec(std::string name_, nb::object type_, bool writable_,
                     const std::vector<std::array<int64_t, 4>>& arrays_, bool nested_)
    : name(std::move(name_)), type(std::move(type_)), writable(writable_), nested(nested_) {
    size = nb::cast<uint32_t>(attribute(type, "size"));
    align = nb::cast<uint32_t>(attribute(type, "align"));
    bool array = nb::hasattr(type, "ndim");
    nb::object element = array ? attribute(type, "dtype") : type;
    dtype_id = type_id(nb::cast<std::string>(attribute(element, "key")), nb::cast<int64_t>(attribute(element, "size")));
    dtype = &wc::dtype(dtype_id);
    if (array) {
        kind = ArgKind::Array;
        ndim = nb::cast<int>(attribute(type, "ndim"));
        if (ndim < 1 || ndim > kMaxNdim || size != sizeof(wc_array)) throw nb::value_error("bad array type");
    } else {
        kind = dtype->scalar.kind == Kind::None ? ArgKind::Struct : dtype->rank ? ArgKind::Packed : ArgKind::Scalar;
    }
    for (auto [at, dims, itemsize, writes] : arrays_) {
        if (kind != ArgKind::Struct || at < 0 || at + sizeof(wc_array) > size || dims < 1 || dims > kMaxNdim)
            throw nb::value_error("no such array in the struct");
        arrays.push_back({static_cast<uint32_t>(at), static_cast<int>(dims), itemsize, writes != 0});
    }
}

Pins& Pins::operator=(Pins&& other) noexcept {
    std::swap(objects_, other.objects_);
    std::swap(views_, other.views_);
    return *this;
}

void Pins::release() {
    for (Py_buffer& view : views_) PyBuffer_Release(&view);
    views_.clear();
    objects_.clear();
}

int Pins::traverse(visitproc visit, void* arg) const {
    for (const nb::object& o : objects_) Py_VISIT(o.ptr());
    for (const Py_buffer& view : views_) Py_VISIT(view.obj);
    return 0;
}

Plan::Plan(std::string name_, nb::sequence specs, int arity_, int device_id_, nb::object on_missing_,
           nb::object on_failure_, nb::object convert_, int flat_below_, int block_dim_)
    : name(std::move(name_)),
      arity(arity_),
      device_id(device_id_),
      block_dim(block_dim_),
      flat_below(flat_below_),
      on_missing(std::move(on_missing_)),
      on_failure(std::move(on_failure_)),
      convert(std::move(convert_)) {
    if (arity < 0 || arity > 4) throw nb::value_error("the arity of a kernel is 0 to 4");
    size_t align = 8;
    for (nb::handle spec : specs) {
        ParamSpec p = nb::cast<ParamSpec>(spec);
        block_size = (block_size + p.align - 1) / p.align * p.align;
        p.offset = static_cast<uint32_t>(block_size);
        block_size += p.size;
        align = std::max<size_t>(align, p.align);
        params.push_back(std::move(p));
    }
    block_size = (block_size + align - 1) / align * align;
}

void Plan::refuse(PyObject* exception, size_t index, const std::string& why) const {
    raise(exception, "kernel `" + name + "`: argument `" + params[index].name + "` " + why);
}

void Plan::check_count(size_t count) const {
    if (count == params.size()) return;
    std::string list;
    for (const ParamSpec& p : params) list += (list.empty() ? "" : ", ") + p.name;
    std::string first = count < params.size() ? "; the first missing one is `" + params[count].name + "`" : "";
    raise(PyExc_TypeError, "kernel `" + name + "` takes " + std::to_string(params.size()) +
                               (params.size() == 1 ? " argument (" : " arguments (") + list +
                               "), but inputs and outputs give " + std::to_string(count) + first + "; write inputs=[" +
                               list + "]");
}

Grid Plan::grid(PyObject* dim) const {
    Grid g;
    if (PyTuple_Check(dim) || PyList_Check(dim)) {
        nb::object items = nb::steal(PySequence_Fast(dim, ""));
        g.ndim = static_cast<int>(PySequence_Fast_GET_SIZE(items.ptr()));
        if (g.ndim < 1 || g.ndim > 4)
            raise(PyExc_ValueError,
                  "kernel `" + name + "`: a launch has 1 to 4 dimensions, got " + std::to_string(g.ndim));
        for (int i = 0; i < g.ndim; ++i) g.dims[i] = extent(PySequence_Fast_GET_ITEM(items.ptr(), i));
    } else {
        g.dims[0] = extent(dim);
    }
    return checked(g);
}

namespace {

// The most threads up to `most` of which a launch has whole blocks.
int64_t fitting_block(int64_t threads, int64_t most) {
    while (threads % most != 0) --most;
    return most;
}

}  // namespace

Grid Plan::checked(Grid g) const {
    for (int64_t d : g.dims)
        if (__builtin_mul_overflow(g.threads, d, &g.threads))
            raise(PyExc_ValueError, "kernel `" + name + "`: the launch has more than 2**63 threads");
    if (whole_blocks && g.threads % block_dim != 0)
        raise(PyExc_ValueError, "kernel `" + name + "` works in blocks of " + std::to_string(block_dim) +
                                    " threads, but a launch of " + std::to_string(g.threads) +
                                    " is not a multiple of that: launch more threads and let those beyond the data do "
                                    "nothing, or choose a block_dim that fits, block_dim=" +
                                    std::to_string(fitting_block(g.threads, block_dim)));
    if (whole_rows && g.dims[g.ndim - 1] != block_dim)
        raise(PyExc_ValueError, "kernel `" + name + "` has indices of blocks: the last dimension of its launches is " +
                                    "block_dim, " + std::to_string(block_dim) + " threads, not " +
                                    std::to_string(g.dims[g.ndim - 1]));
    if (first_indices) g.ndim = std::max(g.ndim, arity);
    if (arity == 1 && g.ndim > 1 && !first_indices) {
        g.dims[0] = g.threads;
        g.dims[1] = g.dims[2] = g.dims[3] = 1;
    } else if (arity != 0 && arity != g.ndim) {
        raise(PyExc_ValueError, "kernel `" + name + "` takes " + std::to_string(arity) +
                                    " thread indices from wp.tid(), but the launch has " + std::to_string(g.ndim) +
                                    (g.ndim == 1 ? " dimension" : " dimensions"));
    }
    if (g.threads > kMostCounted) check_threads(g);
    return g;
}

void Plan::set_entry(int variant, uintptr_t address, nb::object owner) {
    if (variant < 0 || variant >= kVariants)
        throw nb::value_error("variant is a sum of 1 (strided), 2 (flat), 4 (atomic) and 8 (promised)");
    entries_[variant] = reinterpret_cast<wc_kernel>(address);
    owners[variant] = std::move(owner);
}

nb::tuple Plan::variants() const {
    nb::list found;
    for (int v = 0; v < kVariants; ++v)
        if (entries_[v] || gpu_entries_[v].function) found.append(v);
    return nb::tuple(found);
}

void Plan::set_needed(const std::vector<std::tuple<size_t, uint32_t, std::string>>& arrays) {
    for (const auto& [index, offset, words] : arrays) needed_.push_back({params.at(index).offset + offset, words});
}

void Plan::set_stores(const std::vector<size_t>& ids, bool elsewhere) {
    for (size_t index : ids) stored_ids_.push_back(params.at(index).offset);
    stores_elsewhere_ = elsewhere;
}

void Plan::check_needed(const std::byte* block) const {
    for (const Needed& array : needed_) {
        void* data;
        std::memcpy(&data, block + array.offset, sizeof data);
        if (data) continue;
        raise(PyExc_ValueError, "kernel `" + name + "`: `" + array.name +
                                    "` is None or empty, but every thread uses elements of it: pass an array, or let "
                                    "the kernel ask `if " +
                                    array.name + ":` before");
    }
}

int Plan::variant(const Grid& g, bool strided) const {
    if (block_dim != 0)  // not flat where every block lies in one row
        return (strided ? kStrided : kInner) | (arity > 1 && g.dims[arity - 1] % block_dim != 0 ? kFlat : kInner);
    bool flat = arity > 1 && g.dims[arity - 1] < flat_below && g.threads >= int64_t{kFlatGroups} * flat_below &&
                g.threads < int64_t{1} << 31;
    return (strided ? kStrided : kInner) | (flat ? kFlat : kInner);
}

wc_kernel Plan::entry(int variant) {
    if (!entries_[variant] && !on_missing.is_none()) on_missing(variant);
    if (!entries_[variant])
        raise(PyExc_RuntimeError, "kernel `" + name + "` has no code for variant " + std::to_string(variant));
    return entries_[variant];
}

void Plan::move(std::byte* block, const std::vector<Move>& moves, const std::vector<bool>& reads) const {
    each_array(block, [&](const ParamSpec& p, std::byte* at, int ndim, int64_t itemsize, bool) {
        auto index = static_cast<size_t>(&p - params.data());
        if (index >= reads.size() || !reads[index]) return;
        wc_array array;
        std::memcpy(&array, at, sizeof array);
        uintptr_t low = range_of(array, array.data, ndim, itemsize).low;
        for (const Move& m : moves) {
            if (low < m.low || low >= m.high) continue;
            array.data = static_cast<std::byte*>(array.data) + m.by;
            std::memcpy(at, &array, sizeof array);
            return;
        }
    });
}

void Plan::launch(PyObject* dim, PyObject* const* values, size_t count, const std::vector<Move>& moves,
                  const std::vector<bool>& reads) {
    check_count(count);
    Grid g = grid(dim);
    alignas(64) std::byte small[kStackBlock];
    std::vector<std::byte> large;
    std::byte* block = small;
    if (block_size > kStackBlock) {
        large.resize(block_size);
        block = large.data();
    }
    Pins pins;
    bool strided = false;
    for (size_t i = 0; i < count; ++i) pack(i, values[i], block, pins, strided);
    if (!moves.empty()) move(block, moves, reads);
    run(block, g, strided);
}

// Any kernel may write to gradients.
void Plan::announce_writes(const std::byte* block) const {
    for (const ParamSpec& p : params)
        if (p.nested) before_any_write();
    if (stores_elsewhere_) before_write_to_any_structure();
    for (uint32_t offset : stored_ids_) {
        uint64_t id;
        std::memcpy(&id, block + offset, sizeof id);
        before_write_to_structure(id);
    }
    each_array(block, [](const ParamSpec&, const std::byte* at, int ndim, int64_t itemsize, bool writable) {
        wc_array array;
        std::memcpy(&array, at, sizeof array);
        if (writable) before_write(range_of(array, array.data, ndim, itemsize));
        before_write(range_of(array, array.grad, ndim, itemsize));
    });
}

namespace {

nb::tuple layout(const Plan& plan) {
    nb::list out;
    for (const ParamSpec& p : plan.params) out.append(nb::make_tuple(p.name, p.offset, p.size));
    return nb::tuple(out);
}

// Whether the arrays among the arguments of a launch, if it may write all of them, share no memory and are aligned.
bool promised(nb::handle values) {
    AliasGuard promises;
    for (nb::handle value : values)
        if (PyArray* a = as_array(value.ptr())) promises.add(a->view, a->ndim, dtype(a->dtype).itemsize, true);
    return promises.kept();
}

nb::tuple written(const Plan& plan) {
    nb::list out;
    for (const ParamSpec& p : plan.params) {
        nb::list offsets;
        if (p.kind == ArgKind::Array && p.writable) offsets.append(0);
        for (const ArrayField& a : p.arrays)
            if (a.writable) offsets.append(a.offset);
        out.append(nb::tuple(offsets));
    }
    return nb::tuple(out);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) return 0;
    Plan& plan = *nb::inst_ptr<Plan>(self);
    Py_VISIT(plan.on_missing.ptr());
    Py_VISIT(plan.on_failure.ptr());
    Py_VISIT(plan.on_fault.ptr());
    Py_VISIT(plan.convert.ptr());
    Py_VISIT(plan.on_checked.ptr());
    Py_VISIT(plan.recipe.ptr());
    for (nb::object& other : plan.wider) Py_VISIT(other.ptr());
    for (nb::object& owner : plan.owners) Py_VISIT(owner.ptr());
    for (ParamSpec& p : plan.params) Py_VISIT(p.type.ptr());
    return 0;
}

int clear(PyObject* self) {
    if (!nb::inst_ready(self)) return 0;
    Plan& plan = *nb::inst_ptr<Plan>(self);
    plan.recipe.reset();
    for (nb::object& other : plan.wider) other.reset();
    plan.on_missing = plan.on_failure = plan.on_fault = plan.convert = plan.on_checked = nb::none();
    return 0;
}

PyType_Slot slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {0, nullptr}};

}  // namespace

void bind_plans(nb::module_& m) {
    nb::class_<ParamSpec>(m, "ParamSpec")
        .def(nb::init<std::string, nb::object, bool, const std::vector<std::array<int64_t, 4>>&, bool>(),
             nb::arg("name"), nb::arg("type"), nb::arg("writable") = true,
             nb::arg("arrays") = std::vector<std::array<int64_t, 4>>(), nb::arg("nested") = false)
        .def_ro("name", &ParamSpec::name)
        .def_ro("type", &ParamSpec::type)
        .def_ro("writable", &ParamSpec::writable);

    auto cls = nb::class_<Plan>(m, "Plan", nb::type_slots(slots), nb::is_weak_referenceable());
    cls.def(nb::init<std::string, nb::sequence, int, int, nb::object, nb::object, nb::object, int, int>(),
            nb::arg("kernel_name"), nb::arg("params"), nb::arg("arity"), nb::arg("device_id") = 0,
            nb::arg("on_missing").none() = nb::none(), nb::arg("on_failure").none() = nb::none(),
            nb::arg("convert").none() = nb::none(), nb::arg("flat_below") = 0, nb::arg("block_dim") = 0)
        .def("set_accumulation", &Plan::set_accumulation, nb::arg("facts"))
        .def("set_needed", &Plan::set_needed, nb::arg("arrays"))
        .def("set_stores", &Plan::set_stores, nb::arg("ids"), nb::arg("elsewhere"))
        .def("set_counts", &Plan::set_counts, nb::arg("threads"), nb::arg("blocks"), nb::arg("arrays"))
        .def("set_entry", &Plan::set_entry, nb::arg("variant"), nb::arg("address"), nb::arg("owner").none())
        .def(
            "set_gpu_entry",
            [](Plan& plan, int variant, uintptr_t context, uintptr_t function, unsigned block_dim, unsigned blocks,
               nb::object owner, nb::object on_checked) {
                cuda::Entry entry{reinterpret_cast<void*>(context), reinterpret_cast<void*>(function), block_dim,
                                  blocks};
                plan.set_gpu_entry(variant, entry, std::move(owner), std::move(on_checked));
            },
            nb::arg("variant"), nb::arg("context"), nb::arg("function"), nb::arg("block_dim"), nb::arg("blocks"),
            nb::arg("owner").none(), nb::arg("on_checked").none() = nb::none())
        .def(
            "launch",
            [](Plan& plan, nb::handle dim, nb::handle values) {
                nb::object items = nb::steal(PySequence_Tuple(values.ptr()));
                if (!items.is_valid()) throw nb::python_error();
                plan.launch(dim.ptr(), &PyTuple_GET_ITEM(items.ptr(), 0),
                            static_cast<size_t>(PyTuple_GET_SIZE(items.ptr())));
            },
            nb::arg("dim"), nb::arg("args"))
        .def(
            "launch_moved",
            [](Plan& plan, nb::handle dim, nb::list values, nb::list moves, const std::vector<bool>& reads) {
                std::vector<Move> found;
                for (nb::handle move : moves) {
                    auto low = nb::cast<uintptr_t>(move[0]);
                    auto to = nb::cast<uintptr_t>(move[2].attr("ptr"));
                    found.push_back({low, nb::cast<uintptr_t>(move[1]), static_cast<int64_t>(to - low)});
                }
                nb::tuple items = nb::tuple(values);
                plan.launch(dim.ptr(), &PyTuple_GET_ITEM(items.ptr(), 0), items.size(), found, reads);
            },
            nb::arg("dim"), nb::arg("args"), nb::arg("moves"), nb::arg("reads"))
        .def_prop_rw(
            "recipe", [](const Plan& plan) { return plan.recipe.is_valid() ? plan.recipe : nb::none(); },
            [](Plan& plan, nb::object recipe) { plan.recipe = std::move(recipe); })
        .def(
            "set_wider", [](Plan& plan, size_t ndim, nb::object other) { plan.wider.at(ndim - 2) = std::move(other); },
            nb::arg("ndim"), nb::arg("plan"))
        .def_ro("kernel_name", &Plan::name)
        .def_ro("arity", &Plan::arity)
        .def_ro("device_id", &Plan::device_id)
        .def_ro("block_dim", &Plan::block_dim)
        .def_rw("label", &Plan::label)
        .def_rw("whole_blocks", &Plan::whole_blocks)
        .def_rw("whole_rows", &Plan::whole_rows)
        .def_rw("first_indices", &Plan::first_indices)
        .def_rw("serial", &Plan::serial)
        .def_rw("promised", &Plan::promised)
        .def_ro("block_size", &Plan::block_size)
        .def_prop_ro("layout", &layout)
        .def_prop_ro("variants", &Plan::variants)
        .def_prop_ro("written", &written)
        .def_rw("on_missing", &Plan::on_missing, nb::for_setter(nb::arg("value").none()))
        .def_rw("on_failure", &Plan::on_failure, nb::for_setter(nb::arg("value").none()))
        .def_rw("on_fault", &Plan::on_fault, nb::for_setter(nb::arg("value").none()))
        .def_rw("convert", &Plan::convert, nb::for_setter(nb::arg("value").none()));
    cls.attr("STRIDED") = int{kStrided};
    cls.attr("FLAT") = int{kFlat};
    cls.attr("ATOMIC") = int{kAtomic};
    cls.attr("PROMISED") = int{kPromised};
    plan_type = reinterpret_cast<PyTypeObject*>(cls.ptr());
    m.def("promised", &promised, nb::arg("args"));
}

}  // namespace wc
