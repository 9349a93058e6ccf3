// Operators and comparison of values.
#include <algorithm>

#include "arrays/numbers.h"
#include "values/values.h"
#include "warp_core/component_arithmetic.h"

namespace wc {
namespace {

const char* const kSymbols[] = {"+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"};

bool has_bits(Scalar s, Op op) {
    return s.kind == Kind::Int || s.kind == Kind::Uint || (s.kind == Kind::Bool && op < Op::Shl);
}

bool takes_same(const ValueInfo& t, Op op) {
    if (is_bitwise(op)) return (t.form == Form::Vec || t.form == Form::Mat) && has_bits(t.scalar, op);
    return op == Op::Add || op == Op::Sub || (op == Op::Rem && t.form == Form::Vec);
}

bool takes_scalar(Form form, Op op) {
    return op == Op::Mul || op == Op::Div || ((op == Op::Add || op == Op::Sub || op == Op::Rem) && form == Form::Vec);
}

PyObject* refuse(Op op, PyObject* a, PyObject* b) {
    bool product = op == Op::Mul || op == Op::Div;
    return PyErr_Format(PyExc_TypeError, "`%s` cannot combine %s and %s%s", kSymbols[static_cast<int>(op)],
                        short_name(Py_TYPE(a)), short_name(Py_TYPE(b)),
                        product ? "; for componentwise products use wp.cw_mul and wp.cw_div" : "");
}

// -- products ---------------------------------------------------------------------------------------------------------

PyObject* multiply_matrices(Value* a, Value* b) {
    const ValueInfo &x = info(a), &y = info(b);
    Py_ssize_t rows = x.is_matrix() ? x.rows : 1, inner = x.cols;
    Py_ssize_t other = y.is_matrix() ? y.rows : y.count, cols = y.is_matrix() ? y.cols : 1;
    if (inner != other)
        return PyErr_Format(PyExc_TypeError, "cannot multiply %s by %s: inner dimensions %zd and %zd differ",
                            short_name(a), short_name(b), inner, other);
    PyTypeObject* cls = x.is_matrix() && y.is_matrix() ? matrix_class(x.scalar, rows, cols)
                                                       : vector_class(x.scalar, x.is_matrix() ? rows : cols);
    Value* out = cls ? allocate(cls) : nullptr;
    if (out && inner > 0) multiply(x.scalar, a->data, b->data, out->data, rows, inner, cols);
    return out ? object(out) : nullptr;
}

using Product = void (*)(Scalar, const std::byte*, const std::byte*, std::byte*);

PyObject* compose(Product product, Value* a, Value* b) {
    Value* out = allocate(Py_TYPE(a));
    if (out) product(info(a).scalar, a->data, b->data, out->data);
    return out ? object(out) : nullptr;
}

bool is_linear(const ValueInfo& t) { return t.form == Form::Mat || t.form == Form::Vec; }

// The product of two values with one scalar type, or null without an exception if it is not defined.
PyObject* multiply_values(Value* a, Value* b) {
    const ValueInfo &x = info(a), &y = info(b);
    if (is_linear(x) && is_linear(y) && (x.is_matrix() || y.is_matrix())) return multiply_matrices(a, b);
    if (x.form != y.form) return nullptr;
    if (x.form == Form::Quat) return compose(multiply_quaternions, a, b);
    return x.form == Form::Transform ? compose(compose_transforms, a, b) : nullptr;
}

// -- componentwise ----------------------------------------------------------------------------------------------------

PyObject* combine_values(Op op, Value* a, Value* b) {
    const ValueInfo &x = info(a), &y = info(b);
    if (op == Op::Mul && x.scalar == y.scalar) {
        PyObject* product = multiply_values(a, b);
        if (product || PyErr_Occurred()) return product;
    }
    if (x.type != y.type || !takes_same(x, op)) return refuse(op, object(a), object(b));
    Value* out = allocate(Py_TYPE(a));
    if (out) combine(op, x.scalar, {a->data}, {b->data}, out->data, x.count);
    return out ? object(out) : nullptr;
}

// The operand that the class makes of an unusual object: 1, 0 if it is no number, -1 with an exception.
int convert_operand(Value* v, PyObject* other, std::byte* number) {
    nb::object converted = nb::steal(PyObject_CallMethodObjArgs(object(v), hooks().operand, other, nullptr));
    if (!converted.is_valid()) return -1;
    if (converted.is_none()) return 0;
    if (store(info(v).scalar, converted.ptr(), number)) return 1;
    PyErr_Format(PyExc_TypeError, "%s got an operand that is not in range", short_name(v));
    return -1;
}

PyObject* combine_scalar(Op op, Value* v, PyObject* other, bool reverse) {
    const ValueInfo& t = info(v);
    alignas(8) std::byte number[8];
    if (!store_operand(t.scalar, other, number)) {
        int found = convert_operand(v, other, number);
        if (found < 0) return nullptr;
        if (found == 0) Py_RETURN_NOTIMPLEMENTED;
    }
    if (!takes_scalar(t.form, op)) return reverse ? refuse(op, other, object(v)) : refuse(op, object(v), other);
    Value* out = allocate(Py_TYPE(v));
    Operand value{v->data}, scalar{number, true};
    if (out) combine(op, t.scalar, reverse ? scalar : value, reverse ? value : scalar, out->data, t.count);
    return out ? object(out) : nullptr;
}

template <Op op>
PyObject* binary(PyObject* left, PyObject* right) {
    Value *a = as_value(left), *b = as_value(right);
    if (a && b) return combine_values(op, a, b);
    if (is_bitwise(op)) Py_RETURN_NOTIMPLEMENTED;
    if (a) return combine_scalar(op, a, right, false);
    return combine_scalar(op, b, left, true);
}

PyObject* matrix_product(PyObject* left, PyObject* right) {
    Value *a = as_value(left), *b = as_value(right);
    if (!a || !b || (info(a).form == Form::Vec && info(b).form == Form::Vec)) Py_RETURN_NOTIMPLEMENTED;
    return combine_values(Op::Mul, a, b);
}

PyObject* negative(PyObject* self) {
    auto* v = reinterpret_cast<Value*>(self);
    Value* out = allocate(Py_TYPE(self));
    if (out) negate(info(v).scalar, v->data, out->data, info(v).count);
    return out ? object(out) : nullptr;
}

PyObject* inverse(PyObject* self) {
    auto* v = reinterpret_cast<Value*>(self);
    if (!takes_same(info(v), Op::Shl))
        return PyErr_Format(PyExc_TypeError, "`~` works on integers, not on %s", short_name(v));
    Value* out = allocate(Py_TYPE(self));
    if (out) invert(info(v).scalar, v->data, out->data, info(v).count);
    return out ? object(out) : nullptr;
}

PyObject* positive(PyObject* self) {
    auto* v = reinterpret_cast<Value*>(self);
    Value* out = allocate(Py_TYPE(self));
    if (out) std::copy_n(v->data, info(v).size, out->data);
    return out ? object(out) : nullptr;
}

// -- comparison -------------------------------------------------------------------------------------------------------

// 1, 0, or -1 with an exception. Different scalar types compare as Python numbers do.
int equal_values(Value* a, Value* b) {
    const ValueInfo &x = info(a), &y = info(b);
    if (x.rows != y.rows || x.cols != y.cols || x.is_matrix() != y.is_matrix()) return 0;
    if (x.scalar == y.scalar) return equal(x.scalar, a->data, b->data, x.count);
    for (Py_ssize_t i = 0; i < x.count; ++i) {
        nb::object m = nb::steal(plain_number(x.scalar, a->at(i))), n = nb::steal(plain_number(y.scalar, b->at(i)));
        int same = m.is_valid() && n.is_valid() ? PyObject_RichCompareBool(m.ptr(), n.ptr(), Py_EQ) : -1;
        if (same != 1) return same;
    }
    return 1;
}

// Whether all items are numbers that compare as they are. A literal beside a typed float is rounded to its type first,
// which changes nothing for floats beside float64.
bool compares_plainly(Scalar s, PyObject* const* items, Py_ssize_t n) {
    bool is_double = s == Scalar{Kind::Float, 8};
    if (s.kind == Kind::Bfloat || s == Scalar{Kind::Float, 2}) return false;
    for (Py_ssize_t i = 0; i < n; ++i)
        if (!PyFloat_CheckExact(items[i]) && (is_double || !PyLong_CheckExact(items[i]))) return false;
    return true;
}

int equal_numbers(Value* v, PyObject* const* items) {
    for (Py_ssize_t i = 0; i < info(v).count; ++i) {
        nb::object number = nb::steal(plain_number(info(v).scalar, v->at(i)));
        int same = number.is_valid() ? PyObject_RichCompareBool(number.ptr(), items[i], Py_EQ) : -1;
        if (same != 1) return same;
    }
    return 1;
}

int equal_objects(Value* v, PyObject* other) {
    if (Value* b = as_value(other)) return equal_values(v, b);
    if (!info(v).is_matrix() && (PyTuple_CheckExact(other) || PyList_CheckExact(other))) {
        PyObject* const* items = PySequence_Fast_ITEMS(other);
        if (PySequence_Fast_GET_SIZE(other) != info(v).count) return 0;
        if (compares_plainly(info(v).scalar, items, info(v).count)) return equal_numbers(v, items);
    }
    nb::object answer = nb::steal(PyObject_CallMethodObjArgs(object(v), hooks().equals, other, nullptr));
    return answer.is_valid() ? PyObject_IsTrue(answer.ptr()) : -1;
}

PyObject* compare(PyObject* self, PyObject* other, int op) {
    if (op != Py_EQ && op != Py_NE) Py_RETURN_NOTIMPLEMENTED;
    int same = equal_objects(reinterpret_cast<Value*>(self), other);
    return same < 0 ? nullptr : PyBool_FromLong(same == (op == Py_EQ));
}

PyNumberMethods operators;

}  // namespace

void add_operators(PyTypeObject& type) {
    operators.nb_add = binary<Op::Add>;
    operators.nb_subtract = binary<Op::Sub>;
    operators.nb_multiply = binary<Op::Mul>;
    operators.nb_true_divide = binary<Op::Div>;
    operators.nb_remainder = binary<Op::Rem>;
    operators.nb_matrix_multiply = matrix_product;
    operators.nb_negative = negative;
    operators.nb_positive = positive;
    operators.nb_invert = inverse;
    operators.nb_and = binary<Op::And>;
    operators.nb_or = binary<Op::Or>;
    operators.nb_xor = binary<Op::Xor>;
    operators.nb_lshift = binary<Op::Shl>;
    operators.nb_rshift = binary<Op::Shr>;
    type.tp_as_number = &operators;
    type.tp_richcompare = compare;
}

}  // namespace wc
