// omni.warp_core._native.xla: the functions that XLA calls to launch kernels and to run Python functions.
//
// A call has two attributes. `key` finds the plan, or the Python function; `call` is a list of integers that says how
// the operands and results become the arguments, as interop/jax_calls.py writes it. Nothing in a call is believed
// before it is checked: it may come from a file. Start with `launch_handler`.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <array>
#include <cfenv>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gil.h"
#include "launches/plan.h"
#include "warp_core/xla_ffi.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace wc {
namespace {

struct Refused {
    xla::ErrorCode code;
    std::string message;
};

[[noreturn]] void refuse(const std::string& message, xla::ErrorCode code = xla::kInvalidArgument) {
    throw Refused{code, message};
}

// Never destroyed: it must not drop Python references after the interpreter is gone.
struct Registry {
    std::unordered_map<int64_t, nb::object> plans;
    nb::object resolve = nb::none();  // key -> Plan
    nb::object invoke = nb::none();   // (key, addresses): runs a Python function
};

Registry& registry() {
    static Registry& r = *new Registry;
    return r;
}

int32_t data_type(const Scalar& s) {
    int log = s.size == 1 ? 0 : s.size == 2 ? 1 : s.size == 4 ? 2 : 3;
    switch (s.kind) {
        case Kind::Bool:
            return xla::kPred;
        case Kind::Int:
            return xla::kS8 + log;
        case Kind::Uint:
            return xla::kU8 + log;
        case Kind::Float:
            return xla::kF16 + log - 1;
        case Kind::Bfloat:
            return xla::kBf16;
        default:
            return 0;
    }
}

int64_t item_size(int32_t type) {
    switch (type) {
        case xla::kPred:
        case xla::kS8:
        case xla::kU8:
            return 1;
        case xla::kS16:
        case xla::kU16:
        case xla::kF16:
        case xla::kBf16:
            return 2;
        case xla::kS32:
        case xla::kU32:
        case xla::kF32:
            return 4;
        case xla::kS64:
        case xla::kU64:
        case xla::kF64:
            return 8;
        default:
            refuse("a buffer has elements of type " + std::to_string(type) + " of XLA, which kernels do not have");
    }
}

const void* attribute(const xla::CallFrame& frame, const char* name, int32_t type) {
    const xla::Attributes& all = frame.attributes;
    for (int64_t i = 0; i < all.size; ++i)
        if (all.types[i] == type && std::string_view(all.names[i]->data, all.names[i]->size) == name)
            return all.values[i];
    refuse(std::string("the call has no attribute `") + name + "` of the expected kind");
}

constexpr int64_t kNone = -1;               // no buffer
constexpr int64_t kZero = -1, kLeave = -2;  // how a result begins
constexpr int64_t kMostBuffers = 1024, kMostBatches = 32;

// A buffer of the call, and how to step through its examples.
struct Source {
    const xla::Buffer* buffer = nullptr;
    std::byte* data = nullptr;
    int64_t bytes = 0;          // of one example
    int64_t example_dims = 0;   // where the dimensions of one example begin
    std::vector<int64_t> step;  // bytes from one example to the next, for each batch dimension
};

class Call {
  public:
    explicit Call(const xla::CallFrame& frame) {
        auto& key_value = *static_cast<const xla::ScalarAttribute*>(attribute(frame, "key", xla::kScalar));
        auto& words = *static_cast<const xla::ArrayAttribute*>(attribute(frame, "call", xla::kArray));
        if (key_value.dtype != xla::kS64 || words.dtype != xla::kS64)
            refuse("the attributes `key` and `call` must be 64-bit integers");
        std::memcpy(&key, key_value.value, sizeof key);
        at_ = static_cast<const int64_t*>(words.data);
        end_ = at_ + words.size;
        read(frame);
        if (at_ != end_) refuse("the attribute `call` has numbers too many");
    }

    // Fills results that begin as zeros, or as copies of operands.
    void begin_results() const {
        for (size_t i = 0; i < results_; ++i) {
            const Source& to = sources[operands_ + i];
            if (begins_[i] == kZero) {
                if (int64_t all = to.bytes * examples; all) std::memset(to.data, 0, static_cast<size_t>(all));
            } else if (begins_[i] >= 0) {
                copy(to, sources[static_cast<size_t>(begins_[i])]);
            }
        }
    }

