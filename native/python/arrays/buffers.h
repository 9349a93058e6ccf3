// Memory of other objects, through the buffer protocol.
#pragma once
#include <Python.h>

#include <bit>
#include <cstring>

#include "warp_core/dtypes.h"

namespace wc {

// The scalar that a buffer format names, in native byte order; Kind::None for anything else.
inline Scalar buffer_scalar(const char* format, int64_t itemsize) {
    if (!format) return {Kind::Uint, 1};
    if (*format == '@' || *format == '=' || *format == '<') ++format;
    bool usual = itemsize == 1 || itemsize == 2 || itemsize == 4 || itemsize == 8;
    if (!*format || format[1] || !usual) return {};
    auto size = static_cast<uint8_t>(itemsize);
    if (std::strchr("bhilqn", *format)) return {Kind::Int, size};
    if (std::strchr("BHILQN", *format)) return {Kind::Uint, size};
    if (std::strchr("efd", *format) && size > 1) return {Kind::Float, size};
    return *format == '?' && size == 1 ? Scalar{Kind::Bool, 1} : Scalar{};
}

// Scalars of native code in the letters of the struct module; bfloat16 has none.
inline const char* buffer_format(Scalar s) {
    if (s.kind == Kind::Bool) return "?";
    if (s.kind == Kind::Bfloat) return nullptr;
    static constexpr const char* formats[][4] = {{"b", "h", "i", "q"}, {"B", "H", "I", "Q"}, {"", "e", "f", "d"}};
    return formats[static_cast<int>(s.kind) - static_cast<int>(Kind::Int)][std::countr_zero(s.size)];
}

// A view that is given back at the end of its scope, if there was one.
struct BufferView : Py_buffer {
    BufferView(PyObject* value, int flags) { held = PyObject_GetBuffer(value, this, flags) == 0; }
    ~BufferView() {
        if (held) PyBuffer_Release(this);
    }
    BufferView(const BufferView&) = delete;
    BufferView& operator=(const BufferView&) = delete;
    bool held;
};

}  // namespace wc
