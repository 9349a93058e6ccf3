// The plans of a generic kernel: which one a launch takes follows from the types of its arguments.
#pragma once
#include <vector>

#include "arrays/py_array.h"

namespace wc {

class OverloadPlans {
  public:
    // `open` lists the parameters whose types are left open.
    explicit OverloadPlans(std::vector<size_t> open) : open_(std::move(open)) {}

    // The plan for these arguments, or an invalid object if none was added for them. Leaves no exception set.
    nb::object find(PyObject* const* values, size_t count) const;
    // False, and nothing added, if there are too few arguments.
    bool add(PyObject* const* values, size_t count, nb::object plan);
    int traverse(visitproc visit, void* arg) const;
    void clear() { entries_.clear(); }

  private:
    // What decides about the type of an argument: its class, and the element type and dimensions of arrays.
    struct Key {
        nb::object type, dtype;
        int dtype_id = 0, ndim = 0;
    };
    struct Entry {
        std::vector<Key> keys;
        nb::object plan;
    };

    static Key key_of(PyObject* value);
    static bool matches(const Key& key, PyObject* value);

    std::vector<size_t> open_;
    std::vector<Entry> entries_;
};

extern PyTypeObject* choices_type;

}  // namespace wc
