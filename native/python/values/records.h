// Structs as arguments: the values of a struct to its memory.
#pragma once
#include <nanobind/nanobind.h>

#include <cstddef>
#include <vector>

#include "warp_core/dtypes.h"

namespace wc {

namespace nb = nanobind;

// Where a struct type has its fields. The class of the type keeps it as `_wc_layout` (lang/values/structs.py).
class RecordLayout {
  public:
    // For each field its byte offset, its type, and the layout if it has one.
    RecordLayout(size_t size, nb::sequence fields);

    size_t size() const { return size_; }

    // True for the layouts of one type: programs may make several classes of it.
    bool operator==(const RecordLayout& other) const;

    // Writes the list of values that an instance has to `size()` bytes, and adds the arrays among them.
    // Throws as Python does for a value that its field cannot hold.
    void pack(nb::handle values, std::byte* to, std::vector<nb::object>& arrays) const;

  private:
    enum class Form : uint8_t { Scalar, Packed, Array, Record, Other };  // Other: indexed arrays and the like

    struct Field {
        Form form;
        size_t offset, size;
        const Dtype* dtype = nullptr;
        nb::object layout;  // of a struct

        bool operator==(const Field& other) const;
    };

    void pack_field(const Field& field, PyObject* value, std::byte* to, std::vector<nb::object>& arrays) const;

    size_t size_;
    std::vector<Field> fields_;
};

// Writes the arrays that an indexed array or the like consists of, null ones for None, and adds them.
// Throws if they are not `size` bytes.
void pack_arrays(nb::handle object, size_t size, std::byte* to, std::vector<nb::object>& arrays);

// The layout of a struct's class and the values of an instance; null for other objects.
const RecordLayout* layout_of(nb::handle object, nb::object& values);

void bind_records(nb::module_& m);

}  // namespace wc