    // Calls f with the number of each example, for every batch dimension.
    template <class F>
    void each_example(F&& f) const {
        std::vector<int64_t> index(batch.size());
        for (int64_t n = 0; n < examples; ++n) {
            f(index);
            for (size_t d = batch.size(); d-- > 0 && ++index[d] == batch[d];) index[d] = 0;
        }
    }

    std::byte* address(int64_t source, const std::vector<int64_t>& index) const {
        const Source& s = sources[static_cast<size_t>(source)];
        std::byte* found = s.data;
        for (size_t d = 0; d < index.size(); ++d) found += index[d] * s.step[d];
        return found;
    }

    int64_t key = 0, examples = 1;
    Grid grid;
    std::vector<int64_t> batch;
    std::vector<Source> sources;  // operands, then results
    struct Argument {
        int64_t data, grad;
    };
    std::vector<Argument> arguments;
    const std::byte* block = nullptr;  // with the values of scalars
    size_t block_size = 0;

  private:
    int64_t next(int64_t low, int64_t high) {
        if (at_ == end_) refuse("the attribute `call` is too short");
        if (*at_ < low || *at_ > high) refuse("the attribute `call` has a number out of its range");
        return *at_++;
    }

    void read(const xla::CallFrame& frame) {
        grid.ndim = static_cast<int>(next(1, 4));
        for (int64_t& d : grid.dims) d = next(0, INT32_MAX);
        batch.resize(static_cast<size_t>(next(0, kMostBatches)));
        for (int64_t& n : batch) {
            n = next(0, INT64_MAX);
            if (__builtin_mul_overflow(examples, n, &examples)) refuse("there are too many examples");
        }
        operands_ = static_cast<size_t>(next(0, kMostBuffers));
        results_ = static_cast<size_t>(next(0, kMostBuffers));
        if (static_cast<int64_t>(operands_) != frame.operands.size ||
            static_cast<int64_t>(results_) != frame.results.size)
            refuse("the call has other numbers of operands or results than its attribute says");
        sources.resize(operands_ + results_);
        for (size_t i = 0; i < operands_; ++i)
            open(sources[i], frame.operands, i, next(0, (int64_t{1} << kMostBatches) - 1));
        auto last = static_cast<int64_t>(operands_) - 1;
        for (size_t i = 0; i < results_; ++i) {
            open(sources[operands_ + i], frame.results, i, (int64_t{1} << batch.size()) - 1);
            begins_.push_back(next(kLeave, last));
        }
        last = static_cast<int64_t>(sources.size()) - 1;
        arguments.resize(static_cast<size_t>(next(0, kMostBuffers)));
        for (Argument& a : arguments) a = {next(kNone, last), next(kNone, last)};
        auto size = static_cast<size_t>(next(0, 1 << 20));
        if (size != static_cast<size_t>(end_ - at_)) refuse("the attribute `call` is too short");
        block = reinterpret_cast<const std::byte*>(at_);
        block_size = size * sizeof(int64_t);
        at_ += size;
    }

    void open(Source& s, const xla::Buffers& buffers, size_t i, int64_t mask) const {
        if (buffers.types[i] != xla::kBuffer) refuse("the call has a value that is not a buffer");
        s.buffer = static_cast<const xla::Buffer*>(buffers.values[i]);
        s.data = static_cast<std::byte*>(s.buffer->data);
        if (mask >> batch.size()) refuse("a buffer has more batch dimensions than the call");
        s.example_dims = __builtin_popcountll(static_cast<uint64_t>(mask));
        if (s.buffer->rank < s.example_dims) refuse("a buffer lacks its batch dimensions");
        s.bytes = item_size(s.buffer->dtype);
        for (int64_t d = s.example_dims; d < s.buffer->rank; ++d) s.bytes *= s.buffer->dims[d];
        s.step.assign(batch.size(), 0);
        int64_t step = s.bytes, dim = s.example_dims;
        for (size_t d = batch.size(); d-- > 0;) {
            if (!(mask >> d & 1)) continue;
            if (s.buffer->dims[--dim] != batch[d]) refuse("a buffer has another batch size than the call");
            s.step[d] = step;
            step *= batch[d];
        }
    }

    void copy(const Source& to, const Source& from) const {
        if (from.bytes != to.bytes || from.buffer->dtype != to.buffer->dtype)
            refuse("a result cannot begin as an operand of another size");
        if (from.data == to.data || to.bytes == 0) return;
        each_example([&](const std::vector<int64_t>& index) {
            std::memcpy(address(&to - sources.data(), index), address(&from - sources.data(), index),
                        static_cast<size_t>(to.bytes));
        });
    }

