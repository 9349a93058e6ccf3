// Bytes of Python objects, and bytes for Python.
#pragma once
#include <nanobind/nanobind.h>

#include <vector>

#include "arrays/buffers.h"
#include "warp_core/volumes/blosc.h"

namespace wc {

namespace nb = nanobind;

struct ReadBuffer : BufferView {
    explicit ReadBuffer(nb::handle object) : BufferView(object.ptr(), PyBUF_SIMPLE) {
        if (!held) throw nb::python_error();
    }
    Bytes bytes() const { return {static_cast<const uint8_t*>(buf), static_cast<size_t>(len)}; }
};

struct WriteBuffer : BufferView {
    explicit WriteBuffer(nb::handle object) : BufferView(object.ptr(), PyBUF_WRITABLE) {
        if (!held) throw nb::python_error();
    }
    Room room() const { return {static_cast<uint8_t*>(buf), static_cast<size_t>(len)}; }
};

inline nb::bytes as_bytes(const void* data, size_t size) { return nb::bytes(static_cast<const char*>(data), size); }

template <class T>
nb::bytes as_bytes(const std::vector<T>& items) {
    return as_bytes(items.data(), items.size() * sizeof(T));
}

}  // namespace wc
