// Bytes of Python objects, and bytes for Python.
#pragma once
#include <nanobind/nanobind.h>

#include <optional>
#include <stdexcept>
#include <vector>

#include "arrays/buffers.h"
#include "arrays/py_array.h"
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

// Bytes that are written: of an array on the CPU, which stays private, or of any other object with a buffer.
struct WritableBytes {
    explicit WritableBytes(nb::handle object) {
        if (const PyArray* a = as_array(object.ptr())) {
            if (!a->contiguous || a->device != 0)
                throw std::invalid_argument("the array must be contiguous and on the CPU");
            room = {static_cast<uint8_t*>(a->view.data), static_cast<size_t>(a->size * dtype(a->dtype).itemsize)};
        } else {
            room = held.emplace(object).room();
        }
    }
    std::optional<WriteBuffer> held;
    Room room;
};

inline nb::bytes as_bytes(const void* data, size_t size) { return nb::bytes(static_cast<const char*>(data), size); }

template <class T>
nb::bytes as_bytes(const std::vector<T>& items) {
    return as_bytes(items.data(), items.size() * sizeof(T));
}

}  // namespace wc