    const int64_t *at_, *end_;
    size_t operands_ = 0, results_ = 0;
    std::vector<int64_t> begins_;
};

// -- launches ---------------------------------------------------------------------------------------------------------

nb::object plan_for(int64_t key) {
    auto found = registry().plans.find(key);
    if (found != registry().plans.end()) return found->second;
    if (registry().resolve.is_none()) refuse("no kernels are known to XLA", xla::kFailedPrecondition);
    nb::object plan = registry().resolve(key);
    if (!nb::isinstance<Plan>(plan)) refuse("the key leads to no plan", xla::kInternal);
    registry().plans.emplace(key, plan);
    return plan;
}

[[noreturn]] void misfit(const Plan& plan, const ParamSpec& p, const char* what) {
    refuse("kernel `" + plan.name + "`: the buffer for `" + p.name + "` " + what);
}

// The shape and strides of an argument, from the buffer that it shows.
wc_array array_over(const Plan& plan, const ParamSpec& p, const Source& s) {
    const Dtype& d = *p.dtype;
    const xla::Buffer& b = *s.buffer;
    if (b.dtype != data_type(d.scalar)) misfit(plan, p, "has another element type");
    if (b.rank - s.example_dims != p.ndim + d.rank) misfit(plan, p, "has another number of dimensions");
    const int64_t* dims = b.dims + s.example_dims;
    for (int i = 0; i < d.rank; ++i)
        if (dims[p.ndim + i] != d.shape[i]) misfit(plan, p, "has another number of components");
    Array a;
    a.ndim = p.ndim;
    a.dtype = p.dtype_id;
    std::copy_n(dims, p.ndim, a.view.shape);
    int64_t step = d.itemsize;
    for (int i = p.ndim - 1; i >= 0; step *= a.view.shape[i--]) a.view.strides[i] = step;
    finish(a);
    return a.view;
}

void check_gradient(const Plan& plan, const ParamSpec& p, const wc_array& array, const Source& s) {
    wc_array gradient = array_over(plan, p, s);
    if (!std::equal(array.shape, array.shape + p.ndim, gradient.shape))
        misfit(plan, p, "has a gradient of another shape");
}

void launch(const Call& call) {
    nb::object held = plan_for(call.key);
    Plan& plan = *nb::inst_ptr<Plan>(held);
    if (plan.params.size() != call.arguments.size() || (plan.block_size + 7) / 8 * 8 != call.block_size)
        refuse("kernel `" + plan.name + "` has other parameters than the call");
    Grid grid = call.grid;
    if (plan.arity != 1 && plan.arity != 0 && plan.arity != grid.ndim)
        refuse("kernel `" + plan.name + "` takes " + std::to_string(plan.arity) +
               " thread indices from wp.tid(), but launch_dims has " + std::to_string(grid.ndim) +
               (grid.ndim == 1 ? " dimension" : " dimensions"));
    grid = plan.checked(grid);
    struct alignas(64) Line {
        std::byte bytes[64];
    };
    std::array<Line, 32> small;
    std::vector<Line> large;
    std::byte* block = small.data()->bytes;
    if (call.block_size > sizeof small) {
        large.resize(call.block_size / 64 + 1);
        block = large.data()->bytes;
    }
    std::memcpy(block, call.block, plan.block_size);
    auto each_array = [&](auto&& f) {
        for (size_t i = 0; i < call.arguments.size(); ++i)
            if (plan.params[i].kind == ArgKind::Array) f(plan.params[i], call.arguments[i]);
    };
    each_array([&](const ParamSpec& p, const Call::Argument& a) {
        wc_array array{};
        if (a.data != kNone) array = array_over(plan, p, call.sources[static_cast<size_t>(a.data)]);
        if (a.data != kNone && a.grad != kNone)
            check_gradient(plan, p, array, call.sources[static_cast<size_t>(a.grad)]);
        std::memcpy(block + p.offset, &array, sizeof array);
    });
    call.each_example([&](const std::vector<int64_t>& index) {
        each_array([&](const ParamSpec& p, const Call::Argument& a) {
            if (a.data == kNone) return;
            std::byte* data = call.address(a.data, index);
            std::byte* grad = a.grad == kNone ? nullptr : call.address(a.grad, index);
            std::memcpy(block + p.offset + offsetof(wc_array, data), &data, sizeof data);
            std::memcpy(block + p.offset + offsetof(wc_array, grad), &grad, sizeof grad);
        });
        plan.run(block, grid, false);
    });
}

// -- Python functions
// ---------------------------------------------------------------------------------------------------

void invoke(const Call& call) {
    if (registry().invoke.is_none()) refuse("no functions are known to XLA", xla::kFailedPrecondition);
    call.each_example([&](const std::vector<int64_t>& index) {
        nb::list addresses;
        for (const Call::Argument& a : call.arguments)
            addresses.append(a.data == kNone ? 0 : reinterpret_cast<uintptr_t>(call.address(a.data, index)));
        registry().invoke(call.key, addresses);
    });
}

nb::object value_of(int32_t type, const void* at) {
    auto as = [&](auto zero) {
        std::memcpy(&zero, at, sizeof zero);
        return zero;
    };
    switch (type) {
        case xla::kPred:
            return nb::cast(as(uint8_t{}) != 0);
        case xla::kS8:
            return nb::cast(as(int8_t{}));
        case xla::kS16:
            return nb::cast(as(int16_t{}));
        case xla::kS32:
            return nb::cast(as(int32_t{}));
        case xla::kS64:
            return nb::cast(as(int64_t{}));
        case xla::kU8:
            return nb::cast(as(uint8_t{}));
        case xla::kU16:
            return nb::cast(as(uint16_t{}));
        case xla::kU32:
            return nb::cast(as(uint32_t{}));
        case xla::kU64:
            return nb::cast(as(uint64_t{}));
        case xla::kF32:
            return nb::cast(as(float{}));
        case xla::kF64:
            return nb::cast(as(double{}));
        default:
            refuse("an attribute has elements of type " + std::to_string(type) + " of XLA");
    }
}

nb::dict dictionary(const xla::Attributes& attributes);

nb::object attribute_value(int32_t type, const void* value) {
    switch (type) {
        case xla::kScalar: {
            auto& scalar = *static_cast<const xla::ScalarAttribute*>(value);
            return value_of(scalar.dtype, scalar.value);
        }
        case xla::kArray: {
            auto& array = *static_cast<const xla::ArrayAttribute*>(value);
            nb::list out;
            for (size_t i = 0; i < array.size; ++i)
                out.append(value_of(array.dtype, static_cast<const char*>(array.data) +
                                                     static_cast<int64_t>(i) * item_size(array.dtype)));
            return out;
        }
        case xla::kString: {
            auto& text = *static_cast<const xla::Text*>(value);
            return nb::str(text.data, text.size);
        }
        case xla::kDictionary:
            return dictionary(*static_cast<const xla::Attributes*>(value));
        default:
            refuse("an attribute is of an unknown kind");
    }
}

nb::dict dictionary(const xla::Attributes& attributes) {
    nb::dict out;
    for (int64_t i = 0; i < attributes.size; ++i) {
        const xla::Text& name = *attributes.names[i];
        out[nb::str(name.data, name.size)] = attribute_value(attributes.types[i], attributes.values[i]);
    }
    return out;
}

// (address, shape, number of the element type) of each buffer.
nb::list buffers(const xla::Buffers& given) {
    nb::list out;
    for (int64_t i = 0; i < given.size; ++i) {
        if (given.types[i] != xla::kBuffer) refuse("the call has a value that is not a buffer");
        const auto& b = *static_cast<const xla::Buffer*>(given.values[i]);
        nb::list shape;
        for (int64_t d = 0; d < b.rank; ++d) shape.append(b.dims[d]);
        out.append(nb::make_tuple(reinterpret_cast<uintptr_t>(b.data), nb::tuple(shape), b.dtype));
    }
    return out;
}

// -- calls ------------------------------------------------------------------------------------------------------------

xla::Error* error(const xla::CallFrame& frame, const std::string& message, xla::ErrorCode code) {
    xla::ErrorCreate create{WC_XLA_SIZE(xla::ErrorCreate, code), nullptr, message.c_str(), code};
    return frame.api->error_create(&create);
}

// The answer to a question about the handler, which some calls are: true if this was one.
bool answered(const xla::CallFrame& frame) {
    for (xla::Extension* e = frame.extensions; e; e = e->next) {
        if (e->type != xla::kMetadataExtension) continue;
        xla::Metadata& metadata = *reinterpret_cast<xla::MetadataExtension*>(e)->metadata;
        metadata.version.major = xla::kMajor;
        metadata.version.minor = frame.api ? frame.api->version.minor : xla::kMinor;
        metadata.traits = 0;
        return true;
    }
    return false;
}

// The threads of XLA take numbers below the normal ones for zero. Kernels give the bits of a plain launch.
class UsualArithmetic {
  public:
#if defined(__SSE__)
    UsualArithmetic() : saved_(_mm_getcsr()) { _mm_setcsr(kDefault); }
    ~UsualArithmetic() { _mm_setcsr(saved_); }

  private:
    static constexpr unsigned kDefault = 0x1f80;  // no exception traps, nothing is flushed to zero
    unsigned saved_;
#else
    UsualArithmetic() {
        std::fegetenv(&saved_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~UsualArithmetic() { std::fesetenv(&saved_); }

  private:
    std::fenv_t saved_;
#endif

  public:
    UsualArithmetic(const UsualArithmetic&) = delete;
    UsualArithmetic& operator=(const UsualArithmetic&) = delete;
};

class Gil {
  public:
    Gil() : state_(take_gil([] { return PyGILState_Ensure(); })) {}
    ~Gil() { PyGILState_Release(state_); }
    Gil(const Gil&) = delete;
    Gil& operator=(const Gil&) = delete;

  private:
    PyGILState_STATE state_;
};

std::string message_of(nb::python_error& e, bool traceback) {
    if (traceback) return e.what();
    nb::str text(e.value());
    return text.c_str();
}

// Runs `work` with the GIL, after `prepare` without it, and returns what went wrong.
template <class Work>
xla::Error* guarded(const xla::CallFrame& frame, bool traceback, Work&& work) {
    if (answered(frame)) return nullptr;
    if (frame.stage != xla::kExecute) return nullptr;
    if (frame.struct_size < WC_XLA_SIZE(xla::CallFrame, attributes))
        return error(frame, "the call frame is of an unknown version", xla::kUnimplemented);
    try {
        work();
        return nullptr;
    } catch (const Refused& why) {
        return error(frame, why.message, why.code);
    } catch (const std::exception& e) {
        return error(frame, e.what(), xla::kInternal);
    }
}

// An exception of Python as one that outlives the GIL.
template <class Work>
void with_python(bool traceback, Work&& work) {
    Gil gil;
    UsualArithmetic usual;
    try {
        work();
    } catch (nb::python_error& e) {
        bool is_argument = e.matches(PyExc_TypeError) || e.matches(PyExc_ValueError);
        refuse(message_of(e, traceback), is_argument || traceback ? xla::kInvalidArgument : xla::kInternal);
    }
}

xla::Error* launch_handler(xla::CallFrame* frame) {
    return guarded(*frame, false, [&] {
        Call call(*frame);
        call.begin_results();
        with_python(false, [&] { launch(call); });
    });
}

xla::Error* call_handler(xla::CallFrame* frame) {
    return guarded(*frame, true, [&] {
        Call call(*frame);
        call.begin_results();
        with_python(true, [&] { invoke(call); });
    });
}

// A call of a function that a program has registered: f(operands, results, attributes, stream).
uintptr_t call_function(uintptr_t address, nb::handle function) {
    auto& frame = *reinterpret_cast<xla::CallFrame*>(address);
    return reinterpret_cast<uintptr_t>(guarded(frame, true, [&] {
        with_python(true, [&] {
            function(buffers(frame.operands), buffers(frame.results), dictionary(frame.attributes), nb::none());
        });
    }));
}

nb::object target(xla::Handler* handler) {
    return nb::steal(PyCapsule_New(reinterpret_cast<void*>(handler), "xla._CUSTOM_CALL_TARGET", nullptr));
}

}  // namespace

void bind_xla(nb::module_& m) {
    nb::module_ sub = m.def_submodule("xla", "Functions that XLA calls.");
    sub.attr("launch_target") = target(launch_handler);
    sub.attr("call_target") = target(call_handler);
    sub.def("set_resolver", [](nb::object f) { registry().resolve = std::move(f); }, nb::arg("function"));
    sub.def("set_invoker", [](nb::object f) { registry().invoke = std::move(f); }, nb::arg("function"));
    sub.def("forget_plans", [] { auto plans = std::exchange(registry().plans, {}); });
    sub.def("call_function", &call_function, nb::arg("frame"), nb::arg("function"));
}

}  // namespace wc
